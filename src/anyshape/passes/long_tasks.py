"""Long axes of few rows are computed in parts, on several threads.

A reduction is one task for each row, a running total and a sort too: a sum of everything would be
one task, which no other thread can share and nobody can end. Kernels of such ops get a second form:

    sum(x)      totals = part_reduce(x)              a task for each part
                staged(sum(x), sum(totals))          at most one task per row, as before

    cumsum(x)   totals = part_reduce(x)
                staged(cumsum(x), part_cumulative(x, totals))

    sort(x)     values, places = sort_parts(x)
                merge_parts(x, values, places)       sorts by itself if there are no parts

Sizes decide how many parts there are. Where an axis is short or rows are many there are none: the
kernels of totals then have no tasks, and the last one does what it always did. Axes that the facts
show to be short keep the one form that they have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, cast

from anyshape.ir.attrs import NO_ATTRS, make_attrs
from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import PARAM, ParamAttrs, Trait, lookup
from anyshape.ir.rewrite import Decision
from anyshape.ir.rewrite.rebuild import Rebuilder, rebuild_graph
from anyshape.ir.types import DType, Shape, wide_of
from anyshape.ops.cumulative import CumulativeAttrs, running_dtype
from anyshape.ops.order import SortAttrs, TopKAttrs
from anyshape.ops.reduce import ReduceAttrs
from anyshape.passes.infra import PassContext
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
"""Neighbouring rows that one task reduces together, as in `lower/row.py`."""

REDUCTIONS: Final[Mapping[str, str]] = {
    "sum": "sum",
    "mean": "sum",
    "prod": "prod",
    "max": "max",
    "min": "min",
}
CUMULATIVE: Final[Mapping[str, str]] = {
    "cumsum": "sum",
    "cumprod": "prod",
    "cummax": "max",
    "cummin": "min",
}
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
        if node.op.name != "kernel":
            return node.results
        root = node.regions[0].results[:1]
        if root and isinstance(root[0].node.attrs, SortAttrs | TopKAttrs):
            return self._sorted(node, root[0].node, builder)
        loop = loop_of(node.regions[0])
        if loop is None:
            return node.results
        parts = parts_of(loop)
        if builder.scope.proves(LessEqual(divided(loop), Dim.of(2 * PART - 1))) is Answer.TRUE:
            return node.results
        decision = Decision(self.name, True, f"in {parts.number} parts", loop, builder.place)
        self.ctx.decisions.record(decision)
        return _in_parts(_Kernel(node, loop), parts, builder).results

    def _sorted(self, node: Node, sort: Node, builder: Builder) -> tuple[Value, ...]:
        attrs, x = sort.attrs, sort.operands[0].tensor
        assert isinstance(attrs, SortAttrs | TopKAttrs)
        size = x.shape[attrs.axis]
        if builder.scope.proves(LessEqual(size, Dim.of(2 * PART - 1))) is Answer.TRUE:
            return node.results
        rows = product((*x.shape[: attrs.axis], *x.shape[attrs.axis + 1 :]))
        parts = _divided(size, size, rows, LONGEST_SORT)
        decision = Decision(self.name, True, f"in {parts.number} parts", sort, builder.place)
        self.ctx.decisions.record(decision)
        return _sorted_in_parts(node, attrs, size, parts, builder).results


# --- which kernels, and how many parts ------------------------------------------------------------


def loop_of(region: Region) -> Node | None:
    """The only loop of a kernel whose results have its shape, if it can be divided."""
    loops = [node for node in region.nodes() if node.op.traits & LOOPS]
    if len(loops) != 1 or loops[0].op.name not in {**REDUCTIONS, **CUMULATIVE}:
        return None
    shape = loops[0].result().tensor.shape
    same = all(value.tensor.shape == shape for value in region.results)
    return loops[0] if same and axes_of(loops[0]) else None


def axes_of(loop: Node) -> tuple[int, ...]:
    attrs = loop.attrs
    if isinstance(attrs, CumulativeAttrs):
        return (attrs.axis,)
    return tuple(sorted(cast(ReduceAttrs, attrs).axes))


def is_flat(loop: Node) -> bool:
    """Whether all reduced axes can be walked as one: they are neighbours, and everything that is
    read either lies along all of them as the operand does, or along none."""
    axes = axes_of(loop)
    if len(axes) == 1 or axes != tuple(range(axes[0], axes[-1] + 1)):
        return False
    x = loop.operands[0]
    seen, waiting = set[Value](), [x]
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        if not _lies_alike(value.tensor.shape, x.tensor.shape, axes):
            return False
        if value.node.op is not PARAM and value.node.operands:
            if not value.node.op.has(Trait.ELEMENTWISE):
                return False
            waiting += value.node.operands
    return True


def _lies_alike(shape: Shape, whole: Shape, axes: Sequence[int]) -> bool:
    aligned = (*(Dim.of(1),) * (len(whole) - len(shape)), *shape)
    same = all(aligned[axis] == whole[axis] for axis in axes)
    return same or all(aligned[axis] == 1 for axis in axes)


def divided(loop: Node) -> Dim:
    """The size of the axis that is divided."""
    axes = axes_of(loop)
    shape = loop.operands[0].tensor.shape
    return product(shape[axis] for axis in (axes if is_flat(loop) else axes[:1]))


class Parts(NamedTuple):
    """Into how many parts an axis is divided, and how long they are; 0 if it is not, else 2 or
    more."""

    number: Dim
    length: Dim


def parts_of(loop: Node) -> Parts:
    shape, axes = loop.operands[0].tensor.shape, axes_of(loop)
    size = divided(loop)
    kept = [dim for axis, dim in enumerate(shape) if axis not in axes]
    inner = Dim.of(1) if is_flat(loop) else product(shape[axis] for axis in axes[1:])
    rows, width = product(kept), Dim.of(1)
    if kept and axes[-1] != len(shape) - 1:  # a task has a strip of rows
        rows, width = product(kept[:-1]) * ceildiv(kept[-1], STRIP), minimum(kept[-1], STRIP)
    return _divided(size, size * inner * width, rows, LONGEST)


def _divided(size: Dim, work: Dim, rows: Dim, longest: int) -> Parts:
    """For an axis of this size, when a task for each row would combine `work` elements."""
    wanted = maximum(1 + (TASKS - 1) // maximum(1, rows), work // longest)
    parts = minimum(wanted, minimum(work // PART, size))
    number = parts * minimum(1, maximum(0, parts - 1))
    return Parts(number, ceildiv(size, maximum(1, number)))


# --- kernels --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Kernel:
    """A kernel node on new operands, and its loop."""

    node: Node
    loop: Node

    @property
    def region(self) -> Region:
        return self.node.regions[0]

    @property
    def before(self) -> list[Node]:
        """What the loop is computed from, in order."""
        needed = {value.node for value in self.loop.operands}
        nodes = [node for node in self.region.nodes() if node is not self.loop]
        for node in reversed(nodes):
            if node in needed:
                needed |= {value.node for value in node.operands}
        return [node for node in nodes if node in needed]


def _in_parts(kernel: _Kernel, parts: Parts, builder: Builder) -> Node:
    loop, attrs = kernel.loop, kernel.loop.attrs
    if isinstance(attrs, CumulativeAttrs):
        op = CUMULATIVE[loop.op.name]
        dtype = running_dtype(op, loop.result().tensor.dtype)
    else:
        op, dtype = REDUCTIONS[loop.op.name], wide_of(loop.result().tensor.dtype)
    return _staged(kernel, parts, _totals(kernel, op, parts, dtype, builder), builder)


def _totals(kernel: _Kernel, op: str, parts: Parts, dtype: DType, builder: Builder) -> Value:
    """The kernel that computes a total for each part."""
    inner = builder.nested()
    needed = [node for node in kernel.before if node.op is PARAM]
    numbers = [cast(ParamAttrs, node.attrs).index for node in needed]
    made = {node.result(): inner.param(node.result().type) for node in needed}
    _copy([node for node in kernel.before if node.op is not PARAM], made, inner)
    x = made[kernel.loop.operands[0]]
    axes, flat = axes_of(kernel.loop), is_flat(kernel.loop)
    more = {"axes": axes, "parts": parts.number, "length": parts.length, "flat": flat}
    found = inner.emit("part_reduce", x, function=op, dtype=dtype, **more)
    operands = [kernel.node.operands[number] for number in numbers]
    return builder.node(lookup("kernel"), operands, NO_ATTRS, [inner.region([found])]).result()


def _staged(kernel: _Kernel, parts: Parts, given: Value, builder: Builder) -> Node:
    """The kernel that computes everything, as a whole or with what is given for the parts."""
    inner, loop = builder.nested(), kernel.loop
    made: dict[Value, Value] = {}
    params = [inner.param(type_) for type_ in kernel.region.params]
    extra = inner.param(given.type)
    for node in kernel.region.nodes():
        if node.op is PARAM:
            made[node.result()] = params[cast(ParamAttrs, node.attrs).index]
            continue
        _copy([node], made, inner)
        if node is loop:
            whole = made[loop.result()]
            second = _from_parts(loop, made[loop.operands[0]], extra, parts, inner)
            made[loop.result()] = inner.emit("staged", whole, second, parts=parts.number)
    body = inner.region([made[value] for value in kernel.region.results])
    operands = [*kernel.node.operands, given]
    return builder.node(lookup("kernel"), operands, NO_ATTRS, [body])


def _copy(nodes: Sequence[Node], made: dict[Value, Value], inner: Builder) -> None:
    for node in nodes:
        operands = [made[value] for value in node.operands]
        new = inner.node(node.op, operands, node.attrs, node.regions)
        made.update(zip(node.results, new.results, strict=True))


def _from_parts(loop: Node, x: Value, given: Value, parts: Parts, inner: Builder) -> Value:
    attrs, result = loop.attrs, loop.result().tensor
    if isinstance(attrs, CumulativeAttrs):
        more = {"axis": attrs.axis, "exclusive": attrs.exclusive, "reverse": attrs.reverse}
        more |= {"parts": parts.number, "length": parts.length}
        return inner.emit("part_cumulative", x, given, function=CUMULATIVE[loop.op.name], **more)
    total = inner.emit(REDUCTIONS[loop.op.name], given, axes=(0,))
    if loop.op.name == "mean":
        count = inner.emit("dim_value", value=product(x.tensor.shape[a] for a in axes_of(loop)))
        total = inner.emit("div", total, inner.emit("cast", count, to=total.tensor.dtype))
    if total.tensor.dtype is not result.dtype:
        total = inner.emit("cast", total, to=result.dtype)
    if total.tensor.shape != result.shape:  # the reduced axes stay as size 1
        total = inner.emit("reshape", total, shape=result.shape)
    return total


def _sorted_in_parts(
    node: Node, attrs: SortAttrs | TopKAttrs, size: Dim, parts: Parts, builder: Builder
) -> Node:
    is_top = isinstance(attrs, TopKAttrs)
    kept, down = (attrs.k, attrs.largest) if is_top else (size, attrs.descending)
    more = {"axis": attrs.axis, "kept": kept, "descending": down}
    more |= {"parts": parts.number, "length": parts.length}
    first = _alone("sort_parts", node.operands, more, builder)
    return _alone("merge_parts", (*node.operands, *first.results), more, builder)


def _alone(
    op: str, operands: Sequence[Value], more: Mapping[str, object], builder: Builder
) -> Node:
    """A kernel of one op."""
    inner, entry = builder.nested(), lookup(op)
    params = [inner.param(value.type) for value in operands]
    node = inner.node(entry, params, make_attrs(op, entry.attrs, more))
    return builder.node(lookup("kernel"), operands, NO_ATTRS, [inner.region(node.results)])
