"""Ops whose result size depends on the data: a late axis is born at each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anyshape.ir.attrs import Attrs
from anyshape.ir.context import ShapeContext
from anyshape.ir.opdef import OpDef, Signature, register
from anyshape.ir.types import ALL_DTYPES, Shape, i64
from anyshape.ops.rules import FixedDType
from anyshape.sym import Dim, product


def nonzero_shape(ctx: ShapeContext, shapes: Sequence[Shape], attrs: Attrs, /) -> tuple[Shape, ...]:
    found = ctx.late_axis(product(shapes[0]))
    return ((found, Dim.of(len(shapes[0]))),)


nonzero = register(
    OpDef(
        "nonzero",
        Signature(("x",)),
        Attrs,
        FixedDType(ALL_DTYPES, i64),
        nonzero_shape,
        reference=lambda call: np.argwhere(call.args[0]).astype(np.int64),
        doc="The index of each element that is not zero, in order, one row each.",
    )
)
