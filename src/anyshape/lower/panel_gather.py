"""Tables that are looked up in panels: a gather reads what was packed for a matrix product.

A language model often multiplies by the very matrix in which it looks its tokens up. The panels
hold every element of it, so the table need not be kept in its own order as well. A row is then
spread over as many cache lines as it has elements, which costs little beside the product that the
panels are for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from anyshape.ir.build import Builder
from anyshape.ir.node import Region, Value
from anyshape.ir.opdef import Trait
from anyshape.ir.rewrite.inline import inline_region
from anyshape.ir.types import Shape, TensorType
from anyshape.lower.packing import Packing
from anyshape.lower.params import Use, is_param, uses_of
from anyshape.ops.known import GATHER
from anyshape.ops.movement import AxisAttrs
from anyshape.sym import Dim, Facts, FactScope


def is_looked_up(region: Region, param: int, packing: Packing) -> bool:
    """Whether a region does nothing with a parameter but take whole columns of its panels."""
    if packing.parts > 1 or packing.group > 1:
        return False  # they are not next to each other
    if any(node.op.has(Trait.CONTRACTION) for node in region.nodes()):
        return False  # kernels of products find their operands by themselves
    if any(is_param(value, param) for value in region.results):
        return False
    return all(_takes_columns(use, packing) for use in uses_of(region, param))


def _takes_columns(use: Use, packing: Packing) -> bool:
    if use.node.op is not GATHER or use.operand != 0:
        return False
    return use.node.attrs_as(AxisAttrs).axis in packing.free


def reading_panels(region: Region, packings: Mapping[int, Packing], facts: Facts) -> Region:
    """The same region for parameters that are given in panels. `facts` hold around the region."""
    outer = FactScope.of(facts, distinct_names=False)
    builder = Builder(FactScope.of(region.facts, parent=outer))
    values: list[Value] = []
    for number, type_ in enumerate(region.params):
        if number in packings and isinstance(type_, TensorType):
            values.append(_unpacked(builder, type_, packings[number]))
        else:
            values.append(builder.param(type_))
    return builder.region(inline_region(region, values, builder))


def _unpacked(builder: Builder, plain: TensorType, packing: Packing) -> Value:
    """The plain table as a view of its panels, the inverse of `packing.pack`: a new parameter, and
    index arithmetic alone."""
    shape = tuple(int(dim) for dim in plain.shape)
    batch, panels, depth, columns = packing.shape(shape)
    given = builder.param(plain.with_shape(_dims(batch, panels, depth, columns)))
    turned = builder.emit("transpose", given, perm=(0, 2, 1, 3))
    filled = builder.emit("reshape", turned, shape=_dims(batch, depth, panels * columns))
    wanted = _dims(batch, depth, math.prod(shape[axis] for axis in packing.free))
    starts, steps = _dims(0, 0, 0), (1, 1, 1)
    matrix = builder.emit("slice", filled, starts=starts, stops=wanted, steps=steps)
    order = (*packing.batch, *packing.depth, *packing.free)
    apart = builder.emit("reshape", matrix, shape=_dims(*(shape[axis] for axis in order)))
    return builder.emit("transpose", apart, perm=tuple(map(order.index, range(len(order)))))


def _dims(*sizes: int) -> Shape:
    return tuple(map(Dim.of, sizes))
