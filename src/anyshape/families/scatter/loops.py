"""Scatter ops: a copy of the operand, then one update after the other.

    task: some places of all axes but the one that is written along
      for n < size of the axis         y[n] = x[n]
      for m < number of indices        y[index[m]] = combined(y[index[m]], updates[m])

Updates to one place are made in order by one task. An index outside the axis writes nothing: the
element at the nearest place gets its own value again.

Sums and products of 16-bit floats are made in f32, in scratch that is as long as the axis: rounding
after each update would stop a sum of ones at 256 in bf16.

      for n < size of the axis         wide[n] = x[n]
      for m < number of indices        wide[index[m]] = combined(wide[index[m]], updates[m])
      for n < size of the axis         y[n] = wide[n]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from anyshape.ir.node import Node, Value
from anyshape.ir.opdef import param_index
from anyshape.ir.types import bool_, wide_of
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
from anyshape.lower.context import Lowering
from anyshape.lower.stores import STRIP_WIDTH
from anyshape.lower.tasks import INNER, Indices, Work, of_strip, one_each, strips
from anyshape.ops.known import SCATTER_ALONG
from anyshape.ops.scatter import COMBINE, Combine, ScatterAttrs
from anyshape.sym import Dim, Symbol, maximum, minimum, product

ROUNDING = frozenset({"add", "mul"})
PLACE, OLD, FOUND = Symbol("r"), Symbol("n"), "found"

Body = tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class _Target:
    """A buffer that is written to, and its index where the index along the axis is given."""

    buffer: Buffer
    at: Callable[[Dim], Index]

    def load(self, index: Dim) -> Load:
        return Load(self.buffer, self.at(index))

    def store(self, index: Dim, value: Scalar) -> Store:
        return Store(self.buffer, self.at(index), notation.cast(value, self.buffer.dtype))


class _Buffers(NamedTuple):
    x: Buffer
    indices: Buffer
    updates: Buffer
    y: Buffer


def scatter_work(low: Lowering, outputs: Sequence[Buffer], space: Indices, node: Node) -> Work:
    """`space` are the indices of the result."""
    attrs = node.attrs_as(ScatterAttrs)
    x, indices, updates = (_buffer(low, value) for value in node.operands)
    buffers = _Buffers(x, indices, updates, outputs[0])
    axis = attrs.axis
    others = (*space[:axis], *space[axis + 1 :])
    along = node.op is SCATTER_ALONG
    in_strips = axis < len(space) - 1 and _is_uniform(buffers, along)
    result = _Target(buffers.y, lambda index: _at(space, axis, index))
    target = _wide(buffers.y, space[axis][1], attrs.combine, in_strips=in_strips) or result
    update = (_update_elements if along else _update_slices)(buffers, space, attrs, target)
    body = (_copy(_Target(x, result.at), target, space, axis), *update)
    scratch: tuple[Buffer, ...] = ()
    if target is not result:
        body, scratch = (*body, _copy(target, result, space, axis)), (target.buffer,)
    if not in_strips:
        return replace(one_each(others, flattened(body)), scratch=scratch)
    last = others[-1]
    outer = (*others[:-1], strips(last, STRIP_WIDTH))
    loop = of_strip(last, STRIP_WIDTH, flattened(body))
    return replace(one_each(outer, (loop,)), scratch=scratch)


def _wide(y: Buffer, size: Dim, combine: Combine, *, in_strips: bool) -> _Target | None:
    """Scratch for what must not be rounded after each update; its columns are those of a strip."""
    wide = wide_of(y.dtype)
    if wide == y.dtype or combine not in ROUNDING:
        return None
    columns, column = (STRIP_WIDTH, Dim.of(INNER)) if in_strips else (1, Dim.of(0))
    buffer = Buffer("wide", wide, (size * columns,), (Dim.of(1),))
    return _Target(buffer, lambda index: (index * columns + column,))


def _buffer(low: Lowering, value: Value) -> Buffer:
    return low.buffers[param_index(value.node)]


def _is_uniform(buffers: _Buffers, along: bool) -> bool:
    """Whether all places of the last axis have the same number of updates."""
    return not along or buffers.indices.shape[-1] == buffers.y.shape[-1]


def _copy(source: _Target, target: _Target, space: Indices, axis: int) -> Statement:
    place, is_last = Dim.of(OLD), axis == len(space) - 1
    return For(OLD, space[axis][1], (target.store(place, source.load(place)),), vector=is_last)


def _at(space: Indices, axis: int, index: Dim) -> Index:
    places = [Dim.of(symbol) for symbol, _ in space]
    return (*places[:axis], index, *places[axis + 1 :])


def _update_slices(buffers: _Buffers, space: Indices, attrs: ScatterAttrs, target: _Target) -> Body:
    """An index for a whole slice: the axes of the indices stand where the axis was."""
    axis, shape = attrs.axis, buffers.indices.shape
    chosen = tuple(Symbol(f"m{i}") for i in range(len(shape)))
    index = tuple(map(Dim.of, chosen))
    places = [Dim.of(symbol) for symbol, _ in space]
    source = (*places[:axis], *index, *places[axis + 1 :])
    update = _Update(buffers, space[axis][1], attrs.combine, target)
    body = update.body(index, source)
    for symbol, extent in reversed(list(zip(chosen, shape, strict=True))):
        body = (For(symbol, extent, body),)
    return body


def _update_elements(
    buffers: _Buffers, space: Indices, attrs: ScatterAttrs, target: _Target
) -> Body:
    """An index for each element; where the indices do not reach, there is nothing to do."""
    axis, shape = attrs.axis, buffers.indices.shape
    chosen = Symbol("m")
    index = _at(space, axis, Dim.of(chosen))
    reached = product(
        maximum(0, minimum(1, size - Dim.of(symbol)))
        for (symbol, whole), size in zip(space, shape, strict=True)
        if (symbol, whole) != space[axis] and size != whole
    )
    update = _Update(buffers, space[axis][1], attrs.combine, target)
    return (For(chosen, shape[axis] * reached, update.body(index, index)),)


class _Update(NamedTuple):
    """What is done for one index."""

    buffers: _Buffers
    size: Dim  # of the axis
    combine: Combine
    target: _Target

    def body(self, index: Index, source: Index) -> Body:
        found, place = Local(FOUND, self.buffers.indices.dtype), Dim.of(PLACE)
        old = self.target.load(place)
        new = _combined(self.combine, old, Load(self.buffers.updates, source))
        value = Apply("select", (_inside(found), new, old), old.dtype)
        return (
            Let(found, Load(self.buffers.indices, index)),
            Bind(PLACE, found, self.size),
            self.target.store(place, value),
        )


def _inside(found: Local) -> Scalar:
    """Whether the index was in its range: as a wide integer, it is the place itself."""
    place = Number(Dim.of(PLACE))
    return Apply("eq", (notation.cast(found, place.dtype), place), bool_)


def _combined(combine: Combine, old: Scalar, new: Scalar) -> Scalar:
    """In the dtype of what is there, rounded once."""
    if combine == "set":
        return new
    wide = wide_of(old.dtype)
    both = (notation.cast(x, wide) for x in (old, new))
    return notation.cast(notation.apply(COMBINE[combine].name, *both), old.dtype)
