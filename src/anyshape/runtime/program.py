"""Programs: what level 1 hands to the native runtime, and how it is run.

A program is described by frozen values. *Words* are the numbers that the compiled shape program
computes from the symbols; everything that depends on sizes is given as the index of a word.
docs/design/0003 explains buffers, blocks and steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias, assert_never

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from anyshape.runtime import _native
from anyshape.runtime.failures import StoppedError
from anyshape.runtime.limits import RunLimits
from anyshape.runtime.metrics import Metrics

# ---- buffers -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class InputBuffer:
    """The memory of input number `input`. `bytes` is a word; without it aliases go unchecked."""

    input: int
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class OutputBuffer:
    """The memory of output number `output`, new for each call. `bytes` is a word."""

    output: int
    bytes: int


@dataclass(frozen=True, slots=True)
class WeightBuffer:
    """Memory that is the same in all runs. Whoever owns it belongs in the program's `keep`."""

    address: int
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class ArenaBuffer:
    """A place in the arena, found at level 2. `bytes` is a word.

    `conflicts` are the buffers that must not share memory with it; naming one side is enough.
    `first` and `last` are the steps that use it: the report's lower bound is computed from them.
    A `per_worker` buffer has a slice of `bytes` for each worker; the kernel adds worker * bytes.
    """

    bytes: int
    first: int
    last: int
    conflicts: tuple[int, ...] = ()
    per_worker: bool = False


@dataclass(frozen=True, slots=True)
class AliasBuffer:
    """Another name for (a part of) an earlier buffer. `offset` and `bytes` are words.

    `in_place`: a result that its step writes over an operand.
    """

    of: int
    offset: int | None = None
    bytes: int | None = None
    in_place: bool = False


Buffer: TypeAlias = InputBuffer | OutputBuffer | WeightBuffer | ArenaBuffer | AliasBuffer

# ---- steps -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a block: what the shape program computes as word `index`."""

    index: int


@dataclass(frozen=True, slots=True)
class Constant:
    """A word of a block: always the same."""

    value: int


@dataclass(frozen=True, slots=True)
class Address:
    """A word of a block: where a buffer lies, plus the bytes that word `offset` says."""

    buffer: int
    offset: int | None = None


Source: TypeAlias = Word | Constant | Address


@dataclass(frozen=True, slots=True)
class Step:
    """A kernel and its block. `tasks` and `cost` are words; `waits` are earlier steps.

    `variants` are addresses of kernels that do the same in different ways; word `variant` chooses,
    and the words `variant_costs` say why. All read the same block, unless `starts` says where in it
    the words of each begin. Costs are picoseconds: `cost` on one thread, those of the variants with
    all threads.
    """

    name: str
    variants: tuple[int, ...]
    tasks: int
    block: tuple[Source, ...]
    waits: tuple[int, ...] = ()
    variant: int | None = None
    cost: int | None = None
    variant_names: tuple[str, ...] = ()
    variant_costs: tuple[int, ...] = ()
    starts: tuple[int, ...] = ()


# ---- programs ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Input:
    """An argument of each call."""

    name: str
    dtype: np.dtype[Any]
    rank: int


@dataclass(frozen=True, slots=True)
class Output:
    """A result of each call. `dims` are words, `buffer` is the `OutputBuffer` that holds it."""

    dtype: np.dtype[Any]
    dims: tuple[int, ...]
    buffer: int


@dataclass(frozen=True, slots=True)
class ProgramDescription:
    """Level 1 as data. `bind` and `shape` are addresses of the generated functions.

    No step starts before all steps that are `window` or more before it are done: buffers may share
    memory on the strength of that.
    """

    bind: int
    shape: int
    symbols: int
    words: int
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    buffers: tuple[Buffer, ...]
    steps: tuple[Step, ...]
    window: int = 8


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


class Memory(NamedTuple):
    """Bytes of one specialization. No plan needs fewer than `lower_bound` in its arena."""

    arena: int
    lower_bound: int
    aliased: int  # saved by results that are names of other buffers
    in_place: int  # saved by results that are written over operands
    outputs: int


class Place(NamedTuple):
    """Where a buffer lies: bytes into the arena, an input or an output, or a weight's address."""

    base: Literal["weight", "arena", "input", "output"]
    offset: int
    bytes: int  # -1 where the program does not say


class StepNumbers(NamedTuple):
    """What level 2 decided about one step. Costs are picoseconds, None where unknown."""

    name: str
    tasks: int
    range: int  # tasks that a thread takes at a time; all of them: the step is not split
    variant: int
    cost: int | None  # of the chosen variant on one thread
    variant_names: tuple[str, ...]
    variant_costs: tuple[int, ...]  # of every variant with all threads; the least was chosen


Outputs: TypeAlias = tuple[NDArray[Any], ...]


