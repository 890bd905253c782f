"""What the dims of a region are made of: asked by whoever gives a kernel sizes of its own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from anyshape.ir.node import Region
from anyshape.ir.substitute import map_region
from anyshape.sym import Dim, Predicate, Symbol
from anyshape.sym.factor import Factor
from anyshape.sym.terms import factors_of


def dims_of(region: Region) -> dict[Dim, None]:
    """All dims of its types and attributes that have symbols, at any depth."""
    dims: dict[Dim, None] = {}

    def look(dim: Dim) -> Dim:
        if dim.symbols:
            dims[dim] = None
        return dim

    map_region(region, look)
    return dims


def late_symbols(region: Region) -> Iterator[Symbol]:
    """Sizes that its nodes bear, and those that these depend on."""
    for late in (late for node in region.nodes() for late in node.late):
        yield late.symbol
        yield from late.upper.symbols if late.upper is not None else ()


def factors_within(dims: Iterable[Dim], whole: Collection[Factor] = ()) -> set[Factor]:
    """All factors of some dims and those inside them, but not inside what is taken as a whole."""
    found: set[Factor] = set()
    waiting = list(dims)
    while waiting:
        new = set(factors_of(waiting.pop().terms)) - found
        found |= new
        compounds = (f for f in new if not isinstance(f, Symbol) and f not in whole)
        waiting += [arg for factor in compounds for arg in factor.args]
    return found


def mapped_predicate(predicate: Predicate, change: Callable[[Dim], Dim]) -> Predicate:
    """The predicate about other dims."""
    first, second = predicate.sides
    return type(predicate)(change(first), change(second))
