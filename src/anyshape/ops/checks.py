"""Values that a model's framework refuses while it runs: indices out of range, divisors of zero.

    offence = first_outside(indices, earlier)        the first index that is no index, if any

Compiled code raises nothing, so an offence is a value: i64[4], with the number of the check, the
position of the element among those of `x`, the element, and the size of its range. A number
of -1 says that nothing is wrong. Checks form a chain in the order of the program: `earlier` is the
result of the check before, and stays if it is an offence already. The last of the chain is the last
result of a graph with checks (`Graph.checks`), and whoever runs the graph raises the error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from anyshape.base.errors import DTypeError
from anyshape.ir.attrs import Attrs
from anyshape.ir.context import ShapeContext
from anyshape.ir.opdef import Call, OpDef, Signature, Trait, register
from anyshape.ir.types import INTEGERS, Array, DType, Shape, bool_, i64
from anyshape.ops.rules import check_allowed
from anyshape.sym import Dim

OFFENCE: Final = 4
"""Elements of an offence: number, position, element, size."""

CHECKED: Final = (*INTEGERS, bool_)


@dataclass(frozen=True)
class CheckAttrs(Attrs):
    """Elements must be in 0..size-1, or `from_end` in -size..size-1.

    Nothing is checked where `live` is 0: frameworks look at no index of an empty result.
    """

    size: Dim
    number: int
    live: Dim
    from_end: bool = False


def _check_dtype(op: str, dtypes: Sequence[DType], attrs: Attrs, /) -> tuple[DType, ...]:
    check_allowed(f"{op} (x)", dtypes[0], CHECKED)
    if dtypes[1] != i64:
        raise DTypeError(f"{op} (earlier)", "i64", str(dtypes[1]))
    return (i64,)


def _check_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: CheckAttrs, /
) -> tuple[Shape, ...]:
    earlier = shapes[1]
    if len(earlier) != 1:
        raise ctx.refuse_operand(f"earlier has rank {len(earlier)}, expected 1")
    ctx.require_equal(earlier[0], Dim.of(OFFENCE), f"an offence has {OFFENCE} elements")
    return ((Dim.of(OFFENCE),),)


def first_offence(
    x: Array, earlier: Array, number: int, size: int, from_end: bool, live: int
) -> Array:
    """The offence of one check, on concrete values."""
    if earlier[0] >= 0:
        return earlier
    flat = x.ravel()
    outside = (flat < (-size if from_end else 0)) | (flat >= size)
    if not live or not outside.any():
        return np.array([-1, 0, 0, 0], np.int64)
    position = int(np.argmax(outside))
    element = min(int(flat[position]), np.iinfo(np.int64).max)
    return np.array([number, position, element, size], np.int64)


def _first_outside(call: Call[CheckAttrs]) -> Array:
    x, earlier = call.args
    attrs = call.attrs
    return first_offence(x, earlier, attrs.number, int(attrs.size), attrs.from_end, int(attrs.live))


first_outside = register(
    OpDef(
        "first_outside",
        Signature(("x", "earlier")),
        CheckAttrs,
        _check_dtype,
        _check_shape,
        reference=_first_outside,
        traits=frozenset({Trait.ALONE}),
        doc="The first element of `x` that is outside 0..size-1, unless `earlier` has found one.",
    )
)
