"""Scatter ops: a copy of the operand, then one update after the other.

    task: some places of all axes but the one that is written along
      for n < size of the axis         y[n] = x[n]
      for m < number of indices        y[index[m]] = combined(y[index[m]], updates[m])

Updates to one place are made in order by one task. An index outside the axis writes nothing: the
element at the nearest place gets its own value again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

from anyshape.ir.node import Node, Value
from anyshape.ir.opdef import ParamAttrs
from anyshape.ir.types import bool_
from anyshape.loop import (
    Apply,
    Bind,
    Buffer,
    For,
    Let,
    Load,
    Local,
    Number,
    Scalar,
    Statement,
    Store,
)
from anyshape.loop.ir import Index
from anyshape.loop.merge import flattened
from anyshape.lower import notation
from anyshape.lower.context import Lowering, wide_of
from anyshape.lower.row import STRIP_WIDTH
from anyshape.lower.tasks import Indices, Work, of_strip, one_each, strips
from anyshape.ops.scatter import ScatterAttrs
from anyshape.sym import Dim, Symbol, maximum, minimum, product

COMBINE = {"add": "add", "mul": "mul", "max": "maximum", "min": "minimum"}
PLACE, OLD, FOUND = Symbol("r"), Symbol("n"), "found"

Body = tuple[Statement, ...]


class _Buffers(NamedTuple):
    x: Buffer
    indices: Buffer
    updates: Buffer
    y: Buffer


def scatter_node(nodes: Sequence[Node]) -> Node | None:
    """The scatter of a region, which then has nothing else."""
    return next((node for node in nodes if isinstance(node.attrs, ScatterAttrs)), None)


def scatter_work(low: Lowering, outputs: Sequence[Buffer], space: Indices, node: Node) -> Work:
    """`space` are the indices of the result."""
    attrs = cast(ScatterAttrs, node.attrs)
    x, indices, updates = (_buffer(low, value) for value in node.operands)
    buffers = _Buffers(x, indices, updates, outputs[0])
    axis = attrs.axis
    others = (*space[:axis], *space[axis + 1 :])
    copy = _copy(buffers, space, axis)
    along = node.op.name == "scatter_along"
    update = (_update_elements if along else _update_slices)(buffers, space, attrs)
    body = flattened((copy, *update))
    if axis == len(space) - 1 or not _is_uniform(buffers, along):
        return one_each(others, body)
    last = others[-1]
    outer = (*others[:-1], strips(last, STRIP_WIDTH))
    return one_each(outer, (of_strip(last, STRIP_WIDTH, body),))


def _buffer(low: Lowering, value: Value) -> Buffer:
    return low.buffers[cast(ParamAttrs, value.node.attrs).index]


def _is_uniform(buffers: _Buffers, along: bool) -> bool:
    """Whether all places of the last axis have the same number of updates."""
    return not along or buffers.indices.shape[-1] == buffers.y.shape[-1]


def _copy(buffers: _Buffers, space: Indices, axis: int) -> Statement:
    place, is_last = _at(space, axis, Dim.of(OLD)), axis == len(space) - 1
    store = Store(buffers.y, place, Load(buffers.x, place))
    return For(OLD, space[axis][1], (store,), vector=is_last)


def _at(space: Indices, axis: int, index: Dim) -> Index:
    places = [Dim.of(symbol) for symbol, _ in space]
    return (*places[:axis], index, *places[axis + 1 :])


def _update_slices(buffers: _Buffers, space: Indices, attrs: ScatterAttrs) -> Body:
    """An index for a whole slice: the axes of the indices stand where the axis was."""
    axis, shape = attrs.axis, buffers.indices.shape
    chosen = tuple(Symbol(f"m{i}") for i in range(len(shape)))
    index = tuple(map(Dim.of, chosen))
    places = [Dim.of(symbol) for symbol, _ in space]
    source = (*places[:axis], *index, *places[axis + 1 :])
    body = _update(buffers, space, attrs, index, source)
    for symbol, extent in reversed(list(zip(chosen, shape, strict=True))):
        body = (For(symbol, extent, body),)
    return body


def _update_elements(buffers: _Buffers, space: Indices, attrs: ScatterAttrs) -> Body:
    """An index for each element; where the indices do not reach, there is nothing to do."""
    axis, shape = attrs.axis, buffers.indices.shape
    chosen = Symbol("m")
    index = _at(space, axis, Dim.of(chosen))
    reached = product(
        maximum(0, minimum(1, size - Dim.of(symbol)))
        for (symbol, whole), size in zip(space, shape, strict=True)
        if (symbol, whole) != space[axis] and size != whole
    )
    return (For(chosen, shape[axis] * reached, _update(buffers, space, attrs, index, index)),)


def _update(
    buffers: _Buffers, space: Indices, attrs: ScatterAttrs, index: Index, source: Index
) -> Body:
    size = space[attrs.axis][1]
    found = Local(FOUND, buffers.indices.dtype)
    place = _at(space, attrs.axis, Dim.of(PLACE))
    old = Load(buffers.y, place)
    new = _combined(attrs.combine, old, Load(buffers.updates, source))
    value = Apply("select", (_inside(found), new, old), old.dtype)
    return (
        Let(found, Load(buffers.indices, index)),
        Bind(PLACE, found, size),
        Store(buffers.y, place, value),
    )


def _inside(found: Local) -> Scalar:
    """Whether the index was in its range: as a wide integer, it is the place itself."""
    place = Number(Dim.of(PLACE))
    return Apply("eq", (notation.cast(found, place.dtype), place), bool_)


def _combined(combine: str, old: Scalar, new: Scalar) -> Scalar:
    """Rounded once, to the dtype of the result."""
    if combine == "set":
        return new
    wide = wide_of(old.dtype)
    both = (notation.cast(x, wide) for x in (old, new))
    return notation.cast(notation.apply(COMBINE[combine], *both), old.dtype)
