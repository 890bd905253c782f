"""Long rows in parts: kernels of several reductions, and of what is made of them along the row.

A task computes a row from end to end (`families/row/space.py`), so one long row would be one task.
Such kernels get a second form beside it, with two steps for each reduction:

    softmax(x)   extrema = part_reduce(x)                 a task for each part
                 m       = max(extrema)                   a number for each row
                 totals  = part_reduce(exp(x - m))
                 s       = sum(totals)
                 staged(softmax(x), exp(x - m) / s)       as a whole, or as a map

Where rows are short or many there are no parts, and no numbers either: these have an axis of parts
too, of which the first element is read. So all steps but the last have no tasks then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from anyshape.families.row.space import rows_of, space_of
from anyshape.ir.attrs import NO_ATTRS
from anyshape.ir.build import Builder
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import PARAM, lookup, param_index
from anyshape.ir.types import Shape
from anyshape.ops.compose import Expr
from anyshape.passes.part_kernels import Parts, combined, is_flat, of_parts
from anyshape.sym import Dim


@dataclass(frozen=True, slots=True)
class LongRows:
    """The reductions of a kernel, in order, the widest of them, and whether reduced axes are
    walked as one."""

    node: Node
    reductions: tuple[Node, ...]
    widest: Node
    flat: bool

    @property
    def region(self) -> Region:
        return self.node.regions[0]


def long_rows_of(kernel: Node) -> LongRows | None:
    """The rows of a kernel, if all its loops are reductions that can be divided alike."""
    nodes = kernel.regions[0].nodes()
    places = rows_of(nodes)
    reductions = tuple(node for node in nodes if space_of(node) is not None)
    if not reductions or any(node.op.combine is None for node in reductions):
        return None
    inside = all(value.node in places for value in kernel.regions[0].results)
    widest = max(reductions, key=lambda node: sum(dim != 1 for dim in _operand(node)))
    space = places[widest].space
    alike = all(space.serves(places[node].space) for node in reductions)
    if not inside or not alike or not space.axes:
        return None
    return LongRows(kernel, reductions, widest, all(is_flat(r, reductions) for r in reductions))


def _operand(node: Node) -> Shape:
    return node.operands[0].tensor.shape


Given = Callable[["_Kernel", Node], Value]
"""What stands in a kernel for the result of a reduction."""


@dataclass
class _Kernel:
    """A kernel under construction, of the same nodes as the whole one, but for reductions."""

    inner: Builder
    whole: Node
    given: Given
    operands: list[Value] = field(default_factory=list[Value])
    params: dict[Value, Value] = field(default_factory=dict[Value, Value])
    made: dict[Value, Value] = field(default_factory=dict[Value, Value])

    def param(self, outer: Value) -> Value:
        if outer not in self.params:
            self.params[outer] = self.inner.param(outer.type)
            self.operands.append(outer)
        return self.params[outer]

    def value(self, value: Value) -> Value:
        """A value of the whole kernel, computed here."""
        if value not in self.made:
            self._make(value.node)
        return self.made[value]

    def _make(self, node: Node) -> None:
        if node.op is PARAM:
            self.made[node.result()] = self.param(self.whole.operands[param_index(node)])
        elif space_of(node) is not None:
            self.made[node.result()] = self.given(self, node)
        else:
            self.copy(node)

    def copy(self, node: Node) -> None:
        operands = [self.value(value) for value in node.operands]
        new = self.inner.node(node.op, operands, node.attrs, node.regions)
        self.made.update(zip(node.results, new.results, strict=True))

    def finish(self, results: Sequence[Value], builder: Builder) -> Node:
        body = self.inner.region(results)
        return builder.node(lookup("kernel"), self.operands, NO_ATTRS, [body])


def rows_in_parts(rows: LongRows, parts: Parts, builder: Builder) -> Node:
    """The last kernel, on what those before it compute."""
    numbers: dict[Node, Value] = {}

    def known(kernel: _Kernel, reduction: Node) -> Value:
        first = _first(Expr(kernel.inner, kernel.param(numbers[reduction])))
        return first.reshape(*reduction.result().tensor.shape).value

    for reduction in rows.reductions:
        kernel = _Kernel(builder.nested(), rows.node, known)
        operands = [kernel.value(value) for value in reduction.operands]
        results = of_parts(reduction, operands, parts, rows.flat, kernel.inner)
        totals = kernel.finish(results, builder).results
        numbers[reduction] = _numbers(reduction, totals, parts, builder)
    return _staged(rows, parts, known, builder)


def _first(numbers: Expr) -> Expr:
    """The numbers of the first part; zeros where there is none, which nobody uses."""
    none, one = ((Dim.of(size), *(Dim.of(0),) * (numbers.rank - 1)) for size in (0, 1))
    padded = numbers.apply("pad", 0, low=none, high=one)
    stops, steps = (Dim.of(1), *numbers.shape[1:]), (1,) * numbers.rank
    return padded.apply("slice", starts=(Dim.of(0),) * numbers.rank, stops=stops, steps=steps)


def _numbers(reduction: Node, totals: Sequence[Value], parts: Parts, builder: Builder) -> Value:
    """What a reduction gives, as the first part of as many as there are: it has all totals."""
    inner = builder.nested()
    given = [Expr(inner, inner.param(value.type)) for value in totals]

    def over(x: Expr, combine: str) -> Expr:
        where = {"axes": (0,), "parts": parts.number, "length": parts.number}
        return x.apply("part_reduce", combine=combine, dtype=x.dtype, **where)

    body = inner.region([combined(reduction, given, over).value])
    return builder.node(lookup("kernel"), totals, NO_ATTRS, [body]).result()


def _staged(rows: LongRows, parts: Parts, known: Given, builder: Builder) -> Node:
    """The kernel that computes everything, as a whole or with what is known of the parts."""
    divided = _Kernel(builder.nested(), rows.node, known)
    for value in rows.node.operands:
        divided.param(value)
    whole = _Kernel(divided.inner, rows.node, _copied)
    whole.operands, whole.params = divided.operands, divided.params
    results: list[Value] = []
    for value in rows.region.results:
        ways = whole.value(value), divided.value(value)
        results.append(divided.inner.emit("staged", *ways, parts=parts.number))
    return divided.finish(results, builder)


def _copied(kernel: _Kernel, node: Node) -> Value:
    kernel.copy(node)
    return kernel.made[node.result()]
