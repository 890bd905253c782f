"""Reductions: a loop of their own, in the outermost place that knows their index."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from anyshape.analysis.reduced_axes import reduced_axes
from anyshape.ir.node import Node, Value
from anyshape.ir.opdef import Trait
from anyshape.ir.types import DType, bool_, i64, wide_of
from anyshape.loop import Bind, For, Number, Scalar, Statement
from anyshape.loop.ir import Index, neutral
from anyshape.loop.merge import flattened, step_of
from anyshape.loop.rewrite import accesses
from anyshape.lower.context import RULES, Conditions, Lowering, rule
from anyshape.lower.movement import delinear
from anyshape.ops.known import WINDOWS
from anyshape.ops.reduce import REDUCTIONS, ArgReduceAttrs, ReduceAttrs
from anyshape.sym import Dim, product


def combine_of(node: Node) -> str:
    """The op of two that its elements are put together with."""
    assert node.op.combine is not None, f"{node.op.name} combines nothing"
    return node.op.combine.name


def reduction(low: Lowering, node: Node, index: Index, conditions: Conditions) -> Scalar:
    dtype = node.result().tensor.dtype
    total = combined(low, node, index, conditions, combine_of(node), wide_of(dtype))
    return low.cast(total, dtype)


def combined(
    low: Lowering, node: Node, index: Index, conditions: Conditions, op: str, wide: DType
) -> Scalar:
    attrs = node.attrs_as(ReduceAttrs)
    (x,) = node.operands
    kept = _kept(attrs, x.tensor.rank, index)

    def element(chosen: list[Dim]) -> Scalar:
        inner, outer = iter(chosen), iter(kept)
        axes = range(x.tensor.rank)
        source = tuple(next(inner) if axis in attrs.axes else next(outer) for axis in axes)
        return low.cast(low.at(x, source, conditions), wide)

    if (inside := _small_window(node)) is not None:
        return _one_by_one(low, op, wide, [element(place) for place in inside])
    runs = [[x.tensor.shape[axis] for axis in run] for run in _runs(sorted(attrs.axes))]
    known = (*kept, *_sides(conditions))

    def element_of_runs(chosen: list[Dim]) -> Scalar:
        parts = (delinear(tuple(run), i) for run, i in zip(runs, chosen, strict=True))
        return element([i for part in parts for i in part])

    if any(len(run) > 1 for run in runs):
        whole = [product(run) for run in runs]
        total = low.accumulate_if(_is_linear, op, wide, whole, known, element_of_runs)
        if total is not None:
            return total
    return low.accumulate(op, wide, [size for run in runs for size in run], known, element)


# --- small windows --------------------------------------------------------------------------------

MOST_PLACES = 64
"""Of a window whose elements are combined without a loop."""


def _small_window(node: Node) -> list[list[Dim]] | None:
    """The places of a window that a reduction goes over, if they are known and few.

    Without a loop around each element the kernel is a map, whose lanes are neighbouring windows.
    """
    sizes = [node.operands[0].tensor.shape[axis] for axis in sorted(reduced_axes(node) or ())]
    if not _reads_windows(node.operands[0]) or any(size.constant is None for size in sizes):
        return None
    counts = [int(size) for size in sizes]
    if not 0 < math.prod(counts) <= MOST_PLACES:
        return None
    return [[Dim.of(i) for i in place] for place in itertools.product(*map(range, counts))]


def _reads_windows(value: Value) -> bool:
    """Whether elementwise ops alone are between a value and windows."""
    seen, waiting = set[Value](), [value]
    while waiting:
        current = waiting.pop()
        if current.node.op is WINDOWS:
            return True
        if current not in seen and current.node.op.has(Trait.ELEMENTWISE):
            waiting += current.node.operands
        seen.add(current)
    return False


def _one_by_one(low: Lowering, op: str, dtype: DType, elements: Sequence[Scalar]) -> Scalar:
    """Pairs first, then pairs of these: no chain waits for its latency."""
    left: Sequence[Scalar] = elements
    while len(left) > 1:
        whole = range(0, len(left) - 1, 2)
        odd = left[-1:] if len(left) % 2 else ()
        left = [*(low.apply(op, left[at : at + 2], dtype) for at in whole), *odd]
    return left[0]


# --- loops ----------------------------------------------------------------------------------------


def _runs(axes: Sequence[int]) -> list[list[int]]:
    """Axes grouped with their neighbours: each group is one loop where memory allows."""
    runs: list[list[int]] = []
    for axis in axes:
        if runs and runs[-1][-1] == axis - 1:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    return runs


def _is_linear(nest: Statement) -> bool:
    """Whether all that the loops read lies at constant distances."""
    loops = [loop for statement in flattened([nest]) for loop in _loops(statement)]
    if any(isinstance(statement, Bind) for loop in loops for statement in loop.body):
        return False
    places = [place for loop in loops[:1] for _, (place,) in accesses([loop])]
    return all(step_of(place, loop.index) is not None for place in places for loop in loops)


def _loops(statement: Statement) -> Iterator[For]:
    if isinstance(statement, For):
        yield statement
        for inner in statement.body:
            yield from _loops(inner)


def _sides(conditions: Conditions) -> tuple[Dim, ...]:
    """What guards look at: a guarded loop stays where they can."""
    return tuple(dim for test in conditions for dim in test.sides)


def _kept(attrs: ReduceAttrs, rank: int, index: Index) -> list[Dim]:
    """The result's index for each axis that is not reduced."""
    axes = [axis for axis in range(rank) if attrs.keepdims or axis not in attrs.axes]
    return [i for i, axis in zip(index, axes, strict=True) if axis not in attrs.axes]


