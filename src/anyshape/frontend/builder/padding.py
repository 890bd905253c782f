"""Pads that continue a tensor: around (circular), mirrored (reflect), or by its edge (replicate).

What goes before, the tensor, what comes after, along one axis. A negative width cuts instead. How
far a pad may go is torch's rule, and is required.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from anyshape.frontend.builder import assemble
from anyshape.frontend.builder.movement import broadcast_to, flip
from anyshape.frontend.builder.tracer import active
from anyshape.sym import Dim, Predicate, maximum

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor

_Continued = Callable[["Tensor", int, Dim, Dim], "tuple[Tensor, Tensor]"]


def continued(x: Tensor, axis: int, low: Dim, high: Dim, mode: str) -> Tensor:
    """`x` with so many elements more at both ends of an axis."""
    x = _without_edges(x, axis, low, high)
    low, high, size = low + _cut_by(low), high + _cut_by(high), x.shape[axis]
    if low == 0 and high == 0:
        return x
    why = f"a pad of {low} and {high}, mode '{mode}', along axis {axis}, whose size is {size}"
    for width in (low, high):
        active().require(_reaches(mode, width, size), why)
    before, after = _CONTINUED[mode](x, axis, low, high)
    return assemble.concat([before, x, after], axis)


def _reaches(mode: str, width: Dim, size: Dim) -> Predicate:
    """An edge continues a tensor as far as one likes, if there is one."""
    if mode == "replicate":
        return size >= 1
    return width <= size if mode == "circular" else width < size


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


# --- widths ---------------------------------------------------------------------------------------


def pad_or_cut(x: Tensor, pairs: Sequence[tuple[Dim, Dim]], value: Tensor) -> Tensor:
    """Elements added around, a pair of widths for each axis. A negative one cuts."""
    for axis, (low, high) in enumerate(pairs):
        x = _without_edges(x, axis, low, high)
    kept = [(low + _cut_by(low), high + _cut_by(high)) for low, high in pairs]
    return assemble.pad(x, kept, value)


def _without_edges(x: Tensor, axis: int, low: Dim, high: Dim) -> Tensor:
    """What negative widths of a pad leave of a tensor."""
    first, last = _cut_by(low), _cut_by(high)
    whole = first == 0 and last == 0
    return x if whole else assemble.cut(x, axis, first, x.shape[axis] - last)


def _cut_by(width: Dim) -> Dim:
    """How much a negative width cuts. Of a width of either sign, what it adds less the width: both
    cancel in the size of the result."""
    if active().proves(width >= 0):
        return Dim.of(0)
    return -width if active().proves(width <= 0) else maximum(width, Dim.of(0)) - width
