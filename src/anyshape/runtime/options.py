"""How programs are run: one value from `compile` to the native runtime, which reads it."""

from __future__ import annotations

from dataclasses import dataclass

from anyshape.base.errors import OptionError
from anyshape.base.options import Options
from anyshape.runtime import _native
from anyshape.runtime.machine import machine


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a program is run; never what it computes.

    `threads` is an upper bound, 0 means the CPUs allowed to the process. Where the program says
    what its steps cost, those below `split_cost_ns` are not split, and runs whose other steps
    together cost less than `team_cost_ns` stay on the calling thread. So do those that find the
    team busy, unless they are to `wait_for_team`.
    """

    threads: int = 0
    team_cost_ns: int = 10_000
    split_cost_ns: int = 3_000
    wait_for_team: bool = False
    cache_entries: int = 1024
    cache_bytes: int = 64 << 20
    memory_limit: int | None = None  # bytes of one run: arena, outputs, copies of inputs


def run_options(options: Options) -> RunOptions:
    """As the process chooses it. Its threads are where `options` puts them from here on."""
    take_affinity(options)
    return RunOptions(
        threads=most_threads(options),
        cache_entries=options.specializations,
        cache_bytes=options.specialization_bytes,
        memory_limit=options.memory_limit,
    )


def most_threads(options: Options) -> int:
    """Of a process; 0: the CPUs allowed to it."""
    return min(filter(None, (options.threads, len(options.affinity))), default=0)


def take_affinity(options: Options) -> None:
    """Puts the workers of this process on their CPUs. There is one team, so others are refused."""
    if options.affinity and not _native.take_affinity(list(options.affinity)):
        taken = ", ".join(map(str, affinity()))
        found = ", ".join(map(str, options.affinity))
        raise OptionError("affinity", found, f"what the threads of this process have: {taken}")


def allowed_threads(options: Options, wanted: int) -> int:
    """As many as are wanted, 0: all, as far as process and machine allow it."""
    return min(filter(None, (wanted, most_threads(options), machine().cpus)))


def prepare_team(options: Options, wanted: int) -> None:
    """Starts the threads of runs that want so many. Else the first run does, and takes half a
    millisecond more."""
    take_affinity(options)
    _native.prepare_team(allowed_threads(options, wanted))


def affinity() -> tuple[int, ...]:
    """The CPUs that were chosen for the threads of this process, the caller's first; () if none."""
    return tuple(_native.affinity())
