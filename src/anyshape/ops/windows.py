"""Windows: what a small box sees of a tensor at each place that it goes to.

    result[…, o, k] = x[…, o * step + k * gap]

for each of the last axes: first the places of all of them, then what lies inside. A pool is a
reduction over the inner axes and one kernel with it, since nothing but the index changes. How many
places there are is stated, not derived: who pads knows it in plainer words than padding has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anyshape.ir.attrs import Attrs
from anyshape.ir.context import ShapeContext
from anyshape.ir.opdef import Call, OpDef, Signature, register
from anyshape.ir.types import Array, Shape
from anyshape.ops.movement import ANY, INDEXED
from anyshape.sym import Dim


@dataclass(frozen=True)
class WindowsAttrs(Attrs):
    """For each of the last axes: how many places, how large a window, how far from one place to
    the next, and how far from one element inside to the next."""

    counts: tuple[Dim, ...]
    sizes: tuple[Dim, ...]
    steps: tuple[int, ...]
    gaps: tuple[int, ...]


def windows_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: WindowsAttrs, /
) -> tuple[Shape, ...]:
    rank, count = len(shapes[0]), len(attrs.counts)
    for name in ("sizes", "steps", "gaps"):
        given = len(getattr(attrs, name))
        if given != count:
            raise ctx.refuse_attribute(name, f"has {given} entries, counts has {count}")
    if count > rank:
        raise ctx.refuse_attribute("counts", f"has {count} entries, the rank is {rank}")
    for name in ("steps", "gaps"):
        if any(number < 1 for number in getattr(attrs, name)):
            raise ctx.refuse_attribute(name, "must be positive")
    ctx.require_sizes((*attrs.counts, *attrs.sizes))
    for axis in range(count):
        _require_inside(ctx, rank - count + axis, shapes[0][rank - count + axis], attrs, axis)
    return ((*shapes[0][: rank - count], *attrs.counts, *attrs.sizes),)


def _require_inside(
    ctx: ShapeContext, axis: int, size: Dim, attrs: WindowsAttrs, number: int
) -> None:
    """The last element of the last window is one of the operand's."""
    last = last_place(attrs, number)
    ctx.require(last <= size - 1, f"windows must end within size {size} of axis {axis}")


def last_place(attrs: WindowsAttrs, number: int) -> Dim:
    """Where the last window has its last element."""
    begin = (attrs.counts[number] - 1) * attrs.steps[number]
    return begin + (attrs.sizes[number] - 1) * attrs.gaps[number]


def _windows(call: Call[WindowsAttrs]) -> Array:
    (x,), attrs, count = call.args, call.attrs, len(call.attrs.counts)
    first = x.ndim - count
    for axis in range(count):
        outer = np.arange(int(attrs.counts[axis]))[:, None] * attrs.steps[axis]
        places = outer + np.arange(int(attrs.sizes[axis])) * attrs.gaps[axis]
        x = np.moveaxis(np.take(x, places, first + axis), first + axis + 1, -1)
    return x


windows = register(
    OpDef(
        "windows",
        Signature(("x",)),
        WindowsAttrs,
        ANY,
        windows_shape,
        reference=_windows,
        traits=INDEXED,
    )
)
