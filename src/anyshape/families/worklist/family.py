"""Worklists: a function of the runtime.

One task counts and places all rows: a few instructions for each, where the products that follow
have thousands.
"""

from __future__ import annotations

from typing import ClassVar, Final

from anyshape.families.body import Body
from anyshape.families.family import Family, Job, Lowered
from anyshape.ir.node import Node
from anyshape.ir.rewrite import Refusal
from anyshape.ir.types import DType, i64
from anyshape.loop import Buffer, Kernel
from anyshape.loop.native import worklist_name
from anyshape.loop.printer import row_major
from anyshape.lower.tasks import TASK
from anyshape.ops.known import WORKLIST
from anyshape.ops.worklist import WorklistAttrs
from anyshape.sym import Dim, Symbol

TOKENS, CHOICES, GROUPS, CAPACITY = SIZES = tuple(Symbol(f"n{i}") for i in range(4))
ONE: Final = Dim.of(1)


class Worklist(Family[Node]):
    """Kernels of `worklist`."""

    name: ClassVar[str] = "worklist"

    def anchors(self, node: Node) -> bool:
        return node.op is WORKLIST

    def match(self, body: Body) -> Node | Refusal:
        if len(body.nodes) == 1 and self.anchors(body.nodes[0]):
            return body.nodes[0]
        return Refusal("it is not a single worklist")

    def lower(self, match: Node, job: Job) -> Lowered:
        names = dict(zip(job.sizes, job.dims, strict=True))
        attrs, keys = match.attrs_as(WorklistAttrs), match.operands[0].tensor
        choices = keys.shape[1] if keys.rank == 2 else ONE
        sizes = keys.shape[0], choices, attrs.groups, attrs.capacity
        return Lowered(_kernel(keys.dtype), tuple(dim.substitute(names) for dim in sizes))


def _kernel(dtype: DType) -> Kernel:
    count, groups = Dim.of(TOKENS) * Dim.of(CHOICES), Dim.of(GROUPS)
    keys = _buffer("keys", dtype, count)
    results = (
        _buffer("order", i64, count, written=True),
        _buffer("ends", i64, groups, written=True),
        _buffer("position", i64, count, written=True),
        _buffer("source", i64, count, written=True),
    )
    limits, name = _buffer("limits", i64, groups), worklist_name(dtype)
    return Kernel((keys, *results), SIZES, TASK, ONE, (), scratch=(limits,), native=name)


def _buffer(name: str, dtype: DType, size: Dim, written: bool = False) -> Buffer:
    return Buffer(name, dtype, (size,), row_major((size,)), written)
