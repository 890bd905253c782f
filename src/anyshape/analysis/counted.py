"""Integer tensors that count along their axes: elements are a sum of indices times factors.

    iota [n, m] along axis 1            0*i + 1*j + 0
    iota[1:] - iota[:-1]                0*i + 1         a number, the same at every position
    concat(-1, iota)                    1*i - 1

Factors and offset are dims, so what is found holds at every size, 0 and 1 included. Along an axis
of size 1 the factor is 0. Only i64 counts, and only in numbers so small that no size makes them
wrap; truths are 0 and 1, and the same everywhere or not known. What is not known is None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from anyshape.analysis.constants import is_number
from anyshape.ir.literal import TensorLiteral
from anyshape.ir.node import Node
from anyshape.ir.opdef import AnyOp
from anyshape.ir.types import Shape, bool_, i64
from anyshape.ops import cumulative, elementwise, indexing, movement, source
from anyshape.sym import Answer, Dim, Equal, FactScope, NotEqual, Predicate

ZERO: Final = Dim.of(0)

MOST: Final = 2**31
"""Greater coefficients, times an axis of as many elements, might wrap."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The element at index i is `offset` and the sum of `factors[axis] * i[axis]`."""

    factors: tuple[Dim, ...]
    offset: Dim

    @property
    def number(self) -> Dim | None:
        """What all elements are, if they are the same."""
        return None if any(factor != ZERO for factor in self.factors) else self.offset


def same(number: Dim | int, rank: int) -> Counted:
    """One number everywhere."""
    return Counted((ZERO,) * rank, Dim.of(number))


Known = Sequence[Counted | None]


def counted(node: Node, operands: Known, scope: FactScope) -> Counted | None:
    """What is known of a node's only result, from what is known of its operands."""
    rule = RULES.get(node.op)
    if rule is None or node.result().tensor.dtype not in (i64, bool_):
        return None
    found = rule(node, operands, scope)
    if found is None:
        return None
    shape = node.result().tensor.shape
    factors = (ZERO if size == 1 else f for f, size in zip(found.factors, shape, strict=True))
    small = Counted(tuple(factors), found.offset)
    return small if all(map(_cannot_wrap, (*small.factors, small.offset))) else None


def _cannot_wrap(dim: Dim) -> bool:
    """A size times a number: a product of several sizes may be more than i64 holds."""
    terms = ((sum(power for _, power in monomial), by) for monomial, by in dim.terms)
    return all(degree <= 1 and abs(by) < MOST for degree, by in terms)


# --- sources --------------------------------------------------------------------------------------


def _constant(node: Node, operands: Known, scope: FactScope) -> Counted | None:
    content = node.attrs_as(source.ConstantAttrs).value
    if not is_number(node) or not isinstance(content, TensorLiteral):
        return None
    return same(int(content.array.item()), node.result().tensor.rank)


def _iota(node: Node, operands: Known, scope: FactScope) -> Counted:
    attrs = node.attrs_as(source.IotaAttrs)
    factors = (Dim.of(int(axis == attrs.axis)) for axis in range(len(attrs.shape)))
    return Counted(tuple(factors), ZERO)


def _dim_value(node: Node, operands: Known, scope: FactScope) -> Counted:
    return same(scope.resolve(node.attrs_as(source.DimAttrs).value), 0)


# --- movements ------------------------------------------------------------------------------------


def _broadcast(node: Node, operands: Known, scope: FactScope) -> Counted | None:
    return _aligned(node, 0, operands[0])


def _aligned(node: Node, operand: int, known: Counted | None) -> Counted | None:
    """An operand in the result's axes. Where it may be repeated it must not count."""
    if known is None:
        return None
    full, own = node.result().tensor.shape, node.operands[operand].tensor.shape
    padded = (ZERO,) * (len(full) - len(own))
    whole = full[len(padded) :]
    if any(f != ZERO and a != b for f, a, b in zip(known.factors, own, whole, strict=True)):
        return None
    return Counted((*padded, *known.factors), known.offset)


def _reshape(node: Node, operands: Known, scope: FactScope) -> Counted | None:
    """Axes of size 1 come and go."""
    (known,) = operands
    shape, old = node.result().tensor.shape, node.operands[0].tensor.shape
    if known is None:
        return None
    if known.number is not None:
        return same(known.number, len(shape))
    if _long(shape) != _long(old):
        return None
    factors = iter([f for f, size in zip(known.factors, old, strict=True) if size != 1])
    return Counted(tuple(ZERO if size == 1 else next(factors) for size in shape), known.offset)


def _long(shape: Shape) -> list[Dim]:
    return [size for size in shape if size != 1]


def _transpose(node: Node, operands: Known, scope: FactScope) -> Counted | None:
    (known,) = operands
    perm = node.attrs_as(movement.TransposeAttrs).perm
    return known and Counted(tuple(known.factors[axis] for axis in perm), known.offset)


def _slice(node: Node, operands: Known, scope: FactScope) -> Counted | None:
    (known,) = operands
    if known is None:
        return None
    attrs, offset = node.attrs_as(movement.SliceAttrs), known.offset
    for factor, start in zip(known.factors, attrs.starts, strict=True):
        offset = offset + factor * start
    steps = zip(known.factors, attrs.steps, strict=True)
    return Counted(tuple(factor * step for factor, step in steps), offset)


