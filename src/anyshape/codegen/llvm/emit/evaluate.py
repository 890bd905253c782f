"""Scalar expressions of the loop IR as code, in all lanes of a tile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from anyshape.codegen.llvm.emit import access
from anyshape.codegen.llvm.emit.condition import all_hold, both, still_open
from anyshape.codegen.llvm.emit.frame import Conditions, Frame
from anyshape.codegen.llvm.emit.index import index_lanes
from anyshape.codegen.llvm.emit.lanes import Lanes, lift, uniform
from anyshape.codegen.llvm.emit.table import generate
from anyshape.codegen.llvm.emit.types import literal_value, memory_type
from anyshape.codegen.llvm.math.boundary import Builder, Value
from anyshape.ir.types import DType
from anyshape.loop import Apply, Guard, Literal, Load, Local, Number, Scalar
from anyshape.sym import Predicate

_Key = tuple[int, int]  # which expression, under which mask


class Evaluator:
    """Writes the code of one statement's expressions; a shared subexpression is written once."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self._memo: dict[_Key, Lanes] = {}
        self._masks: list[Lanes | None] = []  # kept alive, so that their ids stay theirs

    def value(self, scalar: Scalar) -> Lanes:
        return self._under(scalar, self.frame.mask)

    def _under(self, scalar: Scalar, mask: Lanes | None) -> Lanes:
        """The value where the mask holds."""
        key = (id(scalar), id(mask))
        if key not in self._memo:
            self._masks.append(mask)
            self._memo[key] = self._emit(scalar, mask)
        return self._memo[key]

    def _emit(self, scalar: Scalar, mask: Lanes | None) -> Lanes:
        frame = self.frame
        match scalar:
            case Load(buffer, index):
                return access.load(frame, buffer, buffer.offset(index), mask)
            case Literal():
                return uniform(literal_value(scalar), frame.scope.outermost)
            case Number(dim):
                return index_lanes(frame.scope, dim, frame.tile)
            case Local(name, _):
                return current(frame, name)
            case Apply(op, args, dtype):
                values = [self._under(arg, mask) for arg in args]
                return apply(frame, op, [arg.dtype for arg in args], dtype, values)
            case Guard(conditions, inside, outside):
                return self._guard(conditions, inside, outside, mask)
            case _:
                assert_never(scalar)

    def _guard(
        self, conditions: Conditions, inside: Scalar, outside: Scalar, mask: Lanes | None
    ) -> Lanes:
        tests = self._open(conditions)
        if tests is None:
            return self._under(outside, mask)
        if not tests:
            return self._under(inside, mask)
        tile = self.frame.tile
        holds = all_hold(self.frame.scope, tile, tests)
        filled = self._filled(inside, outside, holds, mask)
        if filled is not None:
            return filled
        within = self._under(inside, holds if mask is None else both(tile, mask, holds))
        values = (holds, within, self._under(outside, mask))
        return lift(tile, _select, *values)

    def _filled(
        self, inside: Scalar, outside: Scalar, holds: Lanes, mask: Lanes | None
    ) -> Lanes | None:
        """A load or a constant in all lanes, without a select of vectors."""
        if not (isinstance(inside, Load) and isinstance(outside, Literal) and holds.uniform):
            return None
        buffer, fill = inside.buffer, literal_value(outside)
        if memory_type(buffer.dtype) != fill.type:  # as it is in a register is not as in memory
            return None
        offset = buffer.offset(inside.index)
        return access.load_or_fill(self.frame, buffer, offset, holds, fill, mask)

    def _open(self, conditions: Conditions) -> Sequence[Predicate] | None:
        """Conditions to be tested here; None if one is false throughout this loop."""
        known = self.frame.known
        if any(known.get(condition) is False for condition in conditions):
            return None
        unknown = [condition for condition in conditions if condition not in known]
        return still_open(self.frame.scope, unknown)


def _select(b: Builder, test: Value, yes: Value, no: Value) -> Value:
    return b.select(test, yes, no)


def apply(
    frame: Frame, op: str, dtypes: Sequence[DType], result: DType, args: Sequence[Lanes]
) -> Lanes:
    """An op on every part."""

    def function(b: Builder, *values: Value) -> Value:
        return generate(b, op, dtypes, result, values)

    return lift(frame.tile, function, *args)


def current(frame: Frame, name: str) -> Lanes:
    """What a local holds now; an accumulator is read from its slot."""
    slot = frame.slots.get(name)
    if slot is None:
        return frame.locals[name]
    places = slot.places[: frame.tile.parts if frame.tile else 1]
    values = tuple(frame.b.load(place) for place in places)
    return Lanes(values, slot.lanes is None, frame.scope)
