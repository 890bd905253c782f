"""Conditions on indices as code, and what the facts already say about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from anyshape.codegen.llvm.emit.index import index_lanes
from anyshape.codegen.llvm.emit.lanes import Lanes, Tile, lift
from anyshape.codegen.llvm.emit.scope import Scope
from anyshape.codegen.llvm.math.boundary import Builder, Value, constant
from anyshape.sym import (
    Answer,
    Broadcastable,
    Dim,
    Divisible,
    Equal,
    Less,
    LessEqual,
    NotEqual,
    Predicate,
)


def still_open(scope: Scope, conditions: Sequence[Predicate]) -> list[Predicate] | None:
    """The conditions that must be tested; None if one of them is known to be false."""
    unknown: list[Predicate] = []
    for condition in dict.fromkeys(conditions):
        answer = scope.prover.proves(condition)
        if answer is Answer.FALSE:  # the others may be hard to decide
            return None
        if answer is Answer.UNKNOWN:
            unknown.append(condition)
    return unknown


def all_hold(scope: Scope, tile: Tile | None, conditions: Sequence[Predicate]) -> Lanes:
    """i1: whether all of one or more conditions hold."""
    first, *others = (_holds(scope, tile, condition) for condition in conditions)
    for other in others:
        first = both(tile, first, other)
    return first


def both(tile: Tile | None, x: Lanes, y: Lanes) -> Lanes:
    return lift(tile, _and, x, y)


def _and(b: Builder, x: Value, y: Value) -> Value:
    return b.and_(x, y)


def _holds(scope: Scope, tile: Tile | None, condition: Predicate) -> Lanes:
    if isinstance(condition, Divisible):
        remainder = condition.dim % condition.divisor
        return _holds(scope, tile, Equal(remainder, Dim.of(0)))
    left, right = (index_lanes(scope, side, tile) for side in condition.sides)
    return lift(tile, _TESTS[type(condition)], left, right)


def _compare(operator: str) -> Callable[[Builder, Value, Value], Value]:
    return lambda b, x, y: b.icmp_signed(operator, x, y)


def _broadcastable(b: Builder, x: Value, y: Value) -> Value:
    one = constant(x.type, 1)
    either = b.or_(b.icmp_signed("==", x, one), b.icmp_signed("==", y, one))
    return b.or_(b.icmp_signed("==", x, y), either)


_TESTS: dict[type[Predicate], Callable[[Builder, Value, Value], Value]] = {
    Equal: _compare("=="),
    NotEqual: _compare("!="),
    Less: _compare("<"),
    LessEqual: _compare("<="),
    Broadcastable: _broadcastable,
}
