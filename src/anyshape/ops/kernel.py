"""Groups of ops that run natively: a `kernel` is one native function, a `segment` one native call.

What fusion and the division into segments make is IR: it prints, verifies and evaluates like
everything else, and the layers below take exactly this. A single op is the trivial case.
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
        raise ctx.refuse_operand(f"the sizes of a {ctx.op.name} are known before it runs")
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

segment = register(
    OpDef(
        "segment",
        Signature(("values*",)),
        Attrs,
        type_rule=kernel_type,
        reference=lambda call: call.run(0, call.args),
        regions=("body",),
        doc="Kernels that run in one native call, from values that are there to values that stay.",
    )
)
