"""Non-maximum suppression: a function of the runtime. A task is one class of one batch."""

from __future__ import annotations

from typing import ClassVar, Final

from anyshape.families.body import Body
from anyshape.families.family import Family, Job, Lowered
from anyshape.ir.node import Node
from anyshape.ir.rewrite import Refusal
from anyshape.ir.types import DType, f64, i64
from anyshape.loop import Buffer, Kernel
from anyshape.loop.native import nms_name
from anyshape.loop.printer import row_major
from anyshape.lower.effort import Effort
from anyshape.lower.tasks import TASK
from anyshape.ops.nms import SuppressAttrs
from anyshape.sym import Dim, Symbol, minimum

BATCH, CLASSES, COUNT, MOST = SIZES = tuple(Symbol(f"n{i}") for i in range(4))

WORKSPACE: Final = 5
"""Numbers of each box that is kept, as `nms_workspace_numbers` of the runtime."""

OVERLAP: Final = 10
"""Operations for the overlap of two boxes."""


class Nms(Family[Node]):
    """Kernels of `suppress`."""

    name: ClassVar[str] = "nms"

    def anchors(self, node: Node) -> bool:
        return isinstance(node.attrs, SuppressAttrs)

    def match(self, body: Body) -> Node | Refusal:
        if len(body.nodes) == 1 and self.anchors(body.nodes[0]):
            return body.nodes[0]
        return Refusal("it is not a single suppression")

    def lower(self, match: Node, job: Job) -> Lowered:
        names = dict(zip(job.sizes, job.dims, strict=True))
        order, most = match.operands[1].tensor.shape, match.attrs_as(SuppressAttrs).most
        sizes = tuple(dim.substitute(names) for dim in (*order, most))
        return Lowered(_kernel(match.operands[0].tensor.dtype), sizes, effort=_effort())


def _effort() -> Effort:
    """Each box is compared with those that are kept: half of what there may be."""
    batch, classes, count, most = map(Dim.of, SIZES)
    boxes = batch * classes * count
    return Effort(operations=boxes * minimum(most, count) * OVERLAP // 2, bytes=boxes * 32)


def _kernel(dtype: DType) -> Kernel:
    batch, classes, count, _ = map(Dim.of, SIZES)
    tasks = batch * classes
    buffers = (
        _buffer("boxes", dtype, batch * count * 4),
        _buffer("order", i64, tasks * count),
        _buffer("candidates", i64, tasks),
        _buffer("threshold", f64, Dim.of(1)),
        _buffer("kept", i64, tasks * count, True),
        _buffer("counts", i64, tasks, True),
    )
    scratch = _buffer("found", dtype, count * WORKSPACE)
    return Kernel(buffers, SIZES, TASK, tasks, (), scratch=(scratch,), native=nms_name(dtype))


def _buffer(name: str, dtype: DType, size: Dim, written: bool = False) -> Buffer:
    return Buffer(name, dtype, (size,), row_major((size,)), written)
