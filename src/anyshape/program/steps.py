"""Steps: kernels, and the blocks of 64-bit words that they are called with.

A *word* is a number that the shape program computes; everything that depends on sizes is given as
the index of a word. docs/design/0003 explains blocks and steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Word:
    """In a block: what the shape program computes as word `index`."""

    index: int


@dataclass(frozen=True, slots=True)
class Immediate:
    """In a block: always the same number."""

    value: int


@dataclass(frozen=True, slots=True)
class Address:
    """In a block: where a buffer begins."""

    buffer: int


@dataclass(frozen=True, slots=True)
class KernelAddress:
    """In a block: where the code of kernel number `kernel` begins, for a kernel that calls it."""

    kernel: int


Source: TypeAlias = Word | Immediate | Address | KernelAddress
"""Where one word of a block comes from."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to do a step: kernel number `kernel`, whose words begin at `start` in the block.

    Where a step has several, `name` and `cost` tell them apart: the word `cost` is picoseconds with
    all threads, and the cheapest was chosen.
    """

    kernel: int
    start: int = 0
    name: str = ""
    cost: int | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """Variants and their block. `tasks` and `cost` are words; `waits` are earlier steps.

    The word `variant` chooses between several; `cost` is what the chosen one takes on one thread,
    in picoseconds. A step that carries a chain computes the same bits with each of its variants.
    """

    name: str
    variants: tuple[Variant, ...]
    tasks: int
    block: tuple[Source, ...]
    waits: tuple[int, ...] = ()
    variant: int | None = None
    cost: int | None = None
    carries_chain: bool = False
