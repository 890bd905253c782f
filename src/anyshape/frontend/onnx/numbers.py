"""Numbers that a graph's structure depends on: new shapes, axes, counts, bounds.

Where they are made of constants and sizes, they are known while the model is read. Where data
decide, a size is computed by each call (a late axis). What decides ranks or a number of results
must be known: if it depends on inputs of the model alone, `StaticInputsError` names them, and
whoever imports may give their values.
"""

from __future__ import annotations

import numpy as np

from anyshape.frontend.builder.item import integer
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import Tracer, active
from anyshape.frontend.imported.held_sizes import LIMIT, sizes_in
from anyshape.ir.literal import TensorLiteral
from anyshape.ir.node import Value
from anyshape.ir.opdef import PARAM, param_index
from anyshape.ir.types import Array
from anyshape.ops.source import ConstantAttrs, constant
from anyshape.sym import Dim, maximum


class StaticInputsError(Exception):
    """Inputs of the model, by number, whose values must be known while it is read."""

    def __init__(self, inputs: frozenset[int]) -> None:
        super().__init__(inputs)
        self.inputs = inputs


def known_sizes(x: Tensor) -> tuple[Dim, ...] | None:
    """The dims that an integer tensor holds; None if data decide."""
    return sizes_in(active().value(x))


def sizes_of(x: Tensor) -> tuple[Dim, ...]:
    """The elements of a short integer tensor as dims, computed by each call if need be."""
    known = known_sizes(x)
    if known is not None:
        return known
    flat = x.reshape(-1) if x.ndim != 1 else x
    count = flat.shape[0].constant
    if count is None:
        raise _undecided(x, "number of sizes")
    if count > LIMIT:
        raise active().refuse(
            f"a shape of {x.type} that data decide", "let the shape have a fixed number of sizes"
        )
    return tuple(integer(flat[i]) for i in range(count))


def not_negative(count: Dim) -> Dim:
    """A count below 0 means none."""
    return count if active().proves(count >= 0) else maximum(count, Dim.of(0))


def integers_of(x: Tensor, what: str) -> tuple[int, ...]:
    """The elements of an integer tensor, which the structure of the graph depends on."""
    known = known_sizes(x)
    numbers = None if known is None else [dim.constant for dim in known]
    if numbers is None or None in numbers:
        raise _undecided(x, what)
    return tuple(number for number in numbers if number is not None)


def array_in(x: Tensor, what: str) -> Array:
    """The elements of a constant."""
    value = active().value(x)
    if value.node.op is not constant:
        if not x.dtype.is_float and known_sizes(x) is not None:
            shape = [int(dim) for dim in x.shape]
            return np.array(integers_of(x, what), x.dtype.numpy).reshape(shape)
        raise _undecided(x, what)
    literal = value.node.attrs_as(ConstantAttrs).value
    if isinstance(literal, TensorLiteral):
        return literal.array
    return active().builder.weights.array(literal)


def _undecided(x: Tensor, what: str) -> Exception:
    """Asks for the inputs that decide, or says that none does."""
    inputs = _inputs_behind(active(), active().value(x))
    if inputs:
        return StaticInputsError(inputs)
    problem = f"{what} that is computed while the model runs"
    return active().refuse(problem, f"make the {what} a constant of the model")


def _inputs_behind(tracer: Tracer, value: Value) -> frozenset[int]:
    """The parameters of the model that a value is computed from; none if a loop's state is."""
    stack: list[tuple[Tracer, Value]] = [(tracer, value)]
    seen: set[Value] = set()
    found: set[int] = set()
    while stack:
        region, current = stack.pop()
        if current in seen:
            continue
        seen.add(current)
        if current.node.op is not PARAM:
            stack.extend((region, operand) for operand in current.node.operands)
        elif region.parent is None:
            found.add(param_index(current.node))
        else:
            outer = [value for value, inside in region.captures.items() if inside == current]
            if not outer:
                return frozenset()
            stack.append((region.parent, outer[0]))
    return frozenset(found)