def _concat(node: Node, operands: Known, scope: FactScope) -> Counted | None:
    """Parts that go on counting where the one before stops."""
    axis = node.attrs_as(movement.AxisAttrs).axis
    parts = [known for known in operands if known is not None]
    if len(parts) < len(operands):
        return None
    sizes = [value.tensor.shape[axis] for value in node.operands]
    steps = {p.factors[axis] for p, size in zip(parts, sizes, strict=True) if size != 1}
    if len(steps) != 1:
        return None
    (step,) = steps
    first, start = parts[0], ZERO
    for part, size in zip(parts, sizes, strict=True):
        others = part.factors[:axis] == first.factors[:axis]
        others = others and part.factors[axis + 1 :] == first.factors[axis + 1 :]
        if not others or part.offset != first.offset + step * start:
            return None
        start = start + size
    return Counted((*first.factors[:axis], step, *first.factors[axis + 1 :]), first.offset)


def _gather(node: Node, operands: Known, scope: FactScope) -> Counted | None:
    """Any elements of a tensor of one number."""
    number = None if operands[0] is None else operands[0].number
    return None if number is None else same(number, node.result().tensor.rank)


# --- arithmetic -----------------------------------------------------------------------------------


def _pair(node: Node, operands: Known) -> tuple[Counted, Counted] | None:
    left, right = (_aligned(node, index, known) for index, known in enumerate(operands))
    return None if left is None or right is None else (left, right)


def _sum(left: Counted, right: Counted, sign: int) -> Counted:
    factors = zip(left.factors, right.factors, strict=True)
    return Counted(tuple(a + sign * b for a, b in factors), left.offset + sign * right.offset)


def _add(node: Node, operands: Known, scope: FactScope) -> Counted | None:
    pair = _pair(node, operands) if node.result().tensor.dtype == i64 else None
    return pair and _sum(*pair, 1)


def _sub(node: Node, operands: Known, scope: FactScope) -> Counted | None:
    pair = _pair(node, operands) if node.result().tensor.dtype == i64 else None
    return pair and _sum(*pair, -1)


def _mul(node: Node, operands: Known, scope: FactScope) -> Counted | None:
    pair = _pair(node, operands) if node.result().tensor.dtype == i64 else None
    if pair is None:
        return None
    known, factor = pair if pair[1].number is not None else pair[::-1]
    if (by := factor.number) is None:
        return None
    return Counted(tuple(each * by for each in known.factors), known.offset * by)


def _cast(node: Node, operands: Known, scope: FactScope) -> Counted | None:
    """Of truths, or to the same type."""
    return operands[0] if node.result().tensor.dtype == i64 else None


def _cumsum(node: Node, operands: Known, scope: FactScope) -> Counted | None:
    attrs, known = node.attrs_as(cumulative.CumulativeAttrs), operands[0]
    number = known and known.number
    if number is None or attrs.reverse:
        return None
    factors = list(same(0, node.result().tensor.rank).factors)
    factors[attrs.axis] = number
    # Along an axis of size 1 the factor is dropped: its only element is the first.
    return Counted(tuple(factors), ZERO if attrs.exclusive else number)


# --- truths ---------------------------------------------------------------------------------------


def _compared(node: Node, operands: Known, scope: FactScope) -> Counted | None:
    """Whether numbers that are the same distance apart everywhere compare so."""
    pair = _pair(node, operands)
    apart = pair and _sum(*pair, -1).number
    if apart is None:
        return None
    answer = scope.proves(_COMPARISONS[node.op](apart))
    if answer is Answer.UNKNOWN:
        return None
    return same(int(answer is Answer.TRUE), node.result().tensor.rank)


_COMPARISONS: Final[Mapping[AnyOp, Callable[[Dim], Predicate]]] = {
    elementwise.eq: lambda apart: Equal(apart, ZERO),
    elementwise.ne: lambda apart: NotEqual(apart, ZERO),
    elementwise.le: lambda apart: apart <= ZERO,
    elementwise.lt: lambda apart: apart < ZERO,
    elementwise.ge: lambda apart: apart >= ZERO,
    elementwise.gt: lambda apart: apart > ZERO,
}


def _both(node: Node, operands: Known, scope: FactScope) -> Counted | None:
    return _decided(node, operands, 0)


def _either(node: Node, operands: Known, scope: FactScope) -> Counted | None:
    return _decided(node, operands, 1)


def _decided(node: Node, operands: Known, deciding: int) -> Counted | None:
    """One operand decides alone, or both are the other truth."""
    numbers = [known and known.number for known in operands]
    rank = node.result().tensor.rank
    if Dim.of(deciding) in numbers:
        return same(deciding, rank)
    return None if None in numbers else same(1 - deciding, rank)


def _not(node: Node, operands: Known, scope: FactScope) -> Counted | None:
    (known,) = operands
    number = known and known.number
    return None if number is None else same(1 - number, node.result().tensor.rank)


Rule = Callable[[Node, Known, FactScope], Counted | None]

RULES: Final[Mapping[AnyOp, Rule]] = {
    source.constant: _constant, source.iota: _iota, source.dim_value: _dim_value,
    movement.broadcast: _broadcast, movement.reshape: _reshape, movement.transpose: _transpose,
    movement.slice_: _slice, movement.concat: _concat, indexing.gather: _gather,
    elementwise.add: _add, elementwise.sub: _sub, elementwise.mul: _mul, elementwise.cast: _cast,
    cumulative.cumsum: _cumsum,
    **dict.fromkeys(_COMPARISONS, _compared),
    elementwise.logical_and: _both, elementwise.logical_or: _either,
    elementwise.logical_not: _not,
}  # fmt: skip
