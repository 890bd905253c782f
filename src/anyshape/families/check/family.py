"""Checks of values: a function of the runtime.

A task looks at all elements. That is memory that the op behind the check reads as well, at a few
instructions for a cache line; steps that do not wait for it run at the same time.
"""

from __future__ import annotations

from typing import ClassVar, Final

from anyshape.families.body import Body
from anyshape.families.family import Family, Job, Lowered
from anyshape.ir.node import Node
from anyshape.ir.rewrite import Refusal
from anyshape.ir.types import DType, i64
from anyshape.loop import Buffer, Kernel
from anyshape.loop.native import check_name
from anyshape.loop.printer import row_major
from anyshape.lower.tasks import TASK
from anyshape.ops.checks import OFFENCE, CheckAttrs
from anyshape.sym import Dim, Symbol

SIZES: Final = tuple(Symbol(f"n{i}") for i in range(5))
"""How many elements, the number of the check, the size of the range, `from_end`, `live`."""


class Check(Family[Node]):
    """Kernels of `first_outside`."""

    name: ClassVar[str] = "check"

    def anchors(self, node: Node) -> bool:
        return isinstance(node.attrs, CheckAttrs)

    def match(self, body: Body) -> Node | Refusal:
        if len(body.nodes) == 1 and self.anchors(body.nodes[0]):
            return body.nodes[0]
        return Refusal("it is not a single check")

    def lower(self, match: Node, job: Job) -> Lowered:
        names = dict(zip(job.sizes, job.dims, strict=True))
        sizes = tuple(dim.substitute(names) for dim in _sizes(match))
        return Lowered(_kernel(match.operands[0].tensor.dtype), sizes)


def _sizes(node: Node) -> tuple[Dim, ...]:
    attrs = node.attrs_as(CheckAttrs)
    flag, number = Dim.of(int(attrs.from_end)), Dim.of(attrs.number)
    return node.operands[0].tensor.size, number, attrs.size, flag, attrs.live


def _kernel(dtype: DType) -> Kernel:
    x = _buffer("x", dtype, Dim.of(SIZES[0]))
    earlier = _buffer("earlier", i64, Dim.of(OFFENCE))
    offence = _buffer("offence", i64, Dim.of(OFFENCE), written=True)
    buffers, one = (x, earlier, offence), Dim.of(1)
    return Kernel(buffers, SIZES, TASK, one, (), native=check_name(dtype))


def _buffer(name: str, dtype: DType, size: Dim, written: bool = False) -> Buffer:
    return Buffer(name, dtype, (size,), row_major((size,)), written)
