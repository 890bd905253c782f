"""What a saved program depends on beside the machine: the sources of the native library, and the
descriptions that it reads. Says more than a version number: it also changes while someone works on
them. The same on every architecture, because a file may hold code for several."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from anyshape.runtime import _native

_PACKAGE = Path(__file__).parents[1]


@cache
def runtime_identity() -> str:
    digest = hashlib.sha256(_native.source_identity.encode())
    for name in ("program", "saved"):
        for file in sorted((_PACKAGE / name).glob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:32]
