"""What a program is, as data: what level 1 hands to the native runtime.

A program is described by frozen values. *Words* are the numbers that the compiled shape program
computes from the symbols; everything that depends on sizes is given as the index of a word.
docs/design/0003 explains buffers, blocks and steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

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

    `first` and `last` are the steps that use it: buffers in use at one step share no memory.
    `conflicts` are those that must not although they are not; naming one side is enough.
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
    """An argument of each call.

    With an `order`, axis i of the program is axis order[i] of the caller's array: the program then
    reads in place what lies in memory in that order.
    """

    name: str
    dtype: np.dtype[Any]
    rank: int
    order: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Output:
    """A result of each call. `dims` are words, `buffer` is the `OutputBuffer` that holds it.

    `order` is that of an `Input`. An output with a `start` has the contents of that input at its
    beginning before any step runs: steps write behind them, or over them. Where that is possible
    the output is the input's own memory, which the caller has given up.
    """

    dtype: np.dtype[Any]
    dims: tuple[int, ...]
    buffer: int
    order: tuple[int, ...] = ()
    start: int | None = None


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
