"""Whether rows of a region depend on each other.

The *rows* of a value are its elements under one index of its leading axes, the `lead`: `[batch,
seq]` of `f32[batch, seq, 256]`. Their sizes do not depend on how many there are, and need not be
constant: images are rows of `[batch]`. A region computes row by row if any range of rows of its
results follows from the same range of rows of its operands, and from operands that have no rows at
all: weights. It may then be run on a few rows as if there were no others, with the same result.

Each op says so by its traits. What is not known to compute row by row is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

from anyshape.analysis.reduced_axes import reduced_axes
from anyshape.ir.attrs import attr_dims
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import PARAM, Trait
from anyshape.ir.rewrite import Refusal
from anyshape.ir.types import Shape, TensorType, Type
from anyshape.ops.cumulative import CumulativeAttrs
from anyshape.ops.dot import DotAttrs
from anyshape.ops.known import (
    BROADCAST,
    CONCAT,
    CONV,
    DOT,
    PAD,
    RESHAPE,
    SLICE,
    TRANSPOSE,
    WINDOWS,
    WINOGRAD,
)
from anyshape.ops.movement import AxisAttrs, PadAttrs, SliceAttrs, TransposeAttrs
from anyshape.ops.windows import WindowsAttrs
from anyshape.sym import Dim, Symbol


def lead_of(type_: Type) -> Shape:
    """The leading axes with sizes of their own: distinct symbols, before constants only."""
    if not isinstance(type_, TensorType):
        return ()
    lead = tuple(takewhile(lambda dim: dim.symbol is not None, type_.shape))
    if any(dim.constant is None for dim in type_.shape[len(lead) :]):
        return ()
    return lead if len(set(lead)) == len(lead) else ()


def image_lead_of(type_: Type) -> Shape:
    """The first axis of a value whose rows have places and channels."""
    if not isinstance(type_, TensorType) or type_.rank < 3 or type_.shape[0].symbol is None:
        return ()
    lead = type_.shape[:1]
    return lead if has_rows(type_, lead) else ()


def has_rows(type_: Type, lead: Shape) -> bool:
    """Whether a value has these rows, of whatever size."""
    if not isinstance(type_, TensorType) or type_.shape[: len(lead)] != lead:
        return False
    return not _mentions(type_.shape[len(lead) :], lead)


def is_whole(type_: Type, lead: Shape) -> bool:
    """Whether a value has nothing to do with rows."""
    return isinstance(type_, TensorType) and not _mentions(type_.shape, lead)


def _mentions(dims: Iterable[Dim], lead: Shape) -> bool:
    return not _symbols(lead).isdisjoint(_symbols(dims))


def _symbols(dims: Iterable[Dim]) -> frozenset[Symbol]:
    return frozenset[Symbol]().union(*(dim.symbols for dim in dims))


def why_not_by_rows(region: Region, lead: Shape) -> Refusal | None:
    """Why a region does not compute row by row; None if it does."""
    for node in region.nodes():
        reason = _why_not(node, lead)
        if reason is not None:
            return Refusal(f"{node.op.name}: {reason}")
    if not all(has_rows(type_, lead) for type_ in region.result_types):
        return Refusal("a result has other rows")
    return None


def _why_not(node: Node, lead: Shape) -> str | None:
    if not all(_is_known(value, lead) for value in (*node.operands, *node.results)):
        return "it has other sizes than rows"
    if node.op is PARAM:
        return None
    if node.regions or node.late or node.op.has(Trait.EFFECT):
        return "nothing is known of its rows"
    if not any(has_rows(value.type, lead) for value in (*node.operands, *node.results)):
        return "it computes with a size" if _mentions_rows(node, lead) else None
    return None if _keeps_rows(node, lead) else "its rows depend on each other, as far as is known"


def _mentions_rows(node: Node, lead: Shape) -> bool:
    return _mentions(attr_dims(node.attrs), lead)


def _is_known(value: Value, lead: Shape) -> bool:
    return has_rows(value.type, lead) or is_whole(value.type, lead)


def _keeps_rows(node: Node, lead: Shape) -> bool:
    """Of a node some of whose values have rows; all others have nothing to do with them."""
    if not all(has_rows(value.type, lead) for value in node.results):
        return False
    if node.op.has(Trait.ELEMENTWISE):
        aligned = all(_is_aligned(value, node, lead) for value in node.operands)
        return aligned and not _mentions_rows(node, lead)
    if node.op is BROADCAST:
        return _is_aligned(node.operands[0], node, lead)
    if node.op is DOT:
        return _is_product_of_rows(node, lead)
    if node.op is CONCAT:
        is_beyond = node.attrs_as(AxisAttrs).axis >= len(lead)
        return is_beyond and all(has_rows(value.type, lead) for value in node.operands)
    if not node.operands or not has_rows(node.operands[0].type, lead):  # `iota` counts all rows
        return False
    if any(has_rows(value.type, lead) for value in node.operands[1:]):
        return False
    return _moves_or_combines_within(node, lead)


def _moves_or_combines_within(node: Node, lead: Shape) -> bool:
    """Whether the elements of a row of the first operand stay in that row, and meet no others."""
    count = len(lead)
    if node.op is RESHAPE:  # rows keep their elements: all of them have equally many
        return True
    if node.op in (CONV, WINOGRAD):  # places and channels are behind the first axis
        return count == 1
    if node.op is PAD:
        attrs = node.attrs_as(PadAttrs)
        return all(size == 0 for size in (*attrs.low[:count], *attrs.high[:count]))
    if node.op is WINDOWS:
        return node.operands[0].tensor.rank - len(node.attrs_as(WindowsAttrs).counts) >= count
    if node.op is TRANSPOSE:
        return node.attrs_as(TransposeAttrs).perm[:count] == tuple(range(count))
    if node.op is SLICE:
        return _slices_rows_alike(node.attrs_as(SliceAttrs), lead)
    axes = _combined_axes(node)
    return axes is not None and min(axes, default=count) >= count


def _slices_rows_alike(attrs: SliceAttrs, lead: Shape) -> bool:
    """Whether a slice takes all rows, and the same part of each."""
    count = len(lead)
    all_rows = all(start == 0 for start in attrs.starts[:count]) and attrs.stops[:count] == lead
    part = *attrs.starts[count:], *attrs.stops[count:]
    return all_rows and set(attrs.steps[:count]) == {1} and not _mentions(part, lead)


def _combined_axes(node: Node) -> frozenset[int] | None:
    """The axes along which elements of a row meet; None if that is not known."""
    attrs = node.attrs
    return frozenset({attrs.axis}) if isinstance(attrs, CumulativeAttrs) else reduced_axes(node)


def _is_aligned(value: Value, node: Node, lead: Shape) -> bool:
    """Whether broadcasting puts an operand's rows, or all of it, beside each row of the result."""
    rank, shape = node.results[0].tensor.rank, value.tensor.shape
    if has_rows(value.type, lead):
        return len(shape) == rank
    before = shape[: max(0, len(shape) - (rank - len(lead)))]
    return all(dim == 1 for dim in before)


def _is_product_of_rows(node: Node, lead: Shape) -> bool:
    """Rows times a matrix: axes of lhs that are neither contracted nor batch come first."""
    lhs, rhs = node.operands
    attrs = node.attrs_as(DotAttrs)
    contracted = min(attrs.contract[0], default=len(lead))
    return (
        has_rows(lhs.type, lead)
        and is_whole(rhs.type, lead)
        and not attrs.batch[0]
        and contracted >= len(lead)
    )
