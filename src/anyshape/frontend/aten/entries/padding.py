"""Pads that continue a tensor: around (circular), mirrored (reflect), or by its edge (replicate).

Each axis by itself, the last one first: what goes before, the tensor, what comes after. A negative
width cuts instead. How far a pad may go is torch's rule, and is required.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from anyshape.frontend.aten.calls import Call, entry
from anyshape.frontend.aten.entries.movement import constant_pad, cut_by, without_edges
from anyshape.frontend.builder import assemble
from anyshape.frontend.builder.axes import Size
from anyshape.frontend.builder.convert import ArrayLike
from anyshape.frontend.builder.movement import broadcast_to, flip
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.sym import Dim

_Continued = Callable[[Tensor, int, Dim, Dim], tuple[Tensor, Tensor]]


@entry("aten.pad.default")
def pad(
    call: Call,
    x: Tensor,
    widths: Sequence[Size],
    mode: str = "constant",
    value: ArrayLike | None = None,
) -> Tensor:
    """Pairs of widths, the last axis first."""
    if mode == "constant":
        return constant_pad(call, x, widths, 0 if value is None else value)
    for number in range(len(widths) // 2):
        low, high = (Dim.of(width) for width in widths[2 * number : 2 * number + 2])
        x = _padded(x, x.ndim - 1 - number, low, high, mode)
    return x


def _padded(x: Tensor, axis: int, low: Dim, high: Dim, mode: str) -> Tensor:
    x = without_edges(x, axis, low, high)
    low, high, size = low + cut_by(low), high + cut_by(high), x.shape[axis]
    if low == 0 and high == 0:
        return x
    why = f"a pad of {low} and {high}, mode '{mode}', along axis {axis}, whose size is {size}"
    for width in (low, high):
        active().require(width < size + 1 if mode == "circular" else width < size, why)
    before, after = _CONTINUED[mode](x, axis, low, high)
    return assemble.concat([before, x, after], axis)


def _around(x: Tensor, axis: int, low: Dim, high: Dim) -> tuple[Tensor, Tensor]:
    size, none = x.shape[axis], Dim.of(0)
    return assemble.cut(x, axis, size - low, size), assemble.cut(x, axis, none, high)


def _mirrored(x: Tensor, axis: int, low: Dim, high: Dim) -> tuple[Tensor, Tensor]:
    size, one = x.shape[axis], Dim.of(1)
    before = assemble.cut(x, axis, one, low + 1)
    return flip(before, axis), flip(assemble.cut(x, axis, size - high - 1, size - 1), axis)


def _edges(x: Tensor, axis: int, low: Dim, high: Dim) -> tuple[Tensor, Tensor]:
    size, none, one = x.shape[axis], Dim.of(0), Dim.of(1)
    first, last = assemble.cut(x, axis, none, one), assemble.cut(x, axis, size - 1, size)
    return _repeated(first, axis, low), _repeated(last, axis, high)


def _repeated(x: Tensor, axis: int, count: Dim) -> Tensor:
    return broadcast_to(x, (*x.shape[:axis], count, *x.shape[axis + 1 :]))


_CONTINUED: dict[str, _Continued] = {
    "circular": _around, "reflect": _mirrored, "replicate": _edges,
}  # fmt: skip