class Specialization:
    """Level 2 of a program: all numbers of one binding. Immutable."""

    def __init__(self, native: _native.Specialization, description: ProgramDescription) -> None:
        self._native = native
        self._description = description

    @property
    def symbols(self) -> tuple[int, ...]:
        """The binding: one integer per symbol."""
        return tuple(self._native.symbols)

    @property
    def words(self) -> tuple[int, ...]:
        """Everything that the shape program computed."""
        return tuple(self._native.words)

    @property
    def tasks(self) -> tuple[int, ...]:
        """How many tasks each step has."""
        return tuple(step[0] for step in self._native.steps)

    @property
    def steps(self) -> tuple[StepNumbers, ...]:
        """How each step is done, and what the other ways would cost."""
        words = self._native.words
        return tuple(
            StepNumbers(
                step.name, tasks, range_, variant, _known_cost(cost), step.variant_names,
                tuple(words[word] for word in step.variant_costs),
            )
            for step, (tasks, range_, variant, cost) in zip(
                self._description.steps, self._native.steps, strict=True
            )
        )  # fmt: skip

    @property
    def cost(self) -> int | None:
        """Picoseconds of all steps on one thread; None if that of some step is unknown."""
        return _known_cost(self._native.cost)

    @property
    def places(self) -> tuple[Place, ...]:
        """Where each buffer lies."""
        return tuple(Place(*place) for place in self._native.places)

    @property
    def memory(self) -> Memory:
        """What the arena takes, and what it would take at least."""
        return Memory(*self._native.memory)

    @property
    def worth_a_team(self) -> bool:
        """Whether a run calls the team of threads."""
        return self._native.worth_a_team

    @property
    def held_bytes(self) -> int:
        """What this object itself occupies in the cache."""
        return self._native.held_bytes


class Stepper:
    """One call, a step at a time: the same kernels on the same memory, for looking in between."""

    def __init__(self, native: _native.Stepper, description: ProgramDescription) -> None:
        self._native = native
        self._description = description

    @property
    def next_step(self) -> Step | None:
        """The step that `step()` will run; None when all are done."""
        done = self._native.next == self._native.steps
        return None if done else self._description.steps[self._native.next]

    def step(self) -> int:
        """Run the next step; how many nanoseconds it took. `IndexError` when all are done."""
        return self._native.step()

    def buffer(self, number: int) -> NDArray[np.uint8]:
        """The bytes of a buffer, as they are now. A view: later steps may write over it."""
        return self._native.bytes(number)

    @property
    def outputs(self) -> Outputs:
        """The results; complete when all steps are done."""
        return self._native.outputs


class Program:
    """A compiled graph, ready to run at any shape. Safe to use from many threads.

    `keep` holds whatever owns the memory that addresses in the description point to. A description
    that contradicts itself raises `MalformedProgramError`.
    """

    def __init__(
        self,
        description: ProgramDescription,
        keep: Sequence[object] = (),
        options: RunOptions | None = None,
    ) -> None:
        options = options or RunOptions()
        self.description: Final = description
        self._native = _native.Program(
            bind=description.bind,
            shape=description.shape,
            symbols=description.symbols,
            words=description.words,
            window=description.window,
            inputs=[(i.name, i.dtype, *dlpack_type(i.dtype), i.rank) for i in description.inputs],
            outputs=[
                (o.dtype, *dlpack_type(o.dtype), list(o.dims), o.buffer)
                for o in description.outputs
            ],
            buffers=[_encode_buffer(buffer) for buffer in description.buffers],
            steps=[_encode_step(step) for step in description.steps],
            keep=tuple(keep),
            threads=options.threads,
            team_cost_ns=options.team_cost_ns,
            split_cost_ns=options.split_cost_ns,
            wait_for_team=options.wait_for_team,
            cache_entries=options.cache_entries,
            cache_bytes=options.cache_bytes,
            memory_limit=_limit(options.memory_limit),
        )
        self.run: Final = self._native.run
        """run(inputs) -> outputs. Bound here because one more Python call would be felt.

        Inputs are NumPy arrays or speak DLPack. They are used where they are if they are contiguous
        and aligned, and copied otherwise. Raises the errors of `anyshape.runtime.failures`.
        """

    def run_within(self, inputs: Sequence[object], limits: RunLimits) -> Outputs:
        """The same as `run`, but `limits` may end it: `CancelledError`, `DeadlineError`."""
        limits.check()
        try:
            return self._native.run_within(
                inputs,
                limits.deadline_ns,
                limits.native_cancellation,
                None if limits.memory_limit is None else _limit(limits.memory_limit),
            )
        except StoppedError as stopped:
            raise limits.error(stopped.reason) from None

    @property
    def threads(self) -> int:
        """The most threads that a run uses."""
        return self._native.threads

    def specialize(self, symbols: Sequence[int]) -> Specialization:
        """Level 2 for a binding, from the cache or made now."""
        return Specialization(self._native.specialize(list(symbols)), self.description)

    def stepwise(self, inputs: Sequence[object], memory_limit: int | None = None) -> Stepper:
        """Begin a call that runs one step at a time."""
        limit = None if memory_limit is None else _limit(memory_limit)
        return Stepper(_native.Stepper(self._native, inputs, limit), self.description)

    def metrics(self) -> Metrics:
        """Counters of the cache and of the runs."""
        return Metrics(**self._native.metrics())

    def planned_bytes(self, symbols: Sequence[int]) -> int:
        """What the arena and the outputs of a binding take. Made and not kept."""
        return self._native.planned_bytes(list(symbols))

    def reserve(self, symbols: Sequence[int]) -> None:
        """Memory for one call at a time with this binding, taken and touched now. It is kept until
        `trim()`."""
        self._native.reserve(list(symbols))

    def trim(self) -> None:
        """Give back the memory of idle runs, and forget all specializations."""
        self._native.trim()


