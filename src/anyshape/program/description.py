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
class ProgramDescription:
    """Level 1 as data. `bind` and `shape` are addresses of the generated functions, `kernels` and
    `constants` are tables of addresses.

    No step starts before all steps that are `window` or more before it are done: buffers may share
    memory on the strength of that.
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
