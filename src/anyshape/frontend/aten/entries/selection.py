"""Elements chosen by a mask, or by a rule for their places: diagonals and windows."""

from __future__ import annotations

from anyshape.frontend.aten.calls import Call, as_dtype, entry
from anyshape.frontend.aten.entries.sizes import smaller
from anyshape.frontend.aten.value_checks import check_count, check_indices
from anyshape.frontend.builder import elementwise as ew
from anyshape.frontend.builder import reduce as red
from anyshape.frontend.builder.axes import normal_axis
from anyshape.frontend.builder.movement import broadcast_to, gather, moveaxis, ravel, take
from anyshape.frontend.builder.pool import windows
from anyshape.frontend.builder.source import arange, zeros
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.ir.types import i64

# --- masks ----------------------------------------------------------------------------------------


@entry("aten.masked_scatter.default")
def masked_scatter(call: Call, x: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Each true place takes the next element of the source."""
    shape = active().broadcast("select", [x.shape, mask.shape])
    x, chosen = broadcast_to(x, shape), broadcast_to(mask, shape)
    flat = ravel(as_dtype(chosen, i64))
    check_count(call, red.sum(flat), source.size)
    order = active().emit("cumsum", flat, axis=0, exclusive=True).reshape(x.shape)
    return ew.where(chosen, take(source, ew.where(chosen, order, 0)), x)


# --- places ---------------------------------------------------------------------------------------


@entry("aten.take.default")
def take_flat(call: Call, x: Tensor, indices: Tensor) -> Tensor:
    check_indices(call, indices, x.size, 0, from_end=True)
    return take(x, indices)


@entry("aten.diagonal.default")
def diagonal(call: Call, x: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The last axis of the result goes down the diagonal of the two."""
    planes = moveaxis(x, (dim1, dim2), (-2, -1))
    *rest, rows, columns = planes.shape
    down, right = max(-offset, 0), max(offset, 0)
    places = arange(smaller(rows - down, columns - right)) * (columns + 1)
    flat = planes.reshape((*rest, rows * columns))
    return gather(flat, places + (columns * down + right), len(rest))


@entry("aten.unfold.default")
def unfold(call: Call, x: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of an axis, each of them along the last axis of the result."""
    if x.ndim == 0:
        x = x.reshape(1)
    moved = moveaxis(x, normal_axis(dimension, x.ndim), -1)
    found = windows(moved, size, step) if size else _no_elements(moved, step)
    return moveaxis(found, -2, normal_axis(dimension, x.ndim))


def _no_elements(x: Tensor, step: int) -> Tensor:
    """Windows of nothing: one at each place, and one behind the last."""
    return zeros((*x.shape[:-1], x.shape[-1] // step + 1, 0), x.dtype)
