"""How ops are masked whose attributes speak of sizes, or that need more than filled operands.

Each function gives the results of an old node on new operands, some of whose axes are padded, or
None if it cannot: the op is then computed at exact sizes (`masks.py`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from anyshape.base.errors import UnmaskedOpError
from anyshape.dynamic.masks import NO_MASK, Form, Masking
from anyshape.ir.graph import Graph
from anyshape.ir.mixing import Link, Sees
from anyshape.ir.node import Node, Value
from anyshape.ir.types import i64
from anyshape.ops.attention import AttentionAttrs, has_sink
from anyshape.ops.compose import Expr, iota, size
from anyshape.ops.compound import NormAttrs
from anyshape.ops.elementwise import add
from anyshape.ops.movement import AxisAttrs, PadAttrs, ShapeAttrs, SliceAttrs
from anyshape.ops.reduce import ReduceAttrs, reduction_mixing
from anyshape.ops.source import IotaAttrs
from anyshape.ops.windows import WindowsAttrs
from anyshape.passes.infra import PassContext
from anyshape.sym import Answer, Dim, LessEqual, Symbol, product


@dataclass(frozen=True)
class InsertMasks:
    """Makes `axes` padded. The graph gets an input for each that has no elements: its first size is
    how much of the axis is valid. With `strict`, an op that cannot be masked is refused by name."""

    axes: tuple[Symbol, ...]
    strict: bool = False
    name: str = "masks"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        masking = Masking(graph, self.axes, ctx, self.name, FORMS)
        if self.strict and masking.unmasked:
            raise UnmaskedOpError(graph.name, tuple(masking.unmasked))
        return masking.graph


# --- shapes in attributes -------------------------------------------------------------------------


def _iota(m: Masking, node: Node, operands: Sequence[Value]) -> Sequence[Value]:
    attrs = node.attrs_as(IotaAttrs)
    shape = tuple(map(m.padded, attrs.shape))
    return m.b.node(node.op, (), replace(attrs, shape=shape)).results


def _broadcast(m: Masking, node: Node, operands: Sequence[Value]) -> Sequence[Value] | None:
    """Axes that it adds are padded; those that are there stay as they are."""
    (x,), old, shape = operands, node.operands[0].tensor.shape, list[Dim]()
    wanted = node.attrs_as(ShapeAttrs).shape
    for axis, dim in enumerate(wanted, len(old) - len(wanted)):
        if axis < 0 or old[axis] == 1:
            shape.append(m.padded(dim))
        elif old[axis] == dim:
            shape.append(x.tensor.shape[axis])
        else:
            return None
    return m.moved(node, x, ShapeAttrs(tuple(shape)), _right(len(old), len(wanted)))


def _right(rank: int, wanted: int) -> Mapping[int, int]:
    return {axis: axis + wanted - rank for axis in range(rank)}


def _reshape(m: Masking, node: Node, operands: Sequence[Value]) -> Sequence[Value] | None:
    """A padded axis stays one if as many elements come before it, and as many after."""
    (x,), old, new = operands, node.operands[0].tensor.shape, node.attrs_as(ShapeAttrs).shape
    kept = {axis: _same_place(old, new, axis) for axis in m.padded_axes(x)}
    results = {result: axis for axis, result in kept.items() if result is not None}
    if len(results) < len(kept):
        return None
    shape = tuple(
        x.tensor.shape[results[axis]] if axis in results else m.exact(dim)
        for axis, dim in enumerate(new)
    )
    places = {axis: result for result, axis in results.items()}
    return m.moved(node, x, ShapeAttrs(shape), places)


def _same_place(old: Sequence[Dim], new: Sequence[Dim], axis: int) -> int | None:
    sides = product(old[:axis]), product(old[axis + 1 :])
    for other, dim in enumerate(new):
        if dim == old[axis] and (product(new[:other]), product(new[other + 1 :])) == sides:
            return other
    return None


def _slice(m: Masking, node: Node, operands: Sequence[Value]) -> Sequence[Value]:
    """Bounds are counted from the begin, so that padding is behind them; one that speaks of the
    end speaks of the valid one."""
    attrs, (x,), old = node.attrs_as(SliceAttrs), operands, node.operands[0].tensor.shape
    starts, stops = list(map(m.exact, attrs.starts)), list(map(m.exact, attrs.stops))
    places: dict[int, int] = {}
    for axis in m.padded_axes(x):
        start, stop = attrs.starts[axis], attrs.stops[axis]
        if m.is_padded(start) or m.padded(stop) != stop:
            continue
        starts[axis] = start
        stops[axis] = x.tensor.shape[axis] if stop == old[axis] else stop
        places[axis] = axis
    new = SliceAttrs(tuple(starts), tuple(stops), attrs.steps)
    return m.moved(node, x, new, places)


def _pad(m: Masking, node: Node, operands: Sequence[Value]) -> Sequence[Value] | None:
    """What comes behind the axis comes behind what is valid of it."""
    (x, fill), attrs = operands, node.attrs_as(PadAttrs)
    for axis in m.padded_axes(x):
        low, high = attrs.low[axis], attrs.high[axis]
        if m.is_padded(low) or m.is_padded(high):
            return None
        if high != 0:
            m.note(node, True, f"{m.axis_name(x, axis)}: x is what is padded with in the padding")
            x = m.filled(x, axis, fill)
    bounds = PadAttrs(tuple(map(m.exact, attrs.low)), tuple(map(m.exact, attrs.high)))
    return m.b.node(node.op, (x, fill), bounds).results


def _windows(m: Masking, node: Node, operands: Sequence[Value]) -> Sequence[Value] | None:
    """The windows of what is valid lie inside of it; those behind see padding."""
    (x,), attrs, shape = operands, node.attrs_as(WindowsAttrs), operands[0].tensor.shape
    if any(map(m.is_padded, attrs.sizes)):
        return None
    first = len(shape) - len(attrs.counts)
    counts = tuple(
        m.padded(count) if m.is_padded(shape[first + n]) else m.exact(count)
        for n, count in enumerate(attrs.counts)
    )
    for axis in m.padded_axes(x):
        m.note(node, False, f"{m.axis_name(x, axis)}: windows lie inside what is valid, {NO_MASK}")
    return m.b.node(node.op, (x,), replace(attrs, counts=counts)).results


def _concat(m: Masking, node: Node, operands: Sequence[Value]) -> Sequence[Value]:
    """Along its axis padding may be behind the last part alone."""
    attrs = node.attrs_as(AxisAttrs)
    *before, last = operands
    parts = [*(m.cut(value, attrs.axis) for value in before), last]
    others = (axis for axis in range(last.tensor.rank) if axis != attrs.axis)
    links = [Link((axis,) * len(parts), axis) for axis in others]
    own = tuple([None] * len(before))
    links.append(Link((*own, attrs.axis), attrs.axis, Sees.BEFORE))
    return m.b.node(node.op, m.through(node, parts, links), attrs).results


def _gather(m: Masking, node: Node, operands: Sequence[Value]) -> Sequence[Value] | None:
    """An index in the padding is 0, so there must be something to find."""
    size = m.exact(node.operands[0].tensor.shape[node.attrs_as(AxisAttrs).axis])
    some = m.b.scope.proves(LessEqual(Dim.of(1), size)) is Answer.TRUE
    return m.linked(node, operands) if some or not m.padded_axes(operands[1]) else None


# --- counts ---------------------------------------------------------------------------------------


def _mean(m: Masking, node: Node, operands: Sequence[Value]) -> Sequence[Value]:
    """The sum of what is valid, divided by how much that is."""
    attrs, (x,), shape = node.attrs_as(ReduceAttrs), operands, node.operands[0].tensor.shape
    links = reduction_mixing(add)([shape], attrs)
    if not any(axis in attrs.axes for axis in m.padded_axes(x)):
        return m.b.node(node.op, m.through(node, operands, links), attrs).results
    (filled,) = m.through(node, operands, links)
    wide = Expr(m.b, filled).wide()
    total = wide.apply("sum", axes=attrs.axes, keepdims=attrs.keepdims)
    count = m.exact(product(shape[axis] for axis in attrs.axes))
    return ((total / size(m.b, count, wide.dtype)).cast(x.tensor.dtype).value,)


def _norm(m: Masking, node: Node, operands: Sequence[Value]) -> Sequence[Value] | None:
    """Over a padded axis it is what it is made of: means, which count."""
    first = node.attrs_as(NormAttrs).axis
    if all(axis < first for axis in m.padded_axes(operands[0])):
        return m.linked(node, operands)
    return m.decomposed(node, operands)


# --- attention ------------------------------------------------------------------------------------


def _attention(m: Masking, node: Node, operands: Sequence[Value]) -> Sequence[Value] | None:
    """Keys in the padding are hidden by one more mask, and values there are 0.

    Where causality hides them already, no mask is added: a valid query sees valid keys alone.
    """
    attrs = node.attrs_as(AttentionAttrs)
    q, k = (value.tensor.shape for value in node.operands[:2])
    if m.is_padded(operands[0].tensor.shape[-1]) or m.is_padded(operands[1].tensor.shape[-1]):
        return None  # scores are scaled by the width
    new = list(m.through(node, operands, _attention_links(node)))
    queries, keys = (value.tensor.shape[-2] for value in new[:2])
    sight = _sight(m, attrs, keys - queries, m.exact(k[-2] - q[-2]))
    if m.is_padded(keys):
        axis = m.axis_name(new[1], new[1].tensor.rank - 2)
        new[2] = m.filled(new[2], new[2].tensor.rank - 2, 0.0)
        m.note(node, True, f"{axis}: values are 0 in the padding")
        if _is_hidden(m, sight, q[-2], k[-2]):
            m.note(node, False, f"{axis}: causality hides keys in the padding, {NO_MASK}")
        elif attrs.hidden != -math.inf or (_has_bounds(attrs) and not _hides(attrs)):
            return m.decomposed(node, operands)
        else:
            m.note(node, True, f"{axis}: keys in the padding are hidden by a mask")
            place = iota(m.b, (keys,), 0, i64)
            mask = place.apply("lt", Expr(m.b, m.b.emit("dim_value", value=m.exact(keys))))
            new.insert(len(new) - has_sink(attrs), mask.value)
    return m.b.node(node.op, new, sight).results


def _attention_links(node: Node) -> Sequence[Link]:
    """Batches and queries are each for themselves, keys go together. Heads are seen whole."""
    rank, others = node.operands[0].tensor.rank, node.operands[3:]
    none = (None,) * len(others)

    def masks(axis: int) -> tuple[int | None, ...]:
        """The axis of each mask that goes along an axis of scores, counted from the end."""
        shapes = [value.tensor.shape for value in others]
        return tuple(len(s) + axis if len(s) >= -axis and s[axis] != 1 else None for s in shapes)

    links = [
        Link((rank - 2, None, None, *masks(-2)), rank - 2),
        Link((None, rank - 2, rank - 2, *masks(-1)), None, Sees.HIDDEN),
        Link((None, None, rank - 1, *none), rank - 1),
    ]
    return [*links, Link((0, 0, 0, *masks(-rank)), 0)] if rank > 2 else links


def _has_bounds(attrs: AttentionAttrs) -> bool:
    return attrs.causal != "none" or attrs.low is not None or attrs.high is not None


def _hides(attrs: AttentionAttrs) -> bool:
    """Whether a score that is hidden stays so where bounds hide it too."""
    return attrs.adds or attrs.outside == -math.inf


def _sight(m: Masking, attrs: AttentionAttrs, more: Dim, valid: Dim) -> AttentionAttrs:
    """The same bounds between valid queries and keys; so many `more` keys there are than queries,
    of which the `valid` ones count."""
    low = None if attrs.low is None else m.exact(attrs.low)
    if attrs.causal == "bottom_right" and more != valid:
        return replace(attrs, causal="none", low=low, high=valid)
    high = None if attrs.high is None else m.exact(attrs.high)
    return replace(attrs, low=low, high=high)


def _is_hidden(m: Masking, attrs: AttentionAttrs, queries: Dim, keys: Dim) -> bool:
    """Whether the last valid query sees no key behind the last valid one."""
    last = attrs.last(m.exact(queries), m.exact(keys))
    if last is None or attrs.adds or attrs.outside != -math.inf:
        return False
    behind = LessEqual(m.exact(queries) + last, m.exact(keys))
    return m.b.scope.proves(behind) is Answer.TRUE


FORMS: Final[Mapping[str, Form]] = {
    "iota": _iota,
    "broadcast": _broadcast,
    "reshape": _reshape,
    "slice": _slice,
    "pad": _pad,
    "windows": _windows,
    "concat": _concat,
    "gather": _gather,
    "take_along": _gather,
    "mean": _mean,
    "layer_norm": _norm,
    "rms_norm": _norm,
    "attention": _attention,
}
"""By the name of the op; others are masked by what their entries say of their axes."""
