"""Along which axes an op can be applied to a part, as a table with an entry for each family of ops.

    op(x, y)[part of one axis]  =  op(x[part of an axis], y)

An entry says from which axis of each operand the part is taken, or objects; some also say which
attributes the op then has. Elements are computed from the same numbers either way. A size of 1 that
repeats is read whole, and only where it is known to be 1: a size that merely may be is no reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import cast

from anyshape.analysis.constants import is_constant
from anyshape.ir.attrs import Attrs
from anyshape.ir.node import Node, Value
from anyshape.ir.opdef import Trait
from anyshape.ops.attention import AttentionAttrs
from anyshape.ops.compound import NormAttrs
from anyshape.ops.cumulative import CumulativeAttrs
from anyshape.ops.dot import DotAttrs
from anyshape.ops.known import BROADCAST, CAST, RESHAPE, TRANSPOSE
from anyshape.ops.movement import AxesAttrs, AxisAttrs, PadAttrs, ShapeAttrs, TransposeAttrs
from anyshape.ops.reduce import ArgReduceAttrs, ReduceAttrs
from anyshape.passes.ranges import Cut
from anyshape.sym import Dim, product

Axes = tuple[int | None, ...]
"""For each operand the axis that a part is taken of; None for an operand that is read whole."""


AxesRule = Callable[[Cut], Axes | str]
AttrsRule = Callable[[Attrs, Cut], Attrs]


def _as_they_are(attrs: Attrs, cut: Cut) -> Attrs:
    return attrs


@dataclass(frozen=True, slots=True)
class Family:
    """How ops of one family are applied to a part: from which axes, and with which attributes."""

    axes: AxesRule
    attrs: AttrsRule = _as_they_are


def operand_axes(cut: Cut) -> Axes | str:
    """From which axes of its operands a node computes the part, or why it cannot."""
    family = _family(cut.node)
    return family.axes(cut) if family else f"{cut.node.op.name} is not taken apart"


def attrs_for(cuts: list[Cut]) -> Attrs:
    """The attributes of a node that computes parts along some of its axes."""
    attrs = cuts[0].node.attrs
    for cut in cuts:
        family = _family(cut.node)
        assert family is not None, "an op of no family is not taken apart"
        attrs = family.attrs(attrs, cut)
    return attrs


def _family(node: Node) -> Family | None:
    return _BROADCASTING if node.op.has(Trait.ELEMENTWISE) else FAMILIES.get(node.op.name)


# --- elementwise, broadcast, reshape --------------------------------------------------------------


def _elementwise(cut: Cut) -> Axes | str:
    axes: list[int | None] = []
    for value in cut.node.operands:
        axis = cut.aligned(value.tensor.shape)
        if isinstance(axis, str):
            return axis
        axes.append(axis)
    return tuple(axes)


def _part_of_shape(attrs: Attrs, cut: Cut) -> Attrs:
    shape = cast(ShapeAttrs, attrs).shape
    return ShapeAttrs((*shape[: cut.axis], cut.part.size, *shape[cut.axis + 1 :]))


def _reshape(cut: Cut) -> Axes | str:
    """An axis stays what it is if as many elements come before it, and as many after."""
    old, new, axis = cut.node.operands[0].tensor.shape, cut.shape, cut.axis
    before, after = product(new[:axis]), product(new[axis + 1 :])
    for other, size in enumerate(old):
        pairs = (size, cut.size), (product(old[:other]), before), (product(old[other + 1 :]), after)
        if all(cut.same(*pair) for pair in pairs):
            return (other,)
    return "a reshape takes the axis apart"


# --- other movement -------------------------------------------------------------------------------


def _transpose(cut: Cut) -> Axes | str:
    return (cut.node.attrs_as(TransposeAttrs).perm[cut.axis],)


def _reverse(cut: Cut) -> Axes | str:
    is_turned = cut.axis in cut.node.attrs_as(AxesAttrs).axes
    return "a reverse turns the axis round" if is_turned else (cut.axis,)


def _concat(cut: Cut) -> Axes | str:
    if cut.axis == cut.node.attrs_as(AxisAttrs).axis:
        return "a concat makes the axis of several"
    return (cut.axis,) * len(cut.node.operands)


def _pad(cut: Cut) -> Axes | str:
    attrs = cut.node.attrs_as(PadAttrs)
    is_whole = attrs.low[cut.axis] == 0 and attrs.high[cut.axis] == 0
    return (cut.axis, None) if is_whole else "a pad adds to the axis"


def _gather(cut: Cut) -> Axes | str:
    """The axes of the indices stand in the place of one axis."""
    axis = cut.node.attrs_as(AxisAttrs).axis
    indices = cut.node.operands[1].tensor.rank
    if axis <= cut.axis < axis + indices:
        return None, cut.axis - axis
    return cut.axis if cut.axis < axis else cut.axis - indices + 1, None


def _take_along(cut: Cut) -> Axes | str:
    axis = cut.node.attrs_as(AxisAttrs).axis
    return None if cut.axis == axis else cut.axis, cut.axis


# --- rows and reductions --------------------------------------------------------------------------


def _along_axis(cut: Cut) -> Axes | str:
    """Softmax and cumulative ops."""
    if cut.axis == cast(AxisAttrs | CumulativeAttrs, cut.node.attrs).axis:
        return f"a {cut.node.op.name} needs the whole axis"
    return (cut.axis,)


def _norm(cut: Cut) -> Axes | str:
    if cut.axis >= cut.node.attrs_as(NormAttrs).axis:
        return f"a {cut.node.op.name} needs the whole axis"
    return cut.axis, *(None for _ in cut.node.operands[1:])


def _reduction(cut: Cut) -> Axes | str:
    attrs = cast(ReduceAttrs | ArgReduceAttrs, cut.node.attrs)
    reduced = attrs.axes if isinstance(attrs, ReduceAttrs) else (attrs.axis,)
    if attrs.keepdims:
        return (cut.axis,) if cut.axis not in reduced else "a reduction has made the axis"
    kept = [axis for axis in range(cut.node.operands[0].tensor.rank) if axis not in reduced]
    return (kept[cut.axis],)


# --- products -------------------------------------------------------------------------------------


def _dot(cut: Cut) -> Axes | str:
    attrs = cut.node.attrs_as(DotAttrs)
    lhs, rhs = (_free_axes(value, attrs, side) for side, value in enumerate(cut.node.operands))
    both: list[Axes] = [
        *zip(*attrs.batch, strict=True),
        *((axis, None) for axis in lhs),
        *((None, axis) for axis in rhs),
    ]
    axes = both[cut.axis]
    for value, axis in zip(cut.node.operands, axes, strict=True):
        if axis is not None and _is_constant(value):
            return "constant operands of a dot are stored whole"
    return axes


def _free_axes(value: Value, attrs: DotAttrs, side: int) -> list[int]:
    used = attrs.contract[side] + attrs.batch[side]
    return [axis for axis in range(value.tensor.rank) if axis not in used]


def _is_constant(value: Value) -> bool:
    while value.node.op in (TRANSPOSE, RESHAPE, BROADCAST, CAST):
        value = value.node.operands[0]
    return is_constant(value)


HEADS, QUERIES, WIDTH = -3, -2, -1  # axes of attention, and batch before them if it has all


def _attention(cut: Cut) -> Axes | str:
    """Batch, heads and queries are each for themselves, and so are the columns of values."""
    q, k, *_ = (value.tensor.shape for value in cut.node.operands)
    axis = cut.axis - len(q)
    if axis == HEADS and not cut.same(q[HEADS], k[HEADS]):
        return "several heads share keys and values"
    if axis == QUERIES and _sight(cut.node.attrs_as(AttentionAttrs), cut) is None:
        return "queries that are not neighbours see keys by no bounds"
    own: Axes = (cut.axis,) * 3
    if axis in (QUERIES, WIDTH):
        own = (cut.axis, None, None) if axis == QUERIES else (None, None, cut.axis)
    masks: list[int | None] = []
    for value in cut.node.operands[3:]:
        aligned = None if axis == WIDTH else cut.aligned(value.tensor.shape)
        if isinstance(aligned, str):
            return aligned
        masks.append(aligned)
    return (*own, *masks)


def _sight(attrs: AttentionAttrs, cut: Cut) -> AttentionAttrs | None:
    """How far the queries of a part see: query i is the one at `start + i` of all."""
    queries, keys = (cut.node.operands[n].tensor.shape[QUERIES] for n in range(2))
    last, low = attrs.last(queries, keys), attrs.low
    if last is None and low is None:
        return attrs
    if cut.part.step != 1:
        return None
    low = None if low is None else low + cut.part.start
    if last is None:
        return replace(attrs, low=low)
    last = last + cut.part.start
    if cut.same(last, keys - cut.part.size):
        return replace(attrs, causal="bottom_right", low=low, high=None)
    if cut.same(last, Dim.of(0)):
        return replace(attrs, causal="top_left", low=low, high=None)
    return replace(attrs, causal="none", low=low, high=last)


def _sight_attrs(attrs: Attrs, cut: Cut) -> Attrs:
    if cut.axis - len(cut.shape) != QUERIES:
        return attrs
    found = _sight(cast(AttentionAttrs, attrs), cut)
    assert found is not None, "such a part is not taken"
    return found


_BROADCASTING = Family(_elementwise)
_REDUCTION = Family(_reduction)
_ALONG = Family(_along_axis)
_NORM = Family(_norm)

FAMILIES: Mapping[str, Family] = {
    "broadcast": Family(_elementwise, _part_of_shape),
    "reshape": Family(_reshape, _part_of_shape),
    "transpose": Family(_transpose),
    "reverse": Family(_reverse),
    "concat": Family(_concat),
    "pad": Family(_pad),
    "gather": Family(_gather),
    "take_along": Family(_take_along),
    **dict.fromkeys(("softmax", "log_softmax"), _ALONG),
    **dict.fromkeys(("cumsum", "cumprod", "cummax", "cummin"), _ALONG),
    **dict.fromkeys(("layer_norm", "rms_norm"), _NORM),
    **dict.fromkeys(("sum", "prod", "max", "min", "mean", "argmax", "argmin"), _REDUCTION),
    "dot": Family(_dot),
    "attention": Family(_attention, _sight_attrs),
}
"""By name; elementwise ops are a family by their trait. Other ops are not taken apart."""
