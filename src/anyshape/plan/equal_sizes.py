"""Sizes of buffers that are written differently and provably the same, as one dim.

Refinement leaves one dim for each size that facts give. What is left are equalities that give none,
as of products: `a*b == c*d`. Sizes without a symbol of such a fact are not looked at.
"""

from __future__ import annotations

from collections.abc import Mapping

from anyshape.sym import Answer, Dim, Equal, Facts, FactScope

MOST = 32
"""Sizes that are compared, each with all others. Facts of this kind are few where there are any."""


def one_dim_each(sizes: Mapping[int, Dim], facts: Facts) -> dict[int, Dim]:
    """The sizes, with the first of several equal ones in place of each."""
    equalities = [f.predicate for f in facts.facts if isinstance(f.predicate, Equal)]
    symbols = frozenset(symbol for equal in equalities for symbol in equal.symbols)
    concerned = {size for size in sizes.values() if size.symbols & symbols}
    if not 2 <= len(concerned) <= MOST:
        return dict(sizes)
    scope = FactScope.of(facts)
    first: dict[Dim, Dim] = {}
    for size in dict.fromkeys(size for size in sizes.values() if size in concerned):
        same = (dim for dim in first if scope.proves(Equal(dim, size)) is Answer.TRUE)
        first[size] = next(same, size)
    return {number: first.get(size, size) for number, size in sizes.items()}
