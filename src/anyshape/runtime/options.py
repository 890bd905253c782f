"""How programs are run: one value from `compile` to the native runtime, which reads it."""

from __future__ import annotations

from dataclasses import dataclass


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
