"""Values as strided views of others: what needs no copy to be read in another order.

Transposes, slices and broadcasts of a dense value only change where its elements are found: at a
start plus an index times strides. Conversions that keep every number are looked through as well:
whoever reads the elements can convert them on the way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from anyshape.ir.node import Node, Value
from anyshape.ir.types import Shape
from anyshape.ops.movement import SliceAttrs, TransposeAttrs
from anyshape.sym import Dim, product


@dataclass(frozen=True, slots=True)
class StridedView:
    """Element `i` is the one at `start + sum(i * strides)` of the dense `base`."""

    base: Value
    shape: Shape
    strides: Shape
    start: Dim
    axes: tuple[int | None, ...]
    """The axis of the base that an axis walks along from end to end; None if there is none."""

    @property
    def is_whole(self) -> bool:
        """Whether every element of the base is seen."""
        return {axis for axis in self.axes if axis is not None} == set(range(self.base.tensor.rank))


Through = Callable[[Node], bool]


def view_of(value: Value, through: Through) -> StridedView:
    """The value as a view, seen through those nodes that `through` accepts."""
    node = value.node
    rule = _RULES.get(node.op.name)
    if rule is not None and through(node):
        found = rule(node, view_of(node.operands[0], through))
        if found is not None:
            return found
    shape = value.tensor.shape
    strides = tuple(product(shape[axis + 1 :]) for axis in range(len(shape)))
    return StridedView(value, shape, strides, Dim.of(0), tuple(range(len(shape))))


def is_view(node: Node) -> bool:
    """Whether the node's result is a view of its operand."""
    rule = _RULES.get(node.op.name)
    return rule is not None and rule(node, view_of(node.operands[0], lambda _: False)) is not None


def _transposed(node: Node, view: StridedView) -> StridedView:
    perm = node.attrs_as(TransposeAttrs).perm
    return replace(
        view,
        shape=tuple(view.shape[axis] for axis in perm),
        strides=tuple(view.strides[axis] for axis in perm),
        axes=tuple(view.axes[axis] for axis in perm),
    )


def _sliced(node: Node, view: StridedView) -> StridedView:
    attrs = node.attrs_as(SliceAttrs)
    shape = node.result().tensor.shape
    starts = (i * stride for i, stride in zip(attrs.starts, view.strides, strict=True))
    same = (new == old for new, old in zip(shape, view.shape, strict=True))
    return replace(
        view,
        shape=shape,
        strides=tuple(s * step for s, step in zip(view.strides, attrs.steps, strict=True)),
        start=sum(starts, view.start),
        axes=tuple(
            axis if kept else None for axis, kept in zip(view.axes, same, strict=True)
        ),
    )  # fmt: skip


def _broadcast(node: Node, view: StridedView) -> StridedView | None:
    """Axes align right; whether one of unknown size repeats, only the run knows."""
    shape = node.result().tensor.shape
    new = len(shape) - len(view.shape)
    strides, axes = [Dim.of(0)] * new, list[int | None]([None] * new)
    for axis, (size, stride) in enumerate(zip(view.shape, view.strides, strict=True)):
        if size != shape[new + axis] and size != 1:
            return None
        repeats = size != shape[new + axis]
        strides.append(Dim.of(0) if repeats else stride)
        axes.append(None if repeats else view.axes[axis])
    return replace(view, shape=shape, strides=tuple(strides), axes=tuple(axes))


def _widened(node: Node, view: StridedView) -> StridedView | None:
    """Only what keeps every number: then several conversions are the same as one."""
    old, new = node.operands[0].tensor.dtype, node.result().tensor.dtype
    keeps_kind = old.kind == new.kind or (old.kind, new.kind) == ("uint", "int")
    return view if old.bits < new.bits and keeps_kind else None


_RULES: dict[str, Callable[[Node, StridedView], StridedView | None]] = {
    "transpose": _transposed,
    "slice": _sliced,
    "broadcast": _broadcast,
    "cast": _widened,
}
