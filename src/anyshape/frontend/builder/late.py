"""Functions whose result size depends on the data: it is a late axis, named by the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.frontend.builder.convert import ArrayLike, asarray
from anyshape.frontend.builder.tracer import active

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor


def argwhere(x: ArrayLike) -> Tensor:
    """The index of each element that is not zero, one row each: i64[count, rank]."""
    return active().emit("nonzero", asarray(x))


def nonzero(x: ArrayLike) -> tuple[Tensor, ...]:
    """As `argwhere`, but one index tensor per axis, as NumPy gives it: `x[nonzero(x > 0)]`."""
    operand = asarray(x)
    rows = argwhere(operand)
    return tuple(rows[:, axis] for axis in range(operand.ndim))
