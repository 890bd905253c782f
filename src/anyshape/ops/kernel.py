"""The `kernel` op: a closed group of ops that becomes one native kernel.

Fusion's result is IR: it prints, verifies and evaluates like everything else, and lowering takes
exactly this. A single op is the trivial case.
"""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.ir.attrs import Attrs
from anyshape.ir.context import ShapeContext
from anyshape.ir.node import Region
from anyshape.ir.opdef import OpDef, Signature, register
from anyshape.ir.types import Type
from anyshape.ops.control import check_params


def kernel_type(
    ctx: ShapeContext, types: Sequence[Type], attrs: Attrs, regions: Sequence[Region], /
) -> tuple[Type, ...]:
    (body,) = regions
    check_params(ctx, "body", body, types)
    if body.born:
        raise ctx.refuse_operand("a kernel's sizes are known before it runs")
    return body.result_types


kernel = register(
    OpDef(
        "kernel",
        Signature(("values*",)),
        Attrs,
        type_rule=kernel_type,
        reference=lambda call: call.run(0, call.args),
        regions=("body",),
        doc="Ops that are computed together, without memory between them.",
    )
)
