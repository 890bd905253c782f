"""Reductions, cumulative ops, and orders. Results have the dtype of the operand."""

from __future__ import annotations

from collections.abc import Callable

from anyshape.frontend.builder import cumulative, order
from anyshape.frontend.builder import elementwise as ew
from anyshape.frontend.builder import reduce as red
from anyshape.frontend.builder.axes import normal_axis
from anyshape.frontend.builder.convert import cast_to, widened
from anyshape.frontend.builder.functions import log, sqrt
from anyshape.frontend.builder.movement import flip
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.frontend.onnx.calls import Call, entry
from anyshape.frontend.onnx.numbers import integers_of, sizes_of
from anyshape.sym import Dim

Axes = tuple[int, ...] | None
Reduction = Callable[[Tensor, Axes, bool], Tensor]


def _l2(x: Tensor, axes: Axes, keepdims: bool) -> Tensor:
    return sqrt(red.sum(ew.square(x), axes, keepdims))


_REDUCTIONS: dict[str, Reduction] = {
    "ReduceSum": red.sum,
    "ReduceProd": red.prod,
    "ReduceMax": red.max,
    "ReduceMin": red.min,
    "ReduceMean": red.mean,
    "ReduceL1": lambda x, axes, keep: red.sum(ew.abs(x), axes, keep),
    "ReduceL2": _l2,
    "ReduceSumSquare": lambda x, axes, keep: red.sum(ew.square(x), axes, keep),
    "ReduceLogSum": lambda x, axes, keep: log(red.sum(x, axes, keep)),
    "ReduceLogSumExp": red.logsumexp,
}
_OF_FLOATS = frozenset({"ReduceMean", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp"})
_AS_IT_IS = frozenset({"ReduceMax", "ReduceMin"})


def _reduced(call: Call, x: Tensor, axes: Axes, keepdims: int) -> Tensor:
    if call.op in _OF_FLOATS and not x.dtype.is_float:
        raise active().refuse(f"{call.op} of {x.dtype}", "cast the operand to a float type")
    wide = x if call.op in _AS_IT_IS else widened(x)
    return cast_to(_REDUCTIONS[call.op](wide, axes, bool(keepdims)), x.dtype)


def _by_attribute(
    call: Call, x: Tensor, *, axes: tuple[int, ...] | None = None, keepdims: int = 1
) -> Tensor:
    return _reduced(call, x, axes, keepdims)


def _by_input(
    call: Call,
    x: Tensor,
    axes: Tensor | None = None,
    *,
    keepdims: int = 1,
    noop_with_empty_axes: int = 0,
) -> Tensor:
    """No axes are all of them, or none of them."""
    given = () if axes is None else integers_of(axes, "axes")
    if not given and noop_with_empty_axes:
        return _reduced(call, x, (), 1) if call.op not in _AS_IT_IS else x
    return _reduced(call, x, given or None, keepdims)


for _name in _REDUCTIONS:
    entry(_name)(_by_attribute)
    entry(_name, since=13 if _name == "ReduceSum" else 18)(_by_input)


def _arg_reduced(
    call: Call, x: Tensor, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0
) -> Tensor:
    function = red.argmax if call.op == "ArgMax" else red.argmin
    if not select_last_index:
        return function(x, axis, bool(keepdims))
    place = normal_axis(axis, x.ndim)
    return x.shape[place] - 1 - function(flip(x, place), axis, bool(keepdims))


entry("ArgMax", "ArgMin")(_arg_reduced)


def _cumulative(
    call: Call, x: Tensor, axis: Tensor, *, exclusive: int = 0, reverse: int = 0
) -> Tensor:
    function = cumulative.cumsum if call.op == "CumSum" else cumulative.cumprod
    (place,) = integers_of(axis, "axis")
    chosen = {"exclusive": bool(exclusive), "reverse": bool(reverse)}
    return cast_to(function(x, place, **chosen), x.dtype)


entry("CumSum", "CumProd")(_cumulative)


# --- order ----------------------------------------------------------------------------------------


@entry("TopK")
def top_k_by_attribute(call: Call, x: Tensor, *, k: int, axis: int = -1) -> tuple[Tensor, ...]:
    return tuple(order.topk(x, Dim.of(k), axis))


@entry("TopK", since=10)
def top_k(
    call: Call, x: Tensor, k: Tensor, *, axis: int = -1, largest: int = 1, sorted: int = 1
) -> tuple[Tensor, ...]:
    """Sorted also where nobody asked for it."""
    (count,) = sizes_of(k)
    return tuple(order.topk(x, count, axis, bool(largest)))
