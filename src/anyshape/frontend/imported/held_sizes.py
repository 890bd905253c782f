"""The sizes that small integer tensors hold: `torch.tensor(x.size(1)).item() // 2`, or in ONNX

    Concat(Gather(Shape(x), 0), [-1, 64])       as the new shape of a Reshape

A tensor that is computed from sizes alone holds dims, whatever its rank. In a narrow dtype none of
them may wrap, and none is divided by 0: proven, or checked by each call. A number that depends on
data is known only when the graph runs, and nothing that is decided before may depend on it.

Each value of a region is looked at once (`SizeTable`), and its operands before it, without
recursion. What facts do not decide when a value is first looked at stays undecided for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from anyshape.frontend.builder.convert import require_held
from anyshape.frontend.builder.tracer import Tracer, active
from anyshape.frontend.imported.size_elements import Element, Elements, as_dim, flat, known_only
from anyshape.frontend.imported.size_rules import elements_of, read_operands
from anyshape.ir.node import Value
from anyshape.ir.opdef import PARAM
from anyshape.ir.types import TensorType
from anyshape.sym import Dim, NotEqual

LIMIT = 64
"""Tensors with more elements hold no sizes: shapes, and what is computed from them, are short."""


def sizes_in(value: Value) -> tuple[Dim, ...] | None:
    """The dims that an integer tensor of the active region is known to hold, in row-major order;
    None if one of them depends on data."""
    tracer = active()
    table = tracer.analysis(SizeTable)
    elements = table.elements(tracer, value)
    if elements is None or len(known := known_only(flat(elements))) < elements.size:
        return None
    table.require(tracer, known)
    return tuple(tracer.dim(as_dim(element)) for element in known)


class SizeTable:
    """What the values of one region hold, as far as they were asked for."""

    def __init__(self) -> None:
        self._known: dict[Value, Elements | None] = {}
        self._required: set[Element] = set()

    def elements(self, tracer: Tracer, value: Value) -> Elements | None:
        """The elements of a value; None if nothing is known of it."""
        stack = [value]
        while stack:
            current = stack[-1]
            if current in self._known:
                stack.pop()
            elif not _may_hold_sizes(tracer, current):
                self._known[current] = None
            elif missing := [o for o in read_operands(current.node) if o not in self._known]:
                stack.extend(missing)
            else:
                self._known[current] = self._at(tracer, current)
        return self._known[value]

    def _at(self, tracer: Tracer, value: Value) -> Elements | None:
        """The elements of a value whose operands are known, or of what a region captures."""
        outer = _captured(tracer, value)
        if tracer.parent is not None and outer is not None:
            return tracer.parent.analysis(SizeTable).elements(tracer.parent, outer)
        operands = [self._known[operand] for operand in read_operands(value.node)]
        return elements_of(tracer, value, operands)

    def require(self, tracer: Tracer, elements: Sequence[Element]) -> None:
        """What these elements were computed from does not wrap, and has a quotient."""
        stack = [*elements]
        while stack:
            element = stack.pop()
            if element in self._required:
                continue
            self._required.add(element)
            stack.extend(element.parents)
            if element.divisor is not None and element.divisor.constant is None:
                nonzero = NotEqual(element.divisor, Dim.of(0))
                tracer.require(nonzero, f"a size is divided by {element.divisor}")
            if isinstance(element.number, Dim):
                what = f"size {element.number}"
                require_held(what, element.number, element.number, element.dtype)


def _may_hold_sizes(tracer: Tracer, value: Value) -> bool:
    """Whether it is a short tensor of integers, or of truth values that integers decide. One of
    which a size is 0 is short, and may have any other sizes beside it."""
    type_ = tracer.builder.resolve_type(value.type)
    if not isinstance(type_, TensorType) or type_.dtype.is_float:
        return False
    sizes = [dim.constant for dim in type_.shape if dim.constant is not None]
    return len(sizes) == len(type_.shape) and math.prod(sizes) <= LIMIT


def _captured(tracer: Tracer, value: Value) -> Value | None:
    """The value outside that a parameter of a nested region captures."""
    if value.node.op is not PARAM:
        return None
    return next((outer for outer, inner in tracer.captures.items() if inner == value), None)
