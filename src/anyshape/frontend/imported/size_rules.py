"""What ops do to tensors that hold sizes.

Movement ops place elements of any kind, so their own definitions place dims too. Arithmetic on
dims is a table. Comparisons are decided by facts, or unknown; a choice by an unknown condition is
known where both sides are the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import NoReturn, cast

import numpy as np

from anyshape.base.errors import EvaluationError
from anyshape.frontend.builder.tracer import Tracer
from anyshape.frontend.imported.size_elements import (
    Element,
    Elements,
    Known,
    Rule,
    applied,
    array_of,
    as_dim,
    flat,
    known_only,
    mapped,
)
from anyshape.ir.attrs import attr_dims
from anyshape.ir.literal import TensorLiteral, WeightStore
from anyshape.ir.node import Node, Value
from anyshape.ir.opdef import AnyOp, Call
from anyshape.ir.types import Array, DType, bool_, i64
from anyshape.ops import elementwise as ew
from anyshape.ops import indexing, movement, source
from anyshape.ops import reduce as reductions
from anyshape.sym import Dim, Equal, NotEqual, Predicate, maximum, minimum, product

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
    if node.op in _ON_ELEMENTS:
        return mapped(_ON_ELEMENTS[node.op], tracer, dtype, known)
    if node.op in _ON_ROWS:
        return _reduced(tracer, value, known[0])
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


# --- arithmetic -----------------------------------------------------------------------------------


def _dims(function: Callable[..., Dim], *, by_facts: bool = False) -> Rule:
    """A function of dims, all of which must be known; one that asks facts gets the tracer too."""

    def rule(tracer: Tracer, dtype: DType, operands: Known) -> Element | None:
        known = known_only(operands)
        if len(known) < len(operands) or dtype == bool_:
            return None
        dims = map(as_dim, known)
        return Element(function(tracer, *dims) if by_facts else function(*dims), dtype, known)

    return rule


def _quotient(function: Callable[[Dim, Dim], Dim]) -> Rule:
    def rule(tracer: Tracer, dtype: DType, operands: Known) -> Element | None:
        left, right = operands
        if left is None or right is None or as_dim(right).constant == 0:
            return None
        divisor = as_dim(right)
        return Element(function(as_dim(left), divisor), dtype, (left, right), divisor)

    return rule


def _greatest(tracer: Tracer, first: Dim, *others: Dim) -> Dim:
    """One of the dims where the facts decide."""

    def greater(left: Dim, right: Dim) -> Dim:
        if tracer.proves(left >= right):
            return left
        return right if tracer.proves(left <= right) else maximum(left, right)

    return reduce(greater, others, first)


def _least(tracer: Tracer, first: Dim, *others: Dim) -> Dim:
    def lesser(left: Dim, right: Dim) -> Dim:
        if tracer.proves(left <= right):
            return left
        return right if tracer.proves(left >= right) else minimum(left, right)

    return reduce(lesser, others, first)


def _magnitude(tracer: Tracer, dim: Dim) -> Dim:
    return _greatest(tracer, dim, -dim)


def _sign(tracer: Tracer, dim: Dim) -> Dim:
    return _least(tracer, _greatest(tracer, dim, Dim.of(-1)), Dim.of(1))


def _sum(*dims: Dim) -> Dim:
    return sum(dims, Dim.of(0))


def _product(*dims: Dim) -> Dim:
    return product(dims)


def _converted(tracer: Tracer, dtype: DType, operands: Known) -> Element | None:
    (operand,) = operands
    if operand is None:
        return None
    if dtype != bool_:
        return Element(as_dim(operand), dtype, (operand,))
    nonzero = _decided(tracer, NotEqual(as_dim(operand), Dim.of(0)))
    return None if nonzero is None else Element(nonzero, dtype, (operand,))


# --- conditions -----------------------------------------------------------------------------------


def _decided(tracer: Tracer, predicate: Predicate) -> bool | None:
    if tracer.proves(predicate):
        return True
    opposite = predicate.negation
    return False if opposite is not None and tracer.proves(opposite) else None


def _comparison(relation: Callable[[Dim, Dim], Predicate]) -> Rule:
    def rule(tracer: Tracer, dtype: DType, operands: Known) -> Element | None:
        left, right = operands
        if left is None or right is None:
            return None
        truth = _decided(tracer, relation(as_dim(left), as_dim(right)))
        return None if truth is None else Element(truth, dtype, (left, right))

    return rule


def _deciding(by: bool) -> Rule:
    """`and` is decided by one operand that is False, `or` by one that is True."""

    def rule(tracer: Tracer, dtype: DType, operands: Known) -> Element | None:
        for operand in operands:
            if operand is not None and operand.number is by:
                return Element(by, dtype, (operand,))
        known = known_only(operands)
        return Element(not by, dtype, known) if len(known) == len(operands) else None

    return rule


def _not(tracer: Tracer, dtype: DType, operands: Known) -> Element | None:
    (operand,) = operands
    return None if operand is None else Element(not operand.number, dtype, (operand,))


def _select(tracer: Tracer, dtype: DType, operands: Known) -> Element | None:
    condition, on_true, on_false = operands
    if condition is not None:
        taken = on_true if condition.number else on_false
        return None if taken is None else Element(taken.number, dtype, (condition, taken))
    if on_true is None or on_false is None or on_true.number != on_false.number:
        return None
    return Element(on_true.number, dtype, (on_true, on_false))


_ON_ELEMENTS: dict[AnyOp, Rule] = {
    ew.add: _dims(Dim.__add__), ew.sub: _dims(Dim.__sub__), ew.mul: _dims(Dim.__mul__),
    ew.neg: _dims(Dim.__neg__),
    ew.abs_: _dims(_magnitude, by_facts=True), ew.sign: _dims(_sign, by_facts=True),
    ew.maximum: _dims(_greatest, by_facts=True), ew.minimum: _dims(_least, by_facts=True),
    ew.floordiv: _quotient(Dim.__floordiv__), ew.mod: _quotient(Dim.__mod__),
    ew.cast: _converted, ew.select: _select, ew.logical_not: _not,
    ew.logical_and: _deciding(by=False), ew.logical_or: _deciding(by=True),
    ew.eq: _comparison(Equal), ew.ne: _comparison(NotEqual),
    ew.lt: _comparison(Dim.__lt__), ew.le: _comparison(Dim.__le__),
    ew.gt: _comparison(Dim.__gt__), ew.ge: _comparison(Dim.__ge__),
}  # fmt: skip


# --- reductions -----------------------------------------------------------------------------------

_ON_ROWS: dict[AnyOp, Rule] = {
    reductions.sum_: _dims(_sum), reductions.prod: _dims(_product),
    reductions.max_: _dims(_greatest, by_facts=True),
    reductions.min_: _dims(_least, by_facts=True),
}  # fmt: skip
NEVER_EMPTY: frozenset[AnyOp] = frozenset({reductions.max_, reductions.min_})
"""Reductions that are no size where there is nothing to reduce."""


def _reduced(tracer: Tracer, value: Value, elements: Elements) -> Elements | None:
    axes = cast(reductions.ReduceAttrs, value.node.attrs).axes
    kept = [axis for axis in range(elements.ndim) if axis not in axes]
    shape = _static(tracer, value)
    length = math.prod(elements.shape[axis] for axis in axes)
    if length == 0 and value.node.op in NEVER_EMPTY:
        return None
    rows = elements.transpose(*kept, *axes).reshape(math.prod(shape), length)
    rule, dtype = _ON_ROWS[value.node.op], value.tensor.dtype
    return array_of((applied(rule, tracer, dtype, flat(row)) for row in rows), shape)
