"""Sizes that a kernel knows as broadcasts of a graph's sizes only, and facts that are none of its.

A network that halves its images and doubles them again has sizes like `bcast((n + 3)//4,
2*((n + 7)//8))`, one inside the other from level to level. A kernel that has neither of the two
sizes by itself takes what they broadcast to for a size of its own: proofs have no alternatives to
look into, and levels share kernels.

Nor does a kernel need to know that two sizes broadcast, or how many elements a reshape has
elsewhere, if it lacks one of the sizes that this is about. What is said of one symbol stays: it
bounds it.

Which sizes there may be is rounded as in `base_sizes.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import cache

from anyshape.ir.node import Region
from anyshape.ir.substitute import map_region
from anyshape.lower.base_sizes import Bases, largest_number, rounded
from anyshape.lower.region_dims import dims_of, factors_within, late_symbols, mapped_predicate
from anyshape.sym import Axis, Broadcastable, Dim, Fact, Facts, Prover, Symbol
from anyshape.sym.factor import Bcast, Factor
from anyshape.sym.rebuild import map_factors, with_args
from anyshape.sym.terms import factors_of


def with_broadcast_sizes(region: Region, facts: Facts) -> tuple[Region, Facts, Bases]:
    """The region and what is known around it, with a symbol for each broadcast that is a size."""
    about = facts.within(region.symbols)
    if not any(map(_relates, about.facts)):
        return region, facts, {}
    dims = dims_of(region)
    sizes = _sizes(dims, set(late_symbols(region)))
    names = {size: Symbol(f"?broadcast{number:04}") for number, size in enumerate(sizes)}
    change = _change(names)
    named = map_region(region, change) if names else region
    met = factors_within(map(change, dims))
    axes = _axes(about, names, largest_number(named))
    stated = (
        replace(fact, predicate=mapped_predicate(fact.predicate, change)) for fact in about.facts
    )
    kept = (fact for fact in stated if not _relates(fact) or met.issuperset(_related(fact)))
    values = {name: Dim.of_factor(size) for size, name in names.items()}
    return named, Facts((*about.axes, *axes), tuple(kept)), values


def _relates(fact: Fact) -> bool:
    """Whether a fact is about sizes that are made of symbols, and says no more of each of them."""
    predicate = fact.predicate
    several = isinstance(predicate, Broadcastable) or len(predicate.symbols) > 1
    return several and not all(isinstance(factor, Symbol) for factor in _related(fact))


def _related(fact: Fact) -> set[Factor]:
    return {factor for side in fact.predicate.sides for factor in factors_of(side.terms)}


def _sizes(dims: Collection[Dim], late: Collection[Symbol]) -> list[Bcast]:
    """Broadcasts of what occurs nowhere else, the outer ones first."""
    found: list[Bcast] = []
    broadcasts = (factor for factor in factors_within(dims) if isinstance(factor, Bcast))
    for size in sorted(broadcasts, key=lambda size: (-size.depth, size.sort_key)):
        met = factors_within(dims, {*found, size})
        parts = {factor for arg in size.args for factor in factors_of(arg.terms)}
        if size in met and met.isdisjoint(parts) and size.symbols.isdisjoint(late):
            found.append(size)
    return found


def _change(names: Mapping[Bcast, Symbol]) -> Callable[[Dim], Dim]:
    def replaced(factor: Factor) -> Dim:
        if isinstance(factor, Bcast) and factor in names:
            return Dim.of(names[factor])
        if isinstance(factor, Symbol):
            return Dim.of(factor)
        return with_args(factor, [change(arg) for arg in factor.args])

    @cache
    def change(dim: Dim) -> Dim:
        return map_factors(dim, replaced)

    return change


def _axes(known: Facts, names: Mapping[Bcast, Symbol], numbers: int) -> Iterable[Axis]:
    """The ranges of the broadcasts, as far as they are known."""
    prover = Prover(known.axes, [fact.predicate for fact in known.facts])
    for size, name in names.items():
        low, high = prover.bounds(Dim.of_factor(size))
        yield Axis(name.name, ranges=[rounded((max(low or 0, 0), high), numbers)])
