"""Looks for sizes that are of no known case.

A case is left where one of its conditions does not hold, all before it do. Sizes to try are small
ones, those around every number in the conditions and at the ends of the axes' ranges; an axis that
no condition mentions keeps its size. Sizes that differ from each other and are at least 2 are
preferred: they say nothing about others. Not finding any proves nothing: whatever sizes are left
are refused by calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product

from anyshape.frontend.imported.cases import is_in
from anyshape.sym import Axis, Dim, Fact, Facts, Symbol
from anyshape.sym.refine import refined_facts

Case = Sequence[Fact]
Sizes = dict[Symbol, int]

_SMALL = (*range(2, 18), 1, 0)
_LARGE = (31, 32, 33, 64, 100, 257, 1025)
_TRIED = 20_000
"""How many combinations of sizes are tried for one condition."""
_MOST_ELEMENTS = 1 << 31
"""Examples are only looked at, yet they are made."""


def uncovered_sizes(
    facts: Facts, usual: Mapping[Symbol, int], left: Case, known: Sequence[Case]
) -> Sizes | None:
    """Sizes that are of none of the `known` cases and would be of the case `left`, but for its last
    condition. Those that conditions do not mention are as `usual`; all satisfy the user's `facts`.
    """
    *before, last = left
    settled = refined_facts(facts)
    given = settled.sizes
    axes = settled.facts.axes
    symbols = _free({s for case in (*known, left) for fact in case for s in _symbols(fact)}, given)
    numbers = {n for case in (*known, left, facts.facts) for fact in case for n in _numbers(fact)}
    tried = [
        list(_candidates(axis, numbers)) if axis.symbol in symbols else [usual[axis.symbol]]
        for axis in axes
    ]
    second: Sizes | None = None
    for combination in islice(product(*tried), _TRIED):
        sizes = {axis.symbol: size for axis, size in zip(axes, combination, strict=True)}
        sizes.update((symbol, size.evaluate(sizes)) for symbol, size in given.items())
        if not all(a.contains(sizes[a.symbol]) for a in facts.axes) or not is_in(
            facts.facts, sizes
        ):
            continue
        if last.holds(sizes) or not is_in(before, sizes) or any(is_in(c, sizes) for c in known):
            continue
        if _is_telling(combination):
            return sizes
        second = second or sizes
    return second


def _free(symbols: set[Symbol], given: Mapping[Symbol, Dim]) -> set[Symbol]:
    """The symbols that sizes are chosen for, where others follow from them."""
    return {s for symbol in symbols for s in given.get(symbol, Dim.of(symbol)).symbols}


def _is_telling(combination: Sequence[int]) -> bool:
    return min(combination) >= 2 and len(set(combination)) == len(combination)


def _candidates(axis: Axis, numbers: Iterable[int]) -> Iterator[int]:
    """Each size once that the axis allows."""
    step = axis.multiple_of
    ends = [end for low, high in axis.ranges for end in (low, low + 1, high) if end is not None]
    around = (n + offset for n in sorted(numbers) for offset in (0, 1, -1, 2))
    sizes = [*_SMALL, *around, *ends, *_LARGE]
    multiples = [-(-size // step) * step for size in (*sizes, *(size * step for size in _SMALL))]
    seen = dict.fromkeys(size for size in multiples if 0 <= size < _MOST_ELEMENTS)
    yield from (size for size in seen if axis.contains(size))


def _symbols(fact: Fact) -> frozenset[Symbol]:
    return fact.predicate.symbols


def _numbers(fact: Fact) -> set[int]:
    """The numbers in a condition, also those that two of them make."""
    found = {abs(n) for side in fact.predicate.sides for n in _constants(side)}
    return found | {a * b for a in found for b in found if a * b <= _MOST_ELEMENTS}


def _constants(dim: Dim) -> Iterator[int]:
    for monomial, coefficient in dim.terms:
        yield coefficient
        for factor, _ in monomial:
            if not isinstance(factor, Symbol):
                yield from (n for argument in factor.args for n in _constants(argument))
