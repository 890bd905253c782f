"""Binary search: a function of the runtime. A task is some of the elements that are looked for."""

from __future__ import annotations

from typing import ClassVar, Final

from anyshape.families.body import Body
from anyshape.families.family import Family, Job, Lowered
from anyshape.ir.node import Node
from anyshape.ir.rewrite import Refusal
from anyshape.ir.types import DType, i64
from anyshape.loop import Buffer, Kernel
from anyshape.loop.native import search_name
from anyshape.loop.printer import row_major
from anyshape.lower.effort import Effort
from anyshape.lower.tasks import TASK
from anyshape.ops.search import SearchAttrs
from anyshape.sym import Dim, Symbol, product

ROWS, LENGTH, COUNT, RIGHT, SHARED = SIZES = tuple(Symbol(f"n{i}") for i in range(5))

ELEMENTS: Final = 2048
"""Of a task, as `search_task_elements` of the runtime."""

OPERATIONS: Final = 60
"""For each element: about four for each halving of a row."""


class Search(Family[Node]):
    """Kernels of `search_sorted`."""

    name: ClassVar[str] = "search"

    def anchors(self, node: Node) -> bool:
        return isinstance(node.attrs, SearchAttrs)

    def match(self, body: Body) -> Node | Refusal:
        if len(body.nodes) == 1 and self.anchors(body.nodes[0]):
            return body.nodes[0]
        return Refusal("it is not a single search")

    def lower(self, match: Node, job: Job) -> Lowered:
        names = dict(zip(job.sizes, job.dims, strict=True))
        ordered, x = (operand.tensor for operand in match.operands)
        is_shared = ordered.rank == 1
        rows = Dim.of(1) if is_shared else product(x.shape[:-1])
        count = product(x.shape) if is_shared else x.shape[-1]
        right = Dim.of(int(match.attrs_as(SearchAttrs).right))
        sizes = (rows, ordered.shape[-1], count, right, Dim.of(int(is_shared)))
        dims = tuple(dim.substitute(names) for dim in sizes)
        return Lowered(_kernel(x.dtype), dims, effort=_effort())


def _effort() -> Effort:
    elements = Dim.of(ROWS) * Dim.of(COUNT)
    return Effort(operations=elements * OPERATIONS, bytes=elements * 16)


def _kernel(dtype: DType) -> Kernel:
    rows, length, count = map(Dim.of, (ROWS, LENGTH, COUNT))
    elements = rows * count
    buffers = (
        _buffer("ordered", dtype, rows * length),
        _buffer("x", dtype, elements),
        _buffer("places", i64, elements, True),
    )
    tasks = (elements + ELEMENTS - 1) // ELEMENTS
    return Kernel(buffers, SIZES, TASK, tasks, (), native=search_name(dtype))


def _buffer(name: str, dtype: DType, size: Dim, written: bool = False) -> Buffer:
    return Buffer(name, dtype, (size,), row_major((size,)), written)
