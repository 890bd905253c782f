# The native library, csrc/bind/bindings.cpp. Other layers use the typed face in anyshape.runtime.
import os
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from anyshape.runtime.machine import VectorIsa

# name, dtype, DLPack's code and bits, rank, order
InputTuple: TypeAlias = tuple[str, np.dtype[Any], int, int, int, list[int]]
# dtype, DLPack's code and bits, words of the dims, buffer, order, the input it begins with
OutputTuple: TypeAlias = tuple[np.dtype[Any], int, int, list[int], int, list[int], int | None]
# kind, of, bytes, offset, per worker, in place, conflicts, first and last step
BufferTuple: TypeAlias = tuple[int, int, int | None, int | None, bool, bool, list[int], int, int]
# kind, value, offset
SourceTuple: TypeAlias = tuple[int, int, int | None]
# name, variants with the start of their words, variant, tasks, cost, block, waits
StepTuple: TypeAlias = tuple[
    str, list[tuple[int, int]], int | None, int, int | None, list[SourceTuple], list[int]
]
# reads, writes, pairs of those that may be one, waits
AccessTuple: TypeAlias = tuple[list[int], list[int], list[tuple[int, int]], list[int]]

class Machine:
    @property
    def cpus(self) -> int: ...
    @property
    def affinity_cpus(self) -> int: ...
    @property
    def cpu_quota(self) -> float | None: ...
    @property
    def l1d_bytes(self) -> int: ...
    @property
    def l2_bytes(self) -> int: ...
    @property
    def l3_bytes(self) -> int: ...
    @property
    def cache_line_bytes(self) -> int: ...
    @property
    def vector_isa(self) -> VectorIsa: ...

class ObjectError(Exception): ...

class CodeObject:
    @staticmethod
    def load(object: bytes, /) -> CodeObject: ...
    def find(self, name: str, /) -> int: ...  # 0 if there is none
    @property
    def symbols(self) -> list[tuple[str, int, int]]: ...  # name, address, size
    @property
    def size(self) -> int: ...

class Program:
    def __init__(
        self,
        bind: int,
        shape: int,
        symbols: int,
        words: int,
        window: int,
        inputs: list[InputTuple],
        outputs: list[OutputTuple],
        buffers: list[BufferTuple],
        steps: list[StepTuple],
        keep: tuple[object, ...],
        threads: int,
        team_cost_ns: int,
        split_cost_ns: int,
        wait_for_team: bool,
        cache_entries: int,
        cache_bytes: int,
        memory_limit: int,
    ) -> None: ...
    def run(self, inputs: Sequence[object], /) -> tuple[NDArray[Any], ...]: ...
    def run_within(
        self,
        inputs: Sequence[object],
        deadline: int | None,  # of time.monotonic_ns()
        cancellation: Cancellation | None,
        memory_limit: int | None,  # None: that of the program
        out: Sequence[NDArray[Any] | None] | None = None,
    ) -> tuple[NDArray[Any], ...]: ...
    def specialize(self, symbols: list[int], /) -> Specialization: ...
    def planned_bytes(self, symbols: list[int], /) -> int: ...
    def reserve(self, symbols: list[int], /) -> None: ...
    def trim(self) -> None: ...
    def metrics(self) -> dict[str, int]: ...
    @property
    def threads(self) -> int: ...

class Specialization:
    @property
    def symbols(self) -> list[int]: ...
    @property
    def words(self) -> list[int]: ...
    @property
    def steps(self) -> list[tuple[int, int, int, int]]: ...  # tasks, ranges, variant, cost
    @property
    def cost(self) -> int: ...
    @property
    def places(self) -> list[tuple[Literal["weight", "arena", "input", "output"], int, int]]: ...
    @property
    def memory(self) -> tuple[int, int, int, int, int]:
        """Arena, lower bound, aliased, in place, outputs."""
    @property
    def worth_a_team(self) -> bool: ...
    @property
    def held_bytes(self) -> int: ...

class Cancellation:
    def __init__(self) -> None: ...
    def cancel(self) -> None: ...
    @property
    def cancelled(self) -> bool: ...

class Stepper:
    def __init__(
        self,
        program: Program,
        inputs: Sequence[object],
        memory_limit: int | None,
        out: Sequence[NDArray[Any] | None] | None,
        keep_donated: bool,
        /,
    ) -> None: ...
    @property
    def next(self) -> int: ...
    @property
    def steps(self) -> int: ...
    @property
    def outputs(self) -> tuple[NDArray[Any], ...]: ...
    def step(
        self, deadline: int | None = None, cancellation: Cancellation | None = None
    ) -> int: ...
    def bytes(self, buffer: int, /) -> NDArray[np.uint8]: ...

def output_pool() -> tuple[int, int, int]: ...  # bytes used, idle, limit
def set_output_pool_limit(bytes: int, /) -> None: ...
def trim_process() -> None: ...
def _plan(
    bytes: list[int], conflicts: list[tuple[int, int]], lifetimes: list[tuple[int, int]], /
) -> tuple[list[int], int, int]: ...  # offsets, arena bytes, lower bound
def _wrong_with_plan(
    bytes: list[int],
    conflicts: list[tuple[int, int]],
    offsets: list[int],
    arena_bytes: int,
    /,
) -> str | None: ...
def _wrong_with_accesses(
    steps: list[AccessTuple], ranges: list[tuple[int, int, int]], window: int, /
) -> str | None: ...
def _team_round_trip_ns(rounds: int, /) -> float: ...
def native_kernels() -> dict[str, int]: ...  # addresses by name
def machine() -> Machine: ...
def cpu_identity() -> str: ...
def lacking_memory(bytes: int) -> int | None: ...
def _link(object: bytes, base: int, /) -> bytes: ...
def _allowed_cpus(affinity_cpus: int, cpu_quota: float | None) -> int: ...
def _cgroup_quota(root: str | os.PathLike[str]) -> float | None: ...
def _cache_sizes(root: str | os.PathLike[str]) -> tuple[int, int, int, int]: ...
def _available_memory(root: str | os.PathLike[str]) -> int: ...