for _op in REDUCTIONS.values():
    RULES[_op.name] = reduction


@rule("mean")
def mean(low: Lowering, node: Node, index: Index, conditions: Conditions) -> Scalar:
    dtype = node.result().tensor.dtype
    wide = wide_of(dtype)
    total = combined(low, node, index, conditions, combine_of(node), wide)
    (x,) = node.operands
    axes = node.attrs_as(ReduceAttrs).axes
    number = low.let(Number(product(x.tensor.shape[axis] for axis in axes)))
    return low.cast(low.apply("div", (total, low.cast(number, wide)), wide), dtype)


# --- arg-reductions -------------------------------------------------------------------------------


def arg_reduction(low: Lowering, node: Node, index: Index, conditions: Conditions) -> Scalar:
    """The extremum first, then the lowest index where it stands. A NaN is the extremum."""
    attrs = node.attrs_as(ArgReduceAttrs)
    (x,) = node.operands
    axis, dtype = attrs.axis, x.tensor.dtype
    kept = (*index[:axis], *index[axis + (1 if attrs.keepdims else 0) :])
    extent = [x.tensor.shape[axis]]

    def element(chosen: list[Dim]) -> Scalar:
        return low.at(x, (*kept[:axis], *chosen, *kept[axis:]), conditions)

    known = (*kept, *_sides(conditions))
    best = low.accumulate(combine_of(node), dtype, extent, known, element)

    def candidate(chosen: list[Dim]) -> Scalar:
        return index_if_best(low, element(chosen), best, chosen[0])

    return low.accumulate("minimum", i64, extent, known, candidate)


def index_if_best(low: Lowering, value: Scalar, best: Scalar, index: Dim) -> Scalar:
    """The index of a value that equals the extremum or is NaN, else one behind all others."""
    is_best = low.apply("eq", (value, best), bool_)
    if value.dtype.is_float:
        is_nan = low.apply("is_nan", (value,), bool_)
        is_best = low.apply("logical_or", (is_best, is_nan), bool_)
    here, nowhere = low.let(Number(index)), neutral("minimum", i64)
    return low.apply("select", (is_best, here, nowhere), i64)


RULES["argmax"] = arg_reduction
RULES["argmin"] = arg_reduction
