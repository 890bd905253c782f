"""Values while a kernel is written: one for all lanes, or one for each.

In a vectorised loop a *tile* of iterations is computed at once: `parts` vectors of `lanes` lanes.
A value that does not depend on the iteration is *uniform*: an LLVM scalar, computed in the
outermost scope where its operands are known. Others have one vector for each part; the parts are
computed side by side, which hides latency and keeps all loads of a statement before its stores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from anyshape.codegen.llvm.emit.intrinsics import splat
from anyshape.codegen.llvm.emit.scope import Scope, deepest
from anyshape.codegen.llvm.math.boundary import Value, ir
from anyshape.sym import Symbol


@dataclass(frozen=True, slots=True)
class Tile:
    """Iterations of the loop over `index` that are computed together."""

    index: Symbol
    lanes: int
    parts: int


@dataclass(frozen=True, slots=True)
class Lanes:
    """A value: `parts` is one scalar if uniform, else a vector for each part of the tile."""

    parts: tuple[Value, ...]
    uniform: bool
    scope: Scope  # where it was computed

    @property
    def scalar(self) -> Value:
        assert self.uniform
        return self.parts[0]


def uniform(value: Value, scope: Scope) -> Lanes:
    return Lanes((value,), True, scope)


def part_of(value: Lanes, tile: Tile, part: int) -> Value:
    """The vector of one part; a uniform value is spread over the lanes where it was computed."""
    if not value.uniform:
        return value.parts[part]
    return spread(value.scope, value.scalar, tile.lanes)


def spread(scope: Scope, scalar: Value, lanes: int) -> Value:
    """The scalar in every lane, once per scope."""
    if isinstance(scalar, ir.Constant):
        return splat(scope.b, scalar, lanes)
    key = ("splat", id(scalar), lanes)
    if key not in scope.memo:
        scope.memo[key] = splat(scope.b, scalar, lanes)
    return scope.memo[key]


def lift(tile: Tile | None, function: Callable[..., Value], first: Lanes, *others: Lanes) -> Lanes:
    """`function(builder, *values)` on every part, or once if all operands are uniform."""
    args = (first, *others)
    scope = deepest((arg.scope for arg in others), first.scope)
    if all(arg.uniform for arg in args):
        return uniform(function(scope.b, *(arg.scalar for arg in args)), scope)
    assert tile is not None
    parts = (
        function(scope.b, *(part_of(arg, tile, part) for arg in args)) for part in range(tile.parts)
    )
    return Lanes(tuple(parts), False, scope)