# ---- outputs' memory ---------------------------------------------------------------------------


class OutputPool(NamedTuple):
    """Bytes of the process's pool: in arrays, kept for the next ones, and kept at most."""

    used: int
    idle: int
    limit: int


def output_pool() -> OutputPool:
    """The pool from which the outputs of all programs come."""
    return OutputPool(*_native.output_pool())


def set_output_pool_limit(limit: int) -> None:
    """How many bytes the pool may keep for outputs to come; 0 keeps nothing."""
    _native.set_output_pool_limit(limit)


def trim_process() -> None:
    """Give back what the whole process holds idle: the pool's blocks, and the C library's."""
    _native.trim_process()


# ---- for the native side -----------------------------------------------------------------------


_MOST_BYTES: Final = 1 << 62
"""No size that the runtime computes is beyond this."""


def _limit(bytes: int | None) -> int:
    return _MOST_BYTES if bytes is None else min(bytes, _MOST_BYTES)


def _known_cost(cost: int) -> int | None:
    """The native side says -1 for what it does not know."""
    return None if cost < 0 else cost


_BUFFER_KINDS: Final = {"input": 0, "output": 1, "weight": 2, "arena": 3, "alias": 4}
_SOURCE_KINDS: Final = {"word": 0, "constant": 1, "address": 2}


def _encode_buffer(buffer: Buffer) -> _native.BufferTuple:
    match buffer:
        case InputBuffer(number, size):
            return (_BUFFER_KINDS["input"], number, size, None, False, False, [], 0, 0)
        case OutputBuffer(number, size):
            return (_BUFFER_KINDS["output"], number, size, None, False, False, [], 0, 0)
        case WeightBuffer(address, size):
            return (_BUFFER_KINDS["weight"], address, size, None, False, False, [], 0, 0)
        case ArenaBuffer(size, first, last, conflicts, per_worker):
            kind = _BUFFER_KINDS["arena"]
            return (kind, 0, size, None, per_worker, False, list(conflicts), first, last)
        case AliasBuffer(of, offset, size, in_place):
            return (_BUFFER_KINDS["alias"], of, size, offset, False, in_place, [], 0, 0)
        case _:
            assert_never(buffer)


def _encode_source(source: Source) -> _native.SourceTuple:
    match source:
        case Word(index):
            return (_SOURCE_KINDS["word"], index, None)
        case Constant(value):
            return (_SOURCE_KINDS["constant"], value, None)
        case Address(buffer, offset):
            return (_SOURCE_KINDS["address"], buffer, offset)
        case _:
            assert_never(source)


def _encode_step(step: Step) -> _native.StepTuple:
    block = [_encode_source(source) for source in step.block]
    starts = step.starts or (0,) * len(step.variants)
    variants = list(zip(step.variants, starts, strict=True))
    waits = list(step.waits)
    return (step.name, variants, step.variant, step.tasks, step.cost, block, waits)


_KIND_CODES: Final = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_NAMED_CODES: Final = {
    np.dtype(ml_dtypes.bfloat16): 4,
    np.dtype(ml_dtypes.float8_e3m4): 7,
    np.dtype(ml_dtypes.float8_e4m3): 8,
    np.dtype(ml_dtypes.float8_e4m3b11fnuz): 9,
    np.dtype(ml_dtypes.float8_e4m3fn): 10,
    np.dtype(ml_dtypes.float8_e4m3fnuz): 11,
    np.dtype(ml_dtypes.float8_e5m2): 12,
    np.dtype(ml_dtypes.float8_e5m2fnuz): 13,
    np.dtype(ml_dtypes.int4): 0,
    np.dtype(ml_dtypes.uint4): 1,
}


def dlpack_type(dtype: np.dtype[Any]) -> tuple[int, int]:
    """DLPack's code and number of bits. Types of less than a byte have a byte each, as in NumPy."""
    code = _NAMED_CODES.get(dtype)
    if code is None:
        code = _KIND_CODES[dtype.kind]
    return code, 8 * dtype.itemsize
