"""Accumulators: slots, updates, and the reduction of lanes and parts to one value.

A vectorised loop keeps a partial result in every lane of every part, and combines them at its end.
Reordering additions and multiplications of floats in this way is allowed; that, and the levels of
long sums (`cascade.py`), is all the reassociation there is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from anyshape.codegen.llvm.emit.frame import Frame, Slot
from anyshape.codegen.llvm.emit.intrinsics import halves, splat
from anyshape.codegen.llvm.emit.lanes import Lanes, part_of, uniform
from anyshape.codegen.llvm.emit.scope import Scope
from anyshape.codegen.llvm.emit.table import generate
from anyshape.codegen.llvm.emit.types import I32, literal_value, register_type
from anyshape.codegen.llvm.math.boundary import Type, Value, ir
from anyshape.loop.ir import neutral


def clear(scope: Scope, slot: Slot) -> None:
    """Sets a slot to the neutral element."""
    value = literal_value(neutral(slot.op, slot.dtype))
    if slot.lanes is not None:
        value = splat(scope.b, value, slot.lanes)
    for place in slot.places:
        scope.b.store(value, place)


def update(frame: Frame, slot: Slot, value: Lanes) -> None:
    """Combines a value into the slot, lane by lane, where lanes exist."""
    tile, b = frame.tile, frame.b
    for part in range(tile.parts if tile else 1):
        old = b.load(slot.places[part])
        new = part_of(value, tile, part) if tile else value.scalar
        combined = _combine(frame.scope, slot)(new, old)  # tests of NaN are on what is new
        if frame.mask is not None and tile is not None:
            combined = b.select(part_of(frame.mask, tile, part), combined, old)
        b.store(combined, slot.places[part])


def result(scope: Scope, slot: Slot) -> Lanes:
    """What a slot holds once its loop is over."""
    values = tuple(scope.b.load(place) for place in slot.places)
    return Lanes(values, False, scope) if slot.lanes else uniform(values[0], scope)


def merge(scope: Scope, total: Slot, partial: Slot) -> None:
    """Combines all lanes and parts of one slot into another, which is a scalar."""
    combine = _combine(scope, total)
    parts = [scope.b.load(place) for place in partial.places]
    lanes = _across(scope, _pairwise(combine, parts), combine)
    (place,) = total.places
    scope.b.store(combine(scope.b.load(place), lanes), place)


def kind_of(slot: Slot) -> Type:
    """What each of its places holds."""
    return register_type(slot.dtype, slot.lanes)


def add(scope: Scope, slot: Slot, other: Slot) -> None:
    """Combines another slot into a slot that has as many places, or one for all."""
    combine = _combine(scope, slot)
    values = [scope.b.load(place) for place in other.places]
    if len(slot.places) < len(values):
        values = [_pairwise(combine, values)]
    for place, value in zip(slot.places, values, strict=True):
        scope.b.store(combine(scope.b.load(place), value), place)


def _combine(scope: Scope, slot: Slot) -> Callable[[Value, Value], Value]:
    dtypes = (slot.dtype, slot.dtype)
    return lambda x, y: generate(scope.b, slot.op, dtypes, slot.dtype, (x, y))


def _pairwise(combine: Callable[[Value, Value], Value], parts: Sequence[Value]) -> Value:
    middle = len(parts) // 2
    if not middle:
        return parts[0]
    return reduce(combine, (_pairwise(combine, half) for half in (parts[:middle], parts[middle:])))


def _across(scope: Scope, vector: Value, combine: Callable[[Value, Value], Value]) -> Value:
    """All lanes of a vector combined, by halves."""
    while vector.type.count > 1:
        vector = combine(*halves(scope.b, vector))
    return scope.b.extract_element(vector, ir.Constant(I32, 0))
