"""What frameworks refuse while they run: indices out of range, and integers divided by zero.

Where the range of the values is known, nothing is left to check. Where it depends on sizes alone,
such as `arange(seq)` into a table of 16 rows, it is a condition on them: `seq <= 16`. Anything else
is a check of the graph, made by each call.
"""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.analysis.integer_ranges import Range
from anyshape.frontend.builder.checks import check_values
from anyshape.frontend.builder.integer_ranges import range_of
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import Tracer, active
from anyshape.ir.checks import ValueCheck
from anyshape.ir.types import Shape
from anyshape.ops import movement
from anyshape.sym import Dim, maximum, product

SAME_ELEMENTS = frozenset(
    {movement.reshape, movement.transpose, movement.broadcast, movement.reverse}
)


def check_indices(
    op: str,
    indices: Tensor,
    size: Dim,
    axis: int,
    *,
    from_end: bool = False,
    result: Sequence[Dim] = (),
) -> None:
    """Indices of an `op` along an axis of this size are in range. `from_end` allows those from
    -size on.

    No index is looked at if the `result` has no elements. Where indices count from the end, any
    for an axis of size 0 is refused, as torch does.
    """
    tracer = active()
    low = -size if from_end else Dim.of(0)
    known = range_of(tracer, tracer.value(indices))
    if _is_within(tracer, known, low, size):
        return
    if _is_condition(tracer, op, known, size, (*indices.shape, *result)):
        return
    seen = _elements(tracer, indices)
    live = _live(tracer, seen, (*indices.shape, *result))
    if from_end and live != 1:
        live = maximum(live, 1 - size)
    check = ValueCheck("index", op, tracer.locate(), seen.shape, axis, from_end)
    check_values(seen, size, check, live)


def check_count(op: str, count: Tensor, size: Dim, axis: int = 0) -> None:
    """An axis of this size has the `count` elements that are taken from its front."""
    check = ValueCheck("count", op, active().locate(), count.shape, axis)
    check_values(count, size + 1, check, Dim.of(1))


def check_divisor(op: str, divisor: Tensor, result: Shape) -> None:
    """No integer is divided by 0, unless the result has no elements."""
    tracer = active()
    known = range_of(tracer, tracer.value(divisor))
    if known.low is not None and tracer.proves(known.low >= 1):
        return
    if known.high is not None and tracer.proves(known.high <= -1):
        return
    seen = _elements(tracer, divisor)
    check = ValueCheck("divisor", op, tracer.locate(), seen.shape)
    check_values(seen == 0, Dim.of(1), check, _live(tracer, seen, result))


def _is_within(tracer: Tracer, known: Range, low: Dim, size: Dim) -> bool:
    if known.low is None or known.high is None:
        return False
    return tracer.proves(known.low >= low) and tracer.proves(known.high < size)


def _is_condition(tracer: Tracer, op: str, known: Range, size: Dim, shape: Sequence[Dim]) -> bool:
    """Whether sizes alone decide: indices from 0 on that reach their end whenever something of this
    `shape` has elements. Inside a branch they do not: it may never run."""
    low, high = known.low, known.high
    if not known.attained or low is None or high is None or tracer.parent is not None:
        return False
    if not tracer.proves(low >= 0) or (high - size).constant is not None:
        return False
    open_ = {dim for dim in shape if not tracer.proves(dim >= 1)}
    if not all(_is_below_if_empty(tracer, high, dim, size) for dim in open_):
        return False
    why = f"{op} reaches index {high} of an axis of size {size}"
    tracer.require(high + 1 <= size, why)
    return True


def _is_below_if_empty(tracer: Tracer, high: Dim, dim: Dim, size: Dim) -> bool:
    """Whether the condition holds anyway where `dim` is 0."""
    if dim.symbol is None:
        return False
    none = {dim.symbol: Dim.of(0)}
    return tracer.proves(high.substitute(none) < size.substitute(none))


def _elements(tracer: Tracer, x: Tensor) -> Tensor:
    """The tensor whose elements `x` has, before they were repeated or put in another order."""
    value = tracer.value(x)
    while value.node.op in SAME_ELEMENTS:
        value = value.node.operands[0]
    return tracer.tensor(value)


def _live(tracer: Tracer, seen: Tensor, shape: Sequence[Dim]) -> Dim:
    """A dim that is 0 if one of these is, unless there is nothing to see anyway; else above 0."""
    own = set(seen.shape)
    others = (dim for dim in dict.fromkeys(shape) if dim not in own)
    return product(dim for dim in others if not tracer.proves(dim >= 1))
