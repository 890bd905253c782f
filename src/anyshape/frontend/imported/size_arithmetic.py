"""Arithmetic on elements that sizes decide: one rule per op, for one element of its result.

Comparisons are decided by facts, or unknown; a choice by an unknown condition is known where both
sides are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from anyshape.frontend.builder.tracer import Tracer
from anyshape.frontend.imported.size_elements import Element, Known, Rule, as_dim, known_only
from anyshape.ir.opdef import AnyOp
from anyshape.ir.types import DType, bool_
from anyshape.ops import cumulative
from anyshape.ops import elementwise as ew
from anyshape.ops import reduce as reductions
from anyshape.sym import Dim, Equal, NotEqual, Predicate, maximum, minimum, product


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


ON_ELEMENTS: dict[AnyOp, Rule] = {
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

ON_ROWS: dict[AnyOp, Rule] = {
    reductions.sum_: _dims(_sum), reductions.prod: _dims(_product),
    reductions.max_: _dims(_greatest, by_facts=True),
    reductions.min_: _dims(_least, by_facts=True),
}  # fmt: skip
ON_PREFIXES: dict[AnyOp, Rule] = {
    cumulative.cumsum: _dims(_sum), cumulative.cumprod: _dims(_product),
    cumulative.cummax: _dims(_greatest, by_facts=True),
    cumulative.cummin: _dims(_least, by_facts=True),
}  # fmt: skip
NEVER_EMPTY: frozenset[AnyOp] = frozenset(
    {reductions.max_, reductions.min_, cumulative.cummax, cumulative.cummin}
)
"""What is no size where there is nothing to reduce."""
