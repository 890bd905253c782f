"""Names for generated functions in Linux's `perf`, which looks them up in /tmp/perf-<pid>.map."""

from __future__ import annotations

import os
from collections.abc import Iterable


def write_perf_map(functions: Iterable[tuple[int, int, str]]) -> None:
    """Append (address, size, name) of functions to the map of this process.

    The place is perf's choice, in a folder that everybody can write to: never follow a link there.
    """
    path = f"/tmp/perf-{os.getpid()}.map"
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    lines = "".join(f"{address:x} {size:x} {name}\n" for address, size, name in functions)
    descriptor = os.open(path, flags, 0o600)
    with open(descriptor, "a", encoding="utf-8") as file:
        file.write(lines)
