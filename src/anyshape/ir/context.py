"""What a shape rule may ask and record.

A rule is pure in its operands and attributes; everything it needs to know or imply about symbolic
sizes goes through this object to the fact scope, with the op's name and place in the message.
"""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.base.errors import AttributeValueError, OperandError
from anyshape.base.location import Location
from anyshape.ir.node import LateAxis
from anyshape.ir.opdef import AnyOp
from anyshape.ir.types import Shape, shape_text
from anyshape.sym import (
    Answer,
    Broadcastable,
    Dim,
    Equal,
    FactScope,
    Predicate,
    bcast,
    clamp_form,
    is_at_most,
    product,
)


class ShapeContext:
    """Facts, op and place for one application of a shape rule."""

    def __init__(
        self,
        op: AnyOp,
        scope: FactScope,
        location: Location | None = None,
        late: Sequence[LateAxis] = (),
    ) -> None:
        self.op = op
        self.scope = scope
        self.location = location
        self._given = list(late)
        self.late: list[LateAxis] = []

    # --- refusals -----------------------------------------------------------------------------

    def refuse_operand(self, problem: str) -> OperandError:
        """An error to raise about ranks or kinds of operands."""
        signature = f"{self.op.name}{self.op.signature}"
        return OperandError(self.op.name, problem, signature, self.location)

    def refuse_attribute(self, attribute: str, problem: str) -> AttributeValueError:
        """An error to raise about an attribute's value."""
        names = tuple(self.op.attrs.__dataclass_fields__)
        return AttributeValueError(self.op.name, attribute, problem, names)

    def check_axes(self, attribute: str, axes: Sequence[int], rank: int) -> None:
        """Axes are non-negative, in range and distinct."""
        for axis in axes:
            if not 0 <= axis < rank:
                raise self.refuse_attribute(attribute, f"has axis {axis}, the rank is {rank}")
        if len(set(axes)) != len(axes):
            raise self.refuse_attribute(attribute, f"repeats an axis: {list(axes)}")

    # --- sizes --------------------------------------------------------------------------------

    def require(self, predicate: Predicate, what: str) -> None:
        """FALSE is an error now, UNKNOWN becomes a check at run time."""
        self.scope.require(predicate, f"{self.op.name}: {what}", self.location)

    def require_equal(self, left: Dim, right: Dim, what: str) -> Dim:
        """Both sizes are one; returns the better known of the two."""
        if left is right:
            return left
        self.require(Equal(left, right), what)
        resolved = self.scope.resolve(left)
        return resolved if resolved.is_constant else self.scope.resolve(right)

    def require_same_size(self, left: Shape, right: Shape, what: str) -> None:
        """Both shapes have the same number of elements."""
        self.require(Equal(product(left), product(right)), what)

    def require_sizes(self, shape: Shape) -> None:
        """No size of a shape that an attribute gives is negative."""
        for axis, dim in enumerate(shape):
            what = f"size {axis} of {shape_text(shape)} must not be negative"
            self.require(dim >= 0, what)

    def require_one_or(self, old: Dim, new: Dim, what: str) -> None:
        """`old` is `new`, or 1 and can be repeated."""
        if not self.scope.broadcasts(old):
            self.require_equal(old, new, f"axis '{old}' does not broadcast: it must be {new}")
        elif old is not new:
            self.require(Broadcastable(old, new), what)
            self.require(Equal(bcast(old, new), new), what)

    def proves(self, predicate: Predicate) -> bool:
        return self.scope.proves(predicate) is Answer.TRUE

    def broadcast(self, shapes: Sequence[Shape]) -> Shape:
        """NumPy's rule on symbolic dims: align right, equal or 1; undecided stays `bcast(a, b)`."""
        rank = max((len(shape) for shape in shapes), default=0)
        result: list[Dim] = []
        for axis in range(-rank, 0):
            dims = [shape[axis] for shape in shapes if len(shape) >= -axis]
            result.append(self._broadcast_dims(dims, rank + axis))
        return tuple(result)

    def _broadcast_dims(self, dims: Sequence[Dim], axis: int) -> Dim:
        merged = dims[0]
        for dim in dims[1:]:
            merged = self._broadcast_pair(merged, dim, axis)
        return merged

    def _broadcast_pair(self, left: Dim, right: Dim, axis: int) -> Dim:
        if left is right or right == 1:
            return left
        if left == 1:
            return right
        if not left.is_constant and bcast(left, right) is left:
            return left  # `right` is among the sizes that `left` is the broadcast of
        if not (self.scope.broadcasts(left) and self.scope.broadcasts(right)):
            return self._without_broadcast(left, right, axis)
        if self._is_at_most_one(left) and self._is_at_most_one(right):
            return _smaller(left, right)
        self.require(Broadcastable(left, right), f"operands must broadcast at axis {axis}")
        left, right = self.scope.resolve(left), self.scope.resolve(right)
        for one, other in ((left, right), (right, left)):
            if self.proves(Equal(one, Dim.of(1))):
                return other
        if self.proves(Equal(left, right)):
            return _plainer(left, right)
        return bcast(left, right)

    def _without_broadcast(self, left: Dim, right: Dim, axis: int) -> Dim:
        """Of two sizes one of which does not broadcast: what it meets is equal, or provably 1."""
        fixed, other = (right, left) if self.scope.broadcasts(left) else (left, right)
        if self.scope.broadcasts(other) and self.proves(Equal(other, Dim.of(1))):
            return fixed
        what = f"axis '{fixed}' does not broadcast: sizes at axis {axis} must be equal"
        return self.require_equal(left, right, what)

    def _is_at_most_one(self, size: Dim) -> bool:
        upper = self.scope.bounds(clamp_form(size))[1]
        return upper is not None and upper <= 1

    def late_axis(self, upper: Dim | None) -> Dim:
        """A size the graph itself computes, at most `upper`; a given symbol is kept."""
        given = self._given[len(self.late)].symbol if len(self.late) < len(self._given) else None
        symbol = self.scope.late(given, upper)
        self.late.append(LateAxis(symbol, upper))
        return Dim.of(symbol)


def _plainer(left: Dim, right: Dim) -> Dim:
    """Of two equal sizes a number, or else a name: `s` where a table is cut to `min(s, 300)`."""
    if left.is_constant or right.is_constant:
        return left if left.is_constant else right
    return left if left.symbol is not None and right.symbol is None else right


def _smaller(left: Dim, right: Dim) -> Dim:
    """What two sizes of 0 or 1 broadcast to."""
    if is_at_most(right, left):
        return right
    return left if is_at_most(left, right) else bcast(left, right)
