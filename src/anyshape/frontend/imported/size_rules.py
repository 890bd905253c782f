"""What ops do to tensors that hold sizes.

Movement ops place elements of any kind, so their own definitions place dims too. What elements
become by arithmetic is in `size_arithmetic`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NoReturn, cast

import numpy as np

from anyshape.base.errors import EvaluationError
from anyshape.frontend.builder.tracer import Tracer
from anyshape.frontend.imported.size_arithmetic import (
    NEVER_EMPTY,
    ON_ELEMENTS,
    ON_PREFIXES,
    ON_ROWS,
)
from anyshape.frontend.imported.size_elements import (
    Element,
    Elements,
    applied,
    array_of,
    as_dim,
    flat,
    mapped,
)
from anyshape.ir.attrs import attr_dims
from anyshape.ir.literal import TensorLiteral, WeightStore
from anyshape.ir.node import Node, Value
from anyshape.ir.opdef import AnyOp, Call
from anyshape.ir.types import Array, DType, bool_, i64
from anyshape.ops import cumulative, indexing, movement, source
from anyshape.ops import reduce as reductions
from anyshape.sym import Dim

MOVEMENT: frozenset[AnyOp] = frozenset(
    {movement.reshape, movement.transpose, movement.broadcast, movement.reverse, movement.slice_}
    | {movement.concat, movement.pad, indexing.gather, indexing.take_along}
)
CHOOSING: frozenset[AnyOp] = frozenset({indexing.gather, indexing.take_along})
"""Movement ops whose second operand says which elements."""

OF_TYPES: frozenset[AnyOp] = frozenset({source.shape_of, source.dim_of})
"""Ops that read the shape of an operand and no element."""


def read_operands(node: Node) -> tuple[Value, ...]:
    """The operands whose elements a rule needs."""
    return () if node.op in OF_TYPES else node.operands


def elements_of(tracer: Tracer, value: Value, operands: Sequence[Elements | None]) -> Elements:
    """The elements of a value with a static shape, from those of its operands that have one."""
    elements = _by_rule(tracer, value, operands)
    return np.full(_static(tracer, value), None, object) if elements is None else elements


def _by_rule(tracer: Tracer, value: Value, operands: Sequence[Elements | None]) -> Elements | None:
    node, dtype = value.node, value.tensor.dtype
    if node.op in _SOURCES:
        return _SOURCES[node.op](tracer, value)
    known = [operand for operand in operands if operand is not None]
    if len(known) < len(operands):
        return None
    if node.op in MOVEMENT:
        return _moved(node, known)
    if node.op in ON_ELEMENTS:
        return mapped(ON_ELEMENTS[node.op], tracer, dtype, known)
    if node.op in ON_ROWS:
        return _reduced(tracer, value, known[0])
    if node.op in ON_PREFIXES:
        return _accumulated(tracer, value, known[0])
    return None


# --- sources --------------------------------------------------------------------------------------


def _constant(tracer: Tracer, value: Value) -> Elements | None:
    literal = cast(source.ConstantAttrs, value.node.attrs).value
    if not isinstance(literal, TensorLiteral):
        return None
    return _numbers(literal.array, literal.dtype)


def _numbers(array: Array, dtype: DType) -> Elements:
    numbers = (bool(n) if dtype == bool_ else Dim.of(int(n)) for n in array.flat)
    return array_of((Element(number, dtype) for number in numbers), array.shape)


def _dim_value(tracer: Tracer, value: Value) -> Elements:
    return array_of([Element(cast(source.DimAttrs, value.node.attrs).value, i64)], ())


def _shape_of(tracer: Tracer, value: Value) -> Elements:
    shape = _shape(tracer, value.node.operands[0])
    return array_of([Element(dim, i64) for dim in shape], (len(shape),))


def _dim_of(tracer: Tracer, value: Value) -> Elements:
    axis = cast(movement.AxisAttrs, value.node.attrs).axis
    return array_of([Element(_shape(tracer, value.node.operands[0])[axis], i64)], ())


def _iota(tracer: Tracer, value: Value) -> Elements:
    shape = _static(tracer, value)
    axis = cast(source.IotaAttrs, value.node.attrs).axis
    return _numbers(np.indices(shape)[axis], value.tensor.dtype)


_SOURCES: dict[AnyOp, Callable[[Tracer, Value], Elements | None]] = {
    source.constant: _constant, source.dim_value: _dim_value, source.shape_of: _shape_of,
    source.dim_of: _dim_of, source.iota: _iota,
}  # fmt: skip


def _shape(tracer: Tracer, value: Value) -> tuple[Dim, ...]:
    return tuple(map(tracer.builder.scope.resolve, value.tensor.shape))


def _static(tracer: Tracer, value: Value) -> tuple[int, ...]:
    return tuple(map(int, _shape(tracer, value)))


# --- movement -------------------------------------------------------------------------------------


def _moved(node: Node, operands: list[Elements]) -> Elements | None:
    """The op's own definition, on elements; indices that choose some must be constants."""
    if any(dim.constant is None for dim in attr_dims(node.attrs)) or node.op.reference is None:
        return None
    arguments: list[Array] = [*operands]
    if node.op in CHOOSING:
        indices = _integers(operands[1])
        if indices is None:
            return None
        arguments[1] = indices
    call = Call(node.attrs, tuple(arguments), node.types, WeightStore(), _no_region)
    try:
        return cast(Elements, np.asarray(node.op.reference(call), object))
    except EvaluationError:  # an index outside: that is for the call to say
        return None


def _integers(elements: Elements) -> Array | None:
    constants = [None if each is None else as_dim(each).constant for each in flat(elements)]
    if any(constant is None for constant in constants):
        return None
    return np.array(constants, np.int64).reshape(elements.shape)


def _no_region(number: int, arrays: Sequence[Array]) -> NoReturn:
    raise AssertionError("movement ops have no regions")


def _reduced(tracer: Tracer, value: Value, elements: Elements) -> Elements | None:
    axes = cast(reductions.ReduceAttrs, value.node.attrs).axes
    kept = [axis for axis in range(elements.ndim) if axis not in axes]
    shape = _static(tracer, value)
    length = math.prod(elements.shape[axis] for axis in axes)
    if length == 0 and value.node.op in NEVER_EMPTY:
        return None
    rows = elements.transpose(*kept, *axes).reshape(math.prod(shape), length)
    rule, dtype = ON_ROWS[value.node.op], value.tensor.dtype
    return array_of((applied(rule, tracer, dtype, flat(row)) for row in rows), shape)


def _accumulated(tracer: Tracer, value: Value, elements: Elements) -> Elements:
    """Each element is made of those up to its own, from the end that the op begins at."""
    attrs = cast(cumulative.CumulativeAttrs, value.node.attrs)
    rows = np.moveaxis(elements, attrs.axis, -1)
    turned = rows[..., ::-1] if attrs.reverse else rows
    sums = np.empty(turned.shape, object)
    for index in np.ndindex(turned.shape):
        *row, last = index
        before = flat(turned[(*row, slice(last + (not attrs.exclusive)))])
        sums[index] = _of_prefix(tracer, value, before)
    return np.moveaxis(sums[..., ::-1] if attrs.reverse else sums, -1, attrs.axis)


def _of_prefix(tracer: Tracer, value: Value, before: Sequence[Element | None]) -> Element | None:
    op = value.node.op
    if not before and op in NEVER_EMPTY:
        return None
    return applied(ON_PREFIXES[op], tracer, value.tensor.dtype, before)
