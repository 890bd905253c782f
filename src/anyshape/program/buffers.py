"""Buffers: memory with a number. A buffer is a *store*, which says whose memory it is, and a size.

Stores are one union from the plan to C++. The only number in them that depends on sizes is where an
alias begins: a dim in the plan, and in the description of a program the index of a word, which is
what the shape program computes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

Number = TypeVar("Number")
Other = TypeVar("Other")


@dataclass(frozen=True, slots=True)
class InputStore:
    """The memory of input number `index`."""

    index: int


@dataclass(frozen=True, slots=True)
class OutputStore:
    """The memory of output number `index`, new for each call."""

    index: int


@dataclass(frozen=True, slots=True)
class ConstantStore:
    """The memory of constant number `index`, the same in all runs."""

    index: int


@dataclass(frozen=True, slots=True)
class ArenaStore:
    """Memory in the arena, used from step `first` to step `last`; level 2 finds its offset.

    Buffers that are used at one step share no memory. `conflicts` are the other ones that must not:
    written later, but perhaps before the last use of this one is over. Naming one side is enough.
    A `per_worker` buffer has a slice for each worker; kernels add worker * bytes themselves.
    """

    first: int
    last: int
    conflicts: tuple[int, ...] = ()
    per_worker: bool = False


@dataclass(frozen=True, slots=True)
class AliasStore(Generic[Number]):
    """Another name for an earlier buffer, or for the part of it that begins `offset` bytes after
    its start; None: at its start.

    `in_place`: the value is written over another one that nobody needs any more.
    """

    of: int
    offset: Number | None = None
    in_place: bool = False


Store: TypeAlias = InputStore | OutputStore | ConstantStore | ArenaStore | AliasStore[Number]


@dataclass(frozen=True, slots=True)
class Buffer:
    """A buffer of a program. `bytes` is a word; of a `per_worker` store it is that of one slice."""

    store: Store[int]
    bytes: int


def with_numbers(store: Store[Number], number: Callable[[Number], Other]) -> Store[Other]:
    """The same store in other numbers: from dims to words."""
    if not isinstance(store, AliasStore):
        return store
    offset = None if store.offset is None else number(store.offset)
    return AliasStore(store.of, offset, store.in_place)
