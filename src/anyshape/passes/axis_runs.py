"""What a reshape does to axes: in which runs it splits and merges them, and what that makes of
operands that broadcast."""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.ir.build import Builder
from anyshape.ir.node import Value
from anyshape.ir.types import Shape
from anyshape.ops.known import RESHAPE
from anyshape.sym import Dim, product

ONE = Dim.of(1)


def reshaped(value: Value, shape: Shape, builder: Builder) -> Value:
    """Of several reshapes in a row the last one counts."""
    while value.node.op is RESHAPE and value.tensor.shape != shape:
        value = value.node.operands[0]
    same = value.tensor.shape == shape
    return value if same else builder.emit("reshape", value, shape=shape)


Run = tuple[range, range]
"""Axes of two shapes that are the same elements."""


def axis_runs(old: Shape, new: Shape) -> list[Run]:
    """Axes of two shapes, in runs of the same number of elements, the shortest from the right."""
    runs, left, right = list[Run](), len(old), len(new)
    while left or right:
        start, other = _run(old[:left], new[:right])
        runs.append((range(start, left), range(other, right)))
        left, right = start, other
    return runs[::-1]


def _run(old: Shape, new: Shape) -> tuple[int, int]:
    """Where the last run begins; at the beginning, if no sizes are the same."""
    for taken in range(2, len(old) + len(new) + 1):
        for a in range(max(1, taken - len(new)), min(taken - 1, len(old)) + 1):
            if product(old[len(old) - a :]) == product(new[len(new) - (taken - a) :]):
                return len(old) - a, len(new) - (taken - a)
    return 0, 0


def shape_before(operand: Shape, new: Shape, old: Shape, runs: Sequence[Run]) -> Shape | None:
    """The shape of an operand that broadcasts to `new`, as it broadcasts to `old`: it has all axes
    of a run, or repeats along all of them. None if it does neither."""
    if not operand:
        return operand
    aligned = (*(ONE,) * (len(new) - len(operand)), *operand)
    shape = list[Dim]()
    for before, after in runs:
        dims = [aligned[axis] for axis in after]
        if all(dim == ONE for dim in dims):
            shape += [ONE] * len(before)
        elif dims == [new[axis] for axis in after]:
            shape += [old[axis] for axis in before]
        else:
            return None
    return tuple(shape)
