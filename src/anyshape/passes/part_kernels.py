"""The kernels of long axes in parts: one that works on each part, and one that uses what it found.

What comes before an op is computed by both kernels, what follows it by the second alone.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

from anyshape.ir.attrs import NO_ATTRS, make_attrs
from anyshape.ir.build import Builder
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import PARAM, AnyOp, Trait, lookup, param_index
from anyshape.ir.types import DType, Shape, i64, wide_of
from anyshape.ops.compose import Expr, size
from anyshape.ops.cumulative import CumulativeAttrs, running_dtype
from anyshape.ops.dot import DotAttrs
from anyshape.ops.known import ATTENTION, MEAN
from anyshape.ops.reduce import REDUCTIONS, ArgReduceAttrs, ReduceAttrs
from anyshape.ops.sort import SortAttrs, TopKAttrs
from anyshape.passes.attention_parts import attention_from_parts, part_attention
from anyshape.sym import Dim, product


class Parts(NamedTuple):
    """Into how many parts an axis is divided, and how long they are; 0 if it is not, else 2 or
    more."""

    number: Dim
    length: Dim


def axes_of(loop: Node) -> tuple[int, ...]:
    """Of its first operand: those that are combined."""
    attrs = loop.attrs
    if isinstance(attrs, DotAttrs):
        return attrs.contract[0]
    if isinstance(attrs, CumulativeAttrs | ArgReduceAttrs):
        return (attrs.axis,)
    return tuple(sorted(cast(ReduceAttrs, attrs).axes))


def is_flat(loop: Node, given: Container[Node] = ()) -> bool:
    """Whether all reduced axes can be walked as one: they are neighbours, and everything that is
    read either lies along all of them as the operand does, or along none. What nodes of `given`
    compute is read as if it came from memory."""
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
        if value.node.op is not PARAM and value.node.operands and value.node not in given:
            if not value.node.op.has(Trait.ELEMENTWISE):
                return False
            waiting += value.node.operands
    return True


def _lies_alike(shape: Shape, whole: Shape, axes: Sequence[int]) -> bool:
    aligned = (*(Dim.of(1),) * (len(whole) - len(shape)), *shape)
    same = all(aligned[axis] == whole[axis] for axis in axes)
    return same or all(aligned[axis] == 1 for axis in axes)


@dataclass(frozen=True, slots=True)
class KernelOfLoop:
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


def in_parts(kernel: KernelOfLoop, parts: Parts, builder: Builder) -> Node:
    """The second of the two kernels, on what the first one computes."""
    return _staged(kernel, parts, _first_step(kernel, parts, builder).results, builder)


def _first_step(kernel: KernelOfLoop, parts: Parts, builder: Builder) -> Node:
    """The kernel that works on each part by itself."""
    inner = builder.nested()
    needed = [node for node in kernel.before if node.op is PARAM]
    numbers = [param_index(node) for node in needed]
    made = {node.result(): inner.param(node.result().type) for node in needed}
    _copy([node for node in kernel.before if node.op is not PARAM], made, inner)
    loop = kernel.loop
    flat = loop.op is not ATTENTION and is_flat(loop)
    results = of_parts(loop, [made[x] for x in loop.operands], parts, flat, inner)
    operands = [kernel.node.operands[number] for number in numbers]
    return builder.node(lookup("kernel"), operands, NO_ATTRS, [inner.region(results)])


def _staged(kernel: KernelOfLoop, parts: Parts, given: Sequence[Value], builder: Builder) -> Node:
    """The kernel that computes everything, as a whole or with what is given for the parts."""
    inner, loop = builder.nested(), kernel.loop
    made: dict[Value, Value] = {}
    params = [inner.param(type_) for type_ in kernel.region.params]
    extra = [inner.param(value.type) for value in given]
    for node in kernel.region.nodes():
        if node.op is PARAM:
            made[node.result()] = params[param_index(node)]
            continue
        _copy([node], made, inner)
        if node is loop:
            whole = made[loop.result()]
            second = from_parts(loop, made[loop.operands[0]], extra, parts, inner)
            made[loop.result()] = inner.emit("staged", whole, second, parts=parts.number)
    body = inner.region([made[value] for value in kernel.region.results])
    operands = [*kernel.node.operands, *given]
    return builder.node(lookup("kernel"), operands, NO_ATTRS, [body])


def _copy(nodes: Sequence[Node], made: dict[Value, Value], inner: Builder) -> None:
    for node in nodes:
        operands = [made[value] for value in node.operands]
        new = inner.node(node.op, operands, node.attrs, node.regions)
        made.update(zip(node.results, new.results, strict=True))


def of_parts(
    loop: Node, operands: Sequence[Value], parts: Parts, flat: bool, inner: Builder
) -> list[Value]:
    """What the first kernel computes: a total for each part, and where it is if that is asked."""
    if loop.op is ATTENTION:
        return [part_attention(loop, operands, *parts, inner)]
    combine, attrs = _combine_of(loop), loop.attrs
    where = {"parts": parts.number, "length": parts.length}
    more = {"dtype": _dtype_of_totals(loop, combine), **where}
    if isinstance(attrs, DotAttrs):
        pairs = {"contract": attrs.contract, "batch": attrs.batch}
        return [inner.emit("part_dot", *operands, **pairs, **more)]
    more |= {"combine": combine.name, "axes": axes_of(loop), "flat": flat}
    totals = inner.emit("part_reduce", *operands, **more)
    if not isinstance(attrs, ArgReduceAttrs):
        return [totals]
    return [totals, inner.emit("part_index", *operands, totals, axis=attrs.axis, **where)]


def _combine_of(loop: Node) -> AnyOp:
    assert loop.op.combine is not None, f"{loop.op.name} is not computed in parts"
    return loop.op.combine


def _dtype_of_totals(loop: Node, combine: AnyOp) -> DType:
    if isinstance(loop.attrs, ArgReduceAttrs):
        return loop.operands[0].tensor.dtype
    result = loop.result().tensor.dtype
    is_walked = isinstance(loop.attrs, CumulativeAttrs)
    return running_dtype(combine, result) if is_walked else wide_of(result)


def from_parts(loop: Node, x: Value, given: Sequence[Value], parts: Parts, inner: Builder) -> Value:
    """What the second kernel makes of it."""
    attrs, result = loop.attrs, loop.result().tensor
    if loop.op is ATTENTION:
        return attention_from_parts(loop, given[0], inner)
    if isinstance(attrs, CumulativeAttrs):
        more = {"axis": attrs.axis, "exclusive": attrs.exclusive, "reverse": attrs.reverse}
        more |= {"parts": parts.number, "length": parts.length}
        return inner.emit("part_cumulative", x, *given, combine=_combine_of(loop).name, **more)
    total = combined(loop, [Expr(inner, value) for value in given], _over_parts)
    if total.shape != result.shape:  # the reduced axes stay as size 1
        total = total.reshape(*result.shape)
    return total.value


Over = Callable[[Expr, str], Expr]
"""Combines along the axis of parts."""


def _over_parts(x: Expr, combine: str) -> Expr:
    return x.apply(REDUCTIONS[combine].name, axes=(0,))


def combined(loop: Node, given: Sequence[Expr], over: Over) -> Expr:
    """What a reduction gives, from what is given for its parts."""
    combine = _combine_of(loop).name
    if isinstance(loop.attrs, ArgReduceAttrs):
        return _lowest_index(combine, given[0], given[1], over)
    total = over(given[0], combine)
    if loop.op is MEAN:
        shape = loop.operands[0].tensor.shape
        total /= size(total.b, product(shape[axis] for axis in axes_of(loop)), total.dtype)
    return total.cast(loop.result().tensor.dtype)


def _lowest_index(combine: str, extrema: Expr, indices: Expr, over: Over) -> Expr:
    """Of those where parts have the extremum of all, or a NaN."""
    is_best = extrema.apply("eq", extrema.reduce(REDUCTIONS[combine].name, 0))
    if extrema.dtype.is_float:
        is_best = is_best.apply("logical_or", extrema.apply("is_nan"))
    nowhere = indices.lift(i64.highest)
    return over(is_best.apply("select", indices, nowhere), "minimum")


def sorted_in_parts(
    node: Node, attrs: SortAttrs | TopKAttrs, length: Dim, parts: Parts, builder: Builder
) -> Node:
    is_top = isinstance(attrs, TopKAttrs)
    kept, down = (attrs.k, attrs.largest) if is_top else (length, attrs.descending)
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
