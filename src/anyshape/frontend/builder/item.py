"""Sizes that data decide: the value of an integer scalar as a dim."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.frontend.builder.convert import ArrayLike, as_index, asarray
from anyshape.frontend.builder.elementwise import maximum
from anyshape.frontend.builder.integer_ranges import range_of
from anyshape.frontend.builder.tracer import active
from anyshape.ir.node import Value
from anyshape.ir.types import bool_
from anyshape.sym import Dim

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor


class _Sizes(dict[Value, Dim]):
    """The dims that scalars of a region have become."""


def item(x: ArrayLike) -> Dim:
    """The value of an integer as a size: a dim, for shapes and bounds of slices. It must not be
    negative when it runs."""
    operand = asarray(x)
    if operand.dtype == bool_ or operand.dtype.is_float:
        raise active().refuse(
            f"item() of a {operand.type} is no size",
            "keep it a tensor: functions take scalar tensors; or cast it to ash.i64",
        )
    tracer = active()
    scalar = _scalar(as_index(operand))
    known, value = tracer.analysis(_Sizes), tracer.value(scalar)
    if value not in known:
        known[value] = tracer.emit("late_size", scalar).shape[0]
    return known[value]


def integer(x: Tensor) -> Dim:
    """As `item` of any integer: the difference of two sizes where it may be negative."""
    tracer, index = active(), as_index(x)
    low = range_of(tracer, tracer.value(index)).low
    if low is not None and tracer.proves(low >= 0):
        return item(index)
    return item(maximum(index, 0)) - item(maximum(-index, 0))


def _scalar(x: Tensor) -> Tensor:
    """The only element; a dynamic size is checked when it runs."""
    return active().emit("reshape", x, shape=()) if x.ndim else x
