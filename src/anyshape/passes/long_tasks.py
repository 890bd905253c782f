"""Long axes of few rows are computed in parts, on several threads.

A reduction is one task for each row, a running total and a sort too: a sum of everything would be
one task, which no other thread can share and nobody can end. Kernels of such ops get a second form:

    sum(x)      totals = part_reduce(x)              a task for each part
                staged(sum(x), sum(totals))          at most one task per row, as before

    argmax(x)   extrema, indices = part_reduce(x), part_index(x)
                staged(argmax(x), …)                 the lowest index of the greatest extremum

    x @ y       totals = part_dot(x, y)              the depth is divided
                staged(x @ y, sum(totals))

    cumsum(x)   totals = part_reduce(x)
                staged(cumsum(x), part_cumulative(x, totals))

    attention   found = part_attention(q, k, v)      the keys are divided (`long_keys.py`)
                staged(attention(q, k, v), …)

    softmax(x)  steps for each of its reductions (`long_rows.py`)
                staged(softmax(x), …)                a row per task, or a map

    sort(x)     values, places = sort_parts(x)
                merge_parts(x, values, places)       sorts by itself if there are no parts

Sizes decide how many parts there are. Where an axis is short or rows are many there are none: the
kernels of totals then have no tasks, and the last one does what it always did. Axes that the facts
show to be short keep the one form that they have. What the kernels are is in `part_kernels.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import Trait
from anyshape.ir.rewrite import Decision, Refusal
from anyshape.ir.rewrite.rebuild import Rebuilder, rebuild_graph
from anyshape.ops.dot import DotAttrs
from anyshape.ops.known import KERNEL
from anyshape.ops.sort import SortAttrs, TopKAttrs
from anyshape.passes.infra import PassContext
from anyshape.passes.long_keys import attention_of, parts_of_keys
from anyshape.passes.long_rows import long_rows_of, rows_in_parts
from anyshape.passes.part_kernels import (
    KernelOfLoop,
    Parts,
    axes_of,
    in_parts,
    is_flat,
    sorted_in_parts,
)
from anyshape.sym import Answer, Dim, LessEqual, ceildiv, maximum, minimum, product

PART: Final = 1 << 15
"""Elements of a part, at least: they take ten times as long as a part costs."""

TASKS: Final = 32
"""So many tasks keep threads busy: where rows are fewer, each has as many parts as that takes."""

LONGEST: Final = 1 << 24
"""Elements of a part, at most, whatever the number of rows: some ten milliseconds."""

LONGEST_SORT: Final = 1 << 19
"""The same where elements are sorted."""

STRIP: Final = 64
"""Neighbouring rows that one task reduces together, as in `families/row/loops.py`."""

BLOCK: Final = 64
"""Rows and columns of a product that one task computes, roughly: targets differ."""

PRODUCTS: Final = 16
"""Products of a matrix that take as long as reading an element of it."""

LOOPS: Final = frozenset({Trait.REDUCTION, Trait.CONTRACTION, Trait.ROWWISE, Trait.ALONE})


@dataclass(frozen=True)
class LongTasks:
    """Gives kernels of reductions and running totals a form in parts."""

    name: str = "long-tasks"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        return rebuild_graph(_Divider(self.name, ctx), graph)


class _Divider(Rebuilder):
    def __init__(self, name: str, ctx: PassContext) -> None:
        self.name = name
        self.ctx = ctx

    def rebuilt(self, node: Node, operands: tuple[Value, ...], builder: Builder) -> Node:
        """Regions stay as they are: those of host nodes are divided when their kernels are made."""
        return builder.node(node.op, operands, node.attrs, node.regions, node.late)

    def replace(self, node: Node, builder: Builder) -> tuple[Value, ...]:
        if node.op is not KERNEL:
            return node.results
        root = node.regions[0].results[:1]
        if root and isinstance(root[0].node.attrs, SortAttrs | TopKAttrs):
            return self._sorted(node, root[0].node, builder)
        attention = attention_of(node.regions[0])
        if attention is not None:
            return self._attention(KernelOfLoop(node, attention), builder)
        loop = loop_of(node.regions[0])
        if loop is None:
            return self._rows(node, builder)
        flat = not isinstance(loop.attrs, DotAttrs) and is_flat(loop)
        if (
            builder.scope.proves(LessEqual(divided(loop, flat), Dim.of(2 * PART - 1)))
            is Answer.TRUE
        ):
            return node.results
        parts = parts_of(loop, flat)
        decision = Decision(self.name, True, f"in {parts.number} parts", loop, builder.location)
        self.ctx.decisions.record(decision)
        return in_parts(KernelOfLoop(node, loop), parts, builder).results

    def _rows(self, node: Node, builder: Builder) -> tuple[Value, ...]:
        rows = long_rows_of(node)
        if rows is None:
            return node.results
        loop = rows.widest
        if _is_short(divided(loop, rows.flat), builder):
            return node.results
        parts = parts_of(loop, rows.flat)
        why = f"rows in {parts.number} parts"
        self.ctx.decisions.record(Decision(self.name, True, why, loop, builder.location))
        return rows_in_parts(rows, parts, builder).results

    def _attention(self, kernel: KernelOfLoop, builder: Builder) -> tuple[Value, ...]:
        parts, loop = parts_of_keys(kernel, builder.scope), kernel.loop
        if isinstance(parts, Refusal):
            refused = Decision(self.name, False, parts.reason, loop, builder.location)
            self.ctx.decisions.record(refused)
            return kernel.node.results
        why = f"keys in {parts.number} parts"
        self.ctx.decisions.record(Decision(self.name, True, why, loop, builder.location))
        return in_parts(kernel, parts, builder).results

    def _sorted(self, node: Node, sort: Node, builder: Builder) -> tuple[Value, ...]:
        attrs, x = sort.attrs, sort.operands[0].tensor
        assert isinstance(attrs, SortAttrs | TopKAttrs)
        size = x.shape[attrs.axis]
        if _is_short(size, builder):
            return node.results
        rows = product((*x.shape[: attrs.axis], *x.shape[attrs.axis + 1 :]))
        parts = _divided(size, size, rows, LONGEST_SORT)
        decision = Decision(self.name, True, f"in {parts.number} parts", sort, builder.location)
        self.ctx.decisions.record(decision)
        return sorted_in_parts(node, attrs, size, parts, builder).results


# --- which kernels, and how many parts ------------------------------------------------------------


def _is_short(size: Dim, builder: Builder) -> bool:
    """Whether no axis of this size is ever divided."""
    return builder.scope.proves(LessEqual(size, Dim.of(2 * PART - 1))) is Answer.TRUE


def loop_of(region: Region) -> Node | None:
    """The only loop of a kernel whose results have its size, if it can be divided."""
    loops = [node for node in region.nodes() if node.op.traits & LOOPS]
    if len(loops) != 1 or loops[0].op.combine is None:
        return None
    (loop,) = loops
    shape = loop.result().tensor.shape
    same = all(value.tensor.shape == shape for value in region.results)
    is_dot = isinstance(loop.attrs, DotAttrs)  # which only transposes may follow
    return loop if (same or is_dot) and axes_of(loop) else None


def divided(loop: Node, flat: bool) -> Dim:
    """The size of the axis that is divided; all reduced ones are if they are walked as one."""
    axes = axes_of(loop)
    shape = loop.operands[0].tensor.shape
    whole = isinstance(loop.attrs, DotAttrs) or flat
    return product(shape[axis] for axis in (axes if whole else axes[:1]))


def parts_of(loop: Node, flat: bool) -> Parts:
    if isinstance(loop.attrs, DotAttrs):
        return _parts_of_dot(loop, loop.attrs)
    shape, axes = loop.operands[0].tensor.shape, axes_of(loop)
    size = divided(loop, flat)
    kept = [dim for axis, dim in enumerate(shape) if axis not in axes]
    inner = Dim.of(1) if flat else product(shape[axis] for axis in axes[1:])
    rows, width = product(kept), Dim.of(1)
    if kept and axes[-1] != len(shape) - 1:  # a task has a strip of rows
        rows, width = product(kept[:-1]) * ceildiv(kept[-1], STRIP), minimum(kept[-1], STRIP)
    return _divided(size, size * inner * width, rows, LONGEST)


def _parts_of_dot(dot: Node, attrs: DotAttrs) -> Parts:
    """Of the depth, each no shorter than that of a sum: products of it are worth more."""
    shape, depth = dot.result().tensor.shape, divided(dot, False)
    batch, right = len(attrs.batch[0]), dot.operands[1].tensor.rank
    free = right - batch - len(attrs.contract[1])
    rows, columns = product(shape[batch : len(shape) - free]), product(shape[len(shape) - free :])
    tasks = product(shape[:batch]) * ceildiv(rows, BLOCK) * ceildiv(columns, BLOCK)
    height, width = minimum(rows, BLOCK), minimum(columns, BLOCK)
    work = depth * (height + width + height * width // PRODUCTS)
    return _in(depth // PART, depth, work, tasks, LONGEST)


def _divided(size: Dim, work: Dim, rows: Dim, longest: int) -> Parts:
    """For an axis of this size, when a task for each row would combine `work` elements."""
    return _in(minimum(work // PART, size), size, work, rows, longest)


def _in(most: Dim, size: Dim, work: Dim, rows: Dim, longest: int) -> Parts:
    """In this many parts at most."""
    wanted = maximum(1 + (TASKS - 1) // maximum(1, rows), work // longest)
    parts = minimum(wanted, most)
    number = parts * minimum(1, maximum(0, parts - 1))
    return Parts(number, ceildiv(size, maximum(1, number)))
