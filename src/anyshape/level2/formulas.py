"""Formulas that many steps or axes share, as functions of level 2.

What a step costs, how many tasks it has and which variant is the cheapest are formulas in sizes of
its kernel's own (`words.InOwnSizes`), and a graph of thousands of steps has few kernels. One of
thousands of axes has few kinds of inputs, whose bytes are formulas of one symbol each. Written out
for each use, they would be most of level 2's code: it would take as long to compile as everything
else, and no instruction cache would hold it. Where more than `FEW` uses share formulas, these are
one function, which goes through a table of uses: where each finds its sizes, and where the results
belong. Sizes are symbols, or words that were computed before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from anyshape.level2.words import (
    Formula,
    InOwnSizes,
    Number,
    Sizes,
    in_graph_sizes,
    substituted,
    symbols_in,
)
from anyshape.sym import Dim, Symbol
from anyshape.sym.rebuild import Substitution

FEW: Final = 8
"""So many uses of the same formulas are written out, where they share what they have in common."""


Source: TypeAlias = Literal["symbols", "words"]
"""Where uses find their sizes."""


@dataclass(frozen=True, slots=True)
class Use:
    """Where the sizes are, and the word of each formula."""

    given: tuple[int, ...]
    words: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SharedFormulas:
    """Formulas of the same sizes, and who uses them."""

    sizes: tuple[Symbol, ...]
    formulas: tuple[Formula, ...]
    uses: tuple[Use, ...]
    source: Source


@dataclass(frozen=True, slots=True)
class Written:
    """Numbers by word: those that are written out, and those that functions compute after them, in
    this order."""

    alone: tuple[tuple[Formula, int], ...]
    shared: tuple[SharedFormulas, ...]


def written(numbers: Mapping[Number, int], symbols: Mapping[Symbol, int]) -> Written:
    """How to write numbers, by word; `symbols` are in memory by their index."""
    dims = {number: word for number, word in numbers.items() if isinstance(number, Dim)}
    by_symbols = _of_symbols(numbers) if len(symbols) > FEW else {}
    places = {Dim.of(symbol): index for symbol, index in symbols.items()}
    shared = (
        *_shared(by_symbols, places, "symbols"),
        *_shared(_of_kernels(numbers), dims, "words"),
    )
    elsewhere = {word for form in shared for use in form.uses for word in use.words}
    rest = ((number, word) for number, word in numbers.items() if word not in elsewhere)
    return Written(tuple((in_graph_sizes(number), word) for number, word in rest), shared)


_BySizes = dict[Sizes, dict[Formula, int]]
"""The word of each formula of some sizes."""


def _of_kernels(numbers: Mapping[Number, int]) -> _BySizes:
    found: _BySizes = {}
    for number, word in numbers.items():
        if isinstance(number, InOwnSizes):
            found.setdefault(number.sizes, {})[number.formula] = word
    return found


def _of_symbols(numbers: Mapping[Number, int]) -> _BySizes:
    """Numbers in terms of the graph's symbols, under the names that a kernel would have for them:
    those of other symbols are then the same formulas."""
    found: _BySizes = {}
    known: dict[tuple[Symbol, ...], Substitution] = {}
    for number, word in numbers.items():
        symbols = () if isinstance(number, InOwnSizes) else symbols_in(number)
        if symbols and not isinstance(number, InOwnSizes):
            own = [Symbol(f"n{index}") for index in range(len(symbols))]
            if symbols not in known:
                names = dict(zip(symbols, map(Dim.of, own), strict=True))
                known[symbols] = Substitution(names)
            sizes = tuple(zip(own, map(Dim.of, symbols), strict=True))
            found.setdefault(sizes, {})[substituted(number, known[symbols])] = word
    return found


def _shared(
    by_sizes: _BySizes, places: Mapping[Dim, int], source: Source
) -> Iterator[SharedFormulas]:
    """Formulas that are those of many sizes, all of which have a place in memory."""
    forms: dict[tuple[tuple[Symbol, ...], tuple[Formula, ...]], list[Use]] = {}
    for sizes, formulas in by_sizes.items():
        symbols, dims = zip(*sizes, strict=True)
        if all(dim in places for dim in dims):
            use = Use(tuple(places[dim] for dim in dims), tuple(formulas.values()))
            forms.setdefault((symbols, tuple(formulas)), []).append(use)
    for form, uses in forms.items():
        if len(uses) > FEW:
            yield SharedFormulas(*form, tuple(uses), source)
