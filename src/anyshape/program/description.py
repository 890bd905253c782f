"""A whole program: its inputs and outputs, its tables of buffers and steps, and where its code is.

The only addresses of a description are `bind`, `shape`, `kernels` and `constants`; all else refers
to these, and to each other, by number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from anyshape.program.buffers import Buffer
from anyshape.program.steps import Step


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
    """A result of each call. `dims` are words, `buffer` is the one whose store is this output.

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
class Split:
    """An axis along which a call may be run in parts, one after the other: symbol number `symbol`.

    What is at one index of it depends on nothing at another, and it is the first axis in memory of
    the `inputs` and `outputs` that have it. Parts have `least` elements or more, and a multiple of
    `multiple_of`. The steps `once` see the whole axis: they are run after all parts, and no other
    step reads what they write.
    """

    symbol: int
    least: int
    multiple_of: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    once: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ProgramDescription:
    """Level 1 as data. `bind` and `shape` are addresses of the generated functions, `kernels` and
    `constants` are tables of addresses.

    No step starts before all steps that are `window` or more before it are done: buffers may share
    memory on the strength of that. `splits` are for calls that have less memory than they take.
    """

    bind: int
    shape: int
    symbols: int
    words: int
    kernels: tuple[int, ...]
    constants: tuple[int, ...]
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    buffers: tuple[Buffer, ...]
    steps: tuple[Step, ...]
    window: int = 8
    splits: tuple[Split, ...] = ()
