"""Clamped bounds of slices as sizes of a kernel's own.

`x[3:4]` of an axis that may be shorter begins at `min(n, 3)`. A kernel that takes many such slices
has many of these numbers, and each proof about it would look into all of them; its neighbour, which
takes the next slices, differs from it in nothing else. With a name for each bound, level 2 computes
it once, proofs know of it what the slice op requires, and both are one kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import PARAM
from anyshape.ir.substitute import map_region
from anyshape.ir.types import TensorType, Type
from anyshape.ops.movement import SliceAttrs
from anyshape.sym import Dim, Fact, LessEqual, Origin, Predicate, Symbol, is_at_most
from anyshape.sym.factor import CompoundFactor, Factor, Max, Min
from anyshape.sym.rebuild import map_factors, with_args
from anyshape.sym.terms import factors_of

FEW = 4
"""Bounds of fewer slices stay dims: proofs may use what they are."""

Bounds = dict[Symbol, Dim]


def sizes_of_bounds(region: Region, *, few: int = FEW) -> Bounds:
    """A symbol for each clamped bound of a region with more than a few; none for others.

    A region with compounds has its types inferred again where they are expanded, from dims alone.
    """
    nodes = region.nodes()
    slices = [node for node in nodes if isinstance(node.attrs, SliceAttrs)]
    if len(slices) <= few or any(node.op.is_compound or node.regions for node in nodes):
        return {}
    clamped = dict.fromkeys(bound for node in slices for bound in _clamped_bounds(node))
    if len(clamped) <= few:
        return {}
    # What other kernels have computed is as long as slices of theirs.
    clamped |= dict.fromkeys(bound for type_ in region.params for bound in _minima(type_))
    return {Symbol(f"?bound{number:04}"): dim for number, dim in enumerate(clamped)}


def _clamped_bounds(node: Node) -> Iterator[Dim]:
    """Those that are a `min` or a `max` as a whole: as bounds, they are not negative."""
    assert isinstance(node.attrs, SliceAttrs)
    for dim in (*node.attrs.starts, *node.attrs.stops):
        if isinstance(dim.factor, Min | Max):
            yield dim


def _minima(type_: Type) -> Iterator[Dim]:
    """Those that the sizes of a type are made of, if they are sizes too."""
    shape = type_.shape if isinstance(type_, TensorType) else ()
    for factor in (factor for dim in shape for factor in factors_of(dim.terms)):
        dim = Dim.of_factor(factor)
        if isinstance(factor, Min) and is_at_most(Dim.of(0), dim):
            yield dim


def with_sizes_of_bounds(region: Region, bounds: Bounds) -> tuple[Region, tuple[Fact, ...]]:
    """The region with symbols in place of bounds, and what is known of them."""
    names = {dim.factor: Dim.of(symbol) for symbol, dim in bounds.items()}
    named = map_region(region, lambda dim: _named(dim, names))
    whole = tuple(zip(region.results[0].tensor.shape, named.results[0].tensor.shape, strict=True))
    known: dict[Predicate, None] = {}
    for node, new in zip(region.nodes(), named.nodes(), strict=True):
        if isinstance(node.attrs, SliceAttrs):
            known.update(dict.fromkeys(_inside(node, new, whole[::-1])))
            continue
        for value, other in zip(node.operands, new.operands, strict=True):
            known.update(dict.fromkeys(_shorter(node.result(), new.result(), value, other)))
        if node.op is PARAM:
            ends = region.results[0], named.results[0]
            known.update(dict.fromkeys(_shorter(*ends, node.result(), new.result())))
    # Of many statements about a symbol, questions see the first: the plainest.
    plainest_first = sorted(known, key=lambda predicate: len(predicate.symbols))
    return named, tuple(Fact(predicate, Origin.OP) for predicate in plainest_first)


def _named(dim: Dim, names: Mapping[Factor | None, Dim]) -> Dim:
    def change(factor: Factor) -> Dim:
        if factor in names:
            return names[factor]
        if isinstance(factor, Symbol):
            return Dim.of(factor)
        return _with_named(factor, names)

    return map_factors(dim, change)


def _with_named(factor: CompoundFactor, names: Mapping[Factor | None, Dim]) -> Dim:
    return with_args(factor, [_named(arg, names) for arg in factor.args])


def _inside(node: Node, new: Node, whole: Sequence[tuple[Dim, Dim]]) -> Iterator[Predicate]:
    """What a slice requires of its bounds; in one step where the kernel's result is no longer."""
    if not isinstance(node.attrs, SliceAttrs) or not isinstance(new.attrs, SliceAttrs):
        return
    taken, sizes = node.result().tensor.shape, new.operands[0].tensor.shape
    attrs, rank = new.attrs, len(taken)
    bounds = zip(taken, sizes, attrs.starts, attrs.stops, attrs.steps, strict=True)
    for axis, (length, size, start, stop, step) in enumerate(bounds):
        from_end = rank - 1 - axis
        end = whole[from_end] if from_end < len(whole) and step == 1 else None
        if end is not None and is_at_most(end[0], length):
            yield from _at_most(start + end[1], size)
        else:
            yield from _at_most(start, stop)
            yield from _at_most(stop, size)


def _at_most(low: Dim, high: Dim) -> Iterator[Predicate]:
    if not (high - low).is_constant:
        yield LessEqual(low, high)


def _shorter(
    result: Value, result_named: Value, part: Value, part_named: Value
) -> Iterator[Predicate]:
    """That a result is no longer than what it is computed from: names no longer tell."""
    shapes = (value.tensor.shape[::-1] for value in (result, result_named, part, part_named))
    for size, size_named, old, old_named in zip(*shapes, strict=False):
        if is_at_most(size, old):
            yield from _at_most(size_named, old_named)
