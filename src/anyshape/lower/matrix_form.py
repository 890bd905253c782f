"""Recognising matrix products: one `dot` in a region, what it reads, and what follows it.

A dot is a matrix product if its axes fall into batch, rows, columns and depth such that rows and
depth of lhs, and columns and depth of rhs, are each one stride apart. Columns of rhs must also be
next to each other in memory, unless rhs is a constant, which is stored in panels anyway. Whatever
follows the dot must be elementwise and of its shape.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import PARAM, ParamAttrs, Trait
from anyshape.ir.types import Shape
from anyshape.loop.printer import row_major
from anyshape.ops.dot import DotAttrs
from anyshape.ops.movement import TransposeAttrs
from anyshape.sym import Dim, product


@dataclass(frozen=True, slots=True)
class Operand:
    """A parameter of the region, seen through transposes."""

    param: int
    axes: tuple[int, ...]  # of the parameter, in the order in which the dot sees them
    shape: Shape
    strides: Shape

    def merged(self, axes: Sequence[int]) -> Dim | None:
        """The stride of these axes as one, if they are: 0 if there are none."""
        for outer, inner in pairwise(axes):
            if self.strides[outer] != self.strides[inner] * self.shape[inner]:
                return None
        return self.strides[axes[-1]] if axes else Dim.of(0)

    def size(self, axes: Sequence[int]) -> Dim:
        return product(self.shape[axis] for axis in axes)


@dataclass(frozen=True, slots=True)
class Side:
    """An operand and the roles of its axes. Strides are of free axes and depth as one axis each.

    `free_stride` is None where only a packed constant will do.
    """

    operand: Operand
    batch: tuple[int, ...]
    depth: tuple[int, ...]
    free: tuple[int, ...]
    free_stride: Dim | None
    depth_stride: Dim | None


@dataclass(frozen=True, slots=True)
class MatrixForm:
    """A dot as a matrix product. `packed`: rhs is to be stored in panels."""

    dot: Node
    lhs: Side
    rhs: Side
    packed: bool

    @property
    def rows(self) -> Dim:
        return self.lhs.operand.size(self.lhs.free)

    @property
    def columns(self) -> Dim:
        return self.rhs.operand.size(self.rhs.free)

    @property
    def depth(self) -> Dim:
        return self.lhs.operand.size(self.lhs.depth)


def matrix_form(region: Region, constants: Set[int]) -> MatrixForm | str:
    """The matrix product that a region computes, or why it does not."""
    loops = [n for n in region.nodes() if n.op.traits & {Trait.REDUCTION, Trait.CONTRACTION}]
    if len(loops) != 1 or loops[0].op.name != "dot":
        return "it is not a single dot"
    (dot,) = loops
    if not dot.result().tensor.dtype.is_float:
        return "its numbers are integers"
    if objection := _objection_to_epilogue(region, dot):
        return objection
    lhs, rhs = _side(dot, 0), _side(dot, 1)
    if lhs is None or rhs is None:
        return "an operand is computed inside the kernel"
    packed = rhs.operand.param in constants and _uses(region, rhs.operand.param) == 1
    return _checked(MatrixForm(dot, lhs, rhs, packed))


def _checked(form: MatrixForm) -> MatrixForm | str:
    lhs, rhs = form.lhs, form.rhs
    if not rhs.free or not rhs.depth:
        return "it has no columns, or sums nothing"
    if lhs.free_stride is None or lhs.depth_stride is None:
        return "axes of lhs are apart in memory"
    if not form.packed and (rhs.free_stride != 1 or rhs.depth_stride is None):
        return "columns of rhs are apart in memory"
    return form


def _objection_to_epilogue(region: Region, dot: Node) -> str:
    shape, after = dot.result().tensor.shape, {dot}
    for node in region.nodes():
        if not any(value.node in after for value in node.operands):
            continue
        after.add(node)
        if not node.op.has(Trait.ELEMENTWISE) or node.result().tensor.shape != shape:
            return f"{node.op.name} follows, which is not elementwise of the same shape"
    whole = all(result.node in after for result in region.results)
    return "" if whole else "a result does not depend on it"


def _uses(region: Region, param: int) -> int:
    """How often a parameter is read in the region."""
    return sum(
        value.node.op is PARAM and cast(ParamAttrs, value.node.attrs).index == param
        for node in region.nodes()
        for value in node.operands
    )


def _side(dot: Node, side: int) -> Side | None:
    operand = _operand(dot.operands[side])
    if operand is None:
        return None
    attrs = cast(DotAttrs, dot.attrs)
    batch, depth = attrs.batch[side], attrs.contract[side]
    free = tuple(a for a in range(len(operand.shape)) if a not in (*batch, *depth))
    return Side(operand, batch, depth, free, operand.merged(free), operand.merged(depth))


def _operand(value: Value) -> Operand | None:
    if value.node.op is PARAM:
        shape = value.tensor.shape
        axes = tuple(range(len(shape)))
        return Operand(cast(ParamAttrs, value.node.attrs).index, axes, shape, row_major(shape))
    if value.node.op.name != "transpose":
        return None
    inner = _operand(value.node.operands[0])
    perm = cast(TransposeAttrs, value.node.attrs).perm
    return inner and Operand(
        inner.param,
        tuple(inner.axes[axis] for axis in perm),
        tuple(inner.shape[axis] for axis in perm),
        tuple(inner.strides[axis] for axis in perm),
    )
