"""Splits the range of a loop where conditions change, so that most iterations test nothing.

    out[j] = (a[j] if j < n0 else b[j - n0])        j in 0..n

becomes a loop over 0..n0, where the condition is true, and one over n0..n, where it is false. It is
done for conditions whose change comes at a computable point. Where the facts do not order these
points, they are taken in the order that large sizes have, and tested: a row of one element, both
ends of which are edges, goes through a loop of its own, which tests every condition.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

from anyshape.base.errors import DimError
from anyshape.codegen.llvm.emit.condition import still_open
from anyshape.codegen.llvm.emit.index import linear_in, scalar_index
from anyshape.codegen.llvm.emit.scope import Scope
from anyshape.codegen.llvm.emit.types import number
from anyshape.codegen.llvm.math.boundary import Value
from anyshape.loop import For, walk
from anyshape.sym import Answer, Dim, Less, LessEqual, Predicate, Prover, Symbol, ceildiv

MAX_POINTS = 3  # every point is another copy of the loop
LARGE = 1 << 20  # as sizes are that a guess is for


@dataclass(frozen=True, slots=True)
class Change:
    """`condition` has the truth `before` for indices below `point`, and the opposite from there."""

    condition: Predicate
    point: Dim
    before: bool


@dataclass(frozen=True, slots=True)
class Segment:
    """A range of the loop, and the conditions that are constant in it."""

    start: Value
    stop: Value
    known: dict[Predicate, bool]
    is_rare: bool = False  # sizes that have it are few: it is not worth much code


def segments(scope: Scope, loop: For) -> list[Segment]:
    """Ranges that together are 0..extent, in order; written into the scope around the loop."""
    changes = _ordered_changes(scope, loop)
    points = list(dict.fromkeys(change.point for change in changes))
    whole = extent = scalar_index(scope, loop.extent)
    values = [_clamped(scope, point, extent) for point in points]
    ordered = _ordered(scope, points)
    if ordered is not None:
        values = [scope.b.select(ordered, value, number(0)) for value in values]
        whole = scope.b.select(ordered, extent, number(0))
    bounds = [number(0), *values, whole]
    found = [
        Segment(bounds[i], bounds[i + 1], _known(changes, points, i))
        for i in range(len(bounds) - 1)
    ]
    return found if ordered is None else [*found, Segment(whole, extent, {}, is_rare=True)]


def _ordered(scope: Scope, points: Sequence[Dim]) -> Value | None:
    """Whether all points are in order; None if the facts say so."""
    found: Value | None = None
    for first, second in pairwise(points):
        if not _is_ordered(scope.prover, first, second):
            sides = (scalar_index(scope, point) for point in (first, second))
            test = scope.b.icmp_signed("<=", *sides)
            found = test if found is None else scope.b.and_(found, test)
    return found


def _known(changes: Sequence[Change], points: list[Dim], segment: int) -> dict[Predicate, bool]:
    return {c.condition: c.before == (segment <= points.index(c.point)) for c in changes}


def _clamped(scope: Scope, point: Dim, extent: Value) -> Value:
    b, value = scope.b, scalar_index(scope, point)
    value = b.select(b.icmp_signed("<", value, number(0)), number(0), value)
    return b.select(b.icmp_signed("<", value, extent), value, extent)


def _ordered_changes(scope: Scope, loop: For) -> list[Change]:
    """Changes by point, in ascending order; those that the facts do not order are left out."""
    conditions = [c for c in walk.guard_conditions(loop.body) if loop.index in c.symbols]
    if not conditions:
        return []
    range_ = (LessEqual(Dim.of(0), Dim.of(loop.index)), Less(Dim.of(loop.index), loop.extent))
    inside = Scope(scope.b.block, scope, range_)
    kept: list[Change] = []
    for condition in conditions:
        change = change_of(condition, loop.index)
        # What is of no use is not asked about: of many conditions, most come after the last point.
        if change is None or not _has_room(kept, change.point):
            continue
        if _is_known_before(scope, loop, change.point) and still_open(inside, (condition,)):
            kept = _inserted(scope.prover, kept, change) or kept
    return kept


def _has_room(kept: Sequence[Change], point: Dim) -> bool:
    return len({change.point for change in kept} | {point}) <= MAX_POINTS


def _is_known_before(scope: Scope, loop: For, point: Dim) -> bool:
    """Whether the point can be computed in front of the loop."""
    defined = {symbol for s in scope.outwards() for symbol in (*s.indices, *s.varying)}
    return point.symbols <= defined and not scope.is_varying(point)


def _inserted(prover: Prover, kept: list[Change], new: Change) -> list[Change] | None:
    """The list with one more change at its place; None if that is unknown."""
    place = 0
    while place < len(kept) and _comes_first(prover, kept[place].point, new.point):
        place += 1
    if all(_comes_first(prover, new.point, later.point) for later in kept[place:]):
        return [*kept[:place], new, *kept[place:]]
    return None


def _comes_first(prover: Prover, first: Dim, second: Dim) -> bool:
    """Whether a point is before another one, certainly or where sizes are large."""
    return _is_ordered(prover, first, second) or _is_ordered_at(LARGE, first, second)


def _is_ordered_at(size: int, first: Dim, second: Dim) -> bool:
    """With all sizes alike. A difference that grows with them is what decides; without a value,
    or equal, nothing is said."""
    sizes = dict.fromkeys(first.symbols | second.symbols, size)
    with suppress(DimError):
        return first.evaluate(sizes) < second.evaluate(sizes)
    return False


def _is_ordered(prover: Prover, first: Dim, second: Dim) -> bool:
    return prover.proves(LessEqual(first, second)) is Answer.TRUE


def change_of(condition: Predicate, index: Symbol) -> Change | None:
    """Where an inequality with a constant slope changes: `j < p` at p, `2*j < p` halfway."""
    if not isinstance(condition, Less | LessEqual):
        return None
    linear = linear_in(condition.lhs - condition.rhs, index)
    if linear is None or not linear[0].constant:
        return None
    slope, rest = linear[0].constant, linear[1]  # slope * index + rest < 0, or <= 0
    more = 0 if isinstance(condition, Less) else 1
    if slope > 0:  # up to the last index with slope * index < more - rest
        return Change(condition, ceildiv(more - rest, Dim.of(slope)), before=True)
    return Change(condition, (rest - more) // -slope + 1, before=False)
