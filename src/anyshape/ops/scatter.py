"""Elements put into places that data decide: the counterparts of `gather` and `take_along`.

An index outside the axis is an error. Compiled code cannot raise one: it drops the update.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from anyshape.base.errors import DTypeError
from anyshape.ir.attrs import Attrs
from anyshape.ir.context import ShapeContext
from anyshape.ir.opdef import AnyOp, Call, OpDef, Signature, Trait, register
from anyshape.ir.types import INTEGERS, Array, DType, Shape, bool_, dtype_of, wide_of
from anyshape.ops import elementwise
from anyshape.ops.indexing import along, along_shape, checked_indices, gather_shape
from anyshape.ops.movement import AxisAttrs
from anyshape.ops.rules import check_allowed

Combine = Literal["set", "add", "mul", "max", "min"]


@dataclass(frozen=True)
class ScatterAttrs(Attrs):
    """What becomes of an element that is written to: replaced, or combined with what is there.

    Updates are made in order: of several to one place, the last one stays, or all are combined.
    Sums and products of 16-bit floats are made in f32, and rounded at the end.
    """

    axis: int
    combine: Combine = "set"


def _scatter_dtype(op: str, dtypes: Sequence[DType], attrs: ScatterAttrs, /) -> tuple[DType, ...]:
    x, indices, updates = dtypes
    check_allowed(f"{op} (indices)", indices, INTEGERS)
    if updates != x:
        raise DTypeError(f"{op} (updates)", str(x), str(updates))
    if x == bool_ and attrs.combine in ("add", "mul"):
        raise DTypeError(op, f"a number to {attrs.combine}", "bool")
    return (x,)


def scatter_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: ScatterAttrs, /
) -> tuple[Shape, ...]:
    x, indices, updates = shapes
    (wanted,) = gather_shape(ctx, (x, indices), AxisAttrs(attrs.axis))
    if len(updates) != len(wanted):
        raise ctx.refuse_operand(f"updates have rank {len(updates)}, expected {len(wanted)}")
    for axis, (given, size) in enumerate(zip(updates, wanted, strict=True)):
        ctx.require_equal(given, size, f"updates must have the size of a gather at axis {axis}")
    return (x,)


def scatter_along_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: ScatterAttrs, /
) -> tuple[Shape, ...]:
    x, indices, updates = shapes
    along_shape(ctx, x, indices, attrs.axis)
    if len(updates) != len(indices):
        raise ctx.refuse_operand(f"updates have rank {len(updates)}, indices {len(indices)}")
    for axis, (given, size) in enumerate(zip(updates, indices, strict=True)):
        ctx.require_equal(given, size, f"updates and indices must have one size at axis {axis}")
    return (x,)


COMBINE: dict[Combine, AnyOp] = {
    "add": elementwise.add,
    "mul": elementwise.mul,
    "max": elementwise.maximum,
    "min": elementwise.minimum,
}
"""The op of two by the word for it; "set" has none."""


def _put(x: Array, places: Any, updates: Array, combine: Combine) -> Array:
    """A copy of `x` with one update after the other, in order; rounded once, at the end."""
    if combine == "set":
        target = x.copy()
        target[places] = updates
        return target
    wide = wide_of(dtype_of(x)).numpy
    target = x.astype(wide)
    with np.errstate(all="ignore"):
        elementwise.ufunc_of(COMBINE[combine]).at(target, places, updates.astype(wide))
        return target.astype(x.dtype)


def _scatter(call: Call[ScatterAttrs]) -> Array:
    x, indices, updates = call.args
    axis = call.attrs.axis
    checked = checked_indices("scatter", indices, x.shape[axis])
    places = (*(slice(None),) * axis, checked)
    return _put(x, places, updates, call.attrs.combine)


def _scatter_along(call: Call[ScatterAttrs]) -> Array:
    x, indices, updates = call.args
    checked = checked_indices("scatter_along", indices, x.shape[call.attrs.axis])
    return _put(x, along(checked, call.attrs.axis), updates, call.attrs.combine)


def _register_scatter(
    name: str,
    shape_rule: Callable[[ShapeContext, Sequence[Shape], ScatterAttrs], tuple[Shape, ...]],
    reference: Callable[[Call[ScatterAttrs]], Array],
    doc: str,
) -> OpDef[ScatterAttrs]:
    return register(
        OpDef(
            name,
            Signature(("x", "indices", "updates")),
            ScatterAttrs,
            _scatter_dtype,
            shape_rule,
            reference=reference,
            traits=frozenset({Trait.ALONE}),
            doc=doc,
        )
    )


scatter = _register_scatter(
    "scatter",
    scatter_shape,
    _scatter,
    "`x` with slices along `axis` written where `indices` say: what `gather` would read.",
)
scatter_along = _register_scatter(
    "scatter_along",
    scatter_along_shape,
    _scatter_along,
    "`x` with elements written at their own places, the index along `axis` given.",
)
