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
_COUNTED = 4_000
"""How many are looked at to count cases."""
_MOST_ELEMENTS = 1 << 31
"""Examples are only looked at, yet they are made."""


def uncovered_sizes(
    facts: Facts, usual: Mapping[Symbol, int], left: Case, known: Sequence[Case]
) -> Sizes | None:
    """Sizes that are of none of the `known` cases and would be of the case `left`, but for its last
    condition. Those that conditions do not mention are as `usual`; all satisfy the user's `facts`.
    """
    *before, last = left
    second: Sizes | None = None
    for chosen, sizes in _possible_sizes(facts, usual, (*known, left), _TRIED):
        if last.holds(sizes) or not is_in(before, sizes) or any(is_in(c, sizes) for c in known):
            continue
        if _is_telling(chosen):
            return sizes
        second = second or sizes
    return second


def cases_left(
    facts: Facts, usual: Mapping[Symbol, int], known: Sequence[Case], enough: int
) -> int:
    """At least so many cases, up to `enough`, are none of the `known` ones.

    Sizes that leave a case at different conditions are of different cases: at the first of these
    conditions the model's code goes on in one way for these and in another for those."""
    found: set[tuple[int, ...]] = set()
    for _, sizes in _possible_sizes(facts, usual, known, _COUNTED):
        left_at = tuple(_left_at(case, sizes) for case in known)
        if -1 not in left_at:
            found.add(left_at)
        if len(found) == enough:
            break
    return len(found)


def _left_at(case: Case, sizes: Sizes) -> int:
    """The number of the first condition that does not hold; -1 if all do."""
    return next((number for number, fact in enumerate(case) if not fact.holds(sizes)), -1)


def _possible_sizes(
    facts: Facts, usual: Mapping[Symbol, int], cases: Sequence[Case], most: int
) -> Iterator[tuple[Sequence[int], Sizes]]:
    """Sizes that satisfy the user's `facts`, in which conditions of `cases` differ, after those of
    them that were chosen; the others follow."""
    settled = refined_facts(facts)
    given = settled.sizes
    axes = settled.facts.axes
    symbols = _free({s for case in cases for fact in case for s in _symbols(fact)}, given)
    numbers = {n for case in (*cases, facts.facts) for fact in case for n in _numbers(fact)}
    tried = [
        list(_candidates(axis, usual[axis.symbol], numbers))
        if axis.symbol in symbols
        else [usual[axis.symbol]]
        for axis in axes
    ]
    for combination in islice(product(*tried), most):
        sizes = {axis.symbol: size for axis, size in zip(axes, combination, strict=True)}
        sizes.update((symbol, size.evaluate(sizes)) for symbol, size in given.items())
        if all(a.contains(sizes[a.symbol]) for a in facts.axes) and is_in(facts.facts, sizes):
            yield combination, sizes


def _free(symbols: set[Symbol], given: Mapping[Symbol, Dim]) -> set[Symbol]:
    """The symbols that sizes are chosen for, where others follow from them."""
    return {s for symbol in symbols for s in given.get(symbol, Dim.of(symbol)).symbols}


def _is_telling(combination: Sequence[int]) -> bool:
    return min(combination) >= 2 and len(set(combination)) == len(combination)


def _candidates(axis: Axis, usual: int, numbers: Iterable[int]) -> Iterator[int]:
    """Each size once that the axis allows; first those around the usual one: the model may not
    take small ones."""
    step = axis.multiple_of
    ends = [end for low, high in axis.ranges for end in (low, low + 1, high) if end is not None]
    around = (n + offset for n in sorted(numbers) for offset in (0, 1, -1, 2))
    near = (usual + offset for offset in (0, 1, -1, 2))
    sizes = [*near, *_SMALL, *around, *ends, *_LARGE]
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
