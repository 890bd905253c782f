"""Static axes: all memory for the greatest sizes is taken when a program is made.

    Axis("image", max=640, static=True)

After the first call, no call up to these sizes asks the system for memory (docs/design/0064). What
would have to ask is refused here, by name: another axis without a bound of its own, sizes that the
graph computes, ops that keep tables for each length, executors that use NumPy's memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

from anyshape.base.errors import StaticAxisError
from anyshape.execute.capabilities import all_nodes
from anyshape.execute.compile_options import CompileOptions
from anyshape.execute.executor import Executor
from anyshape.execute.native import NativeExecutor
from anyshape.ir.graph import Graph
from anyshape.ir.inputs import tensor_inputs
from anyshape.ops.fourier import fft, irfft, rfft
from anyshape.sym import Axis

MOST_BINDINGS: Final = 1 << 20
"""Level 2's numbers are computed for each binding once: a few seconds for so many."""

_WITH_TABLES: Final = frozenset({fft, rfft, irfft})
"""Ops whose kernels make a table for each length."""


def static_axis(graph: Graph) -> Axis | None:
    """The first axis of the inputs that is static."""
    given = {symbol for _, type_ in tensor_inputs(graph) for symbol in type_.symbols}
    return next((axis for axis in graph.axes if axis.static and axis.symbol in given), None)


def refuse_static(graph: Graph, problem: str, fix: str) -> None:
    """Raises if the graph has a static axis."""
    if (axis := static_axis(graph)) is not None:
        raise StaticAxisError(graph.name, axis.name, problem, fix)


def check_static(graph: Graph, choices: CompileOptions) -> None:
    """Refuses what no program of this graph could keep, before it is compiled."""
    axis = static_axis(graph)
    if axis is None:
        return
    if choices.executor != "native":
        problem = f"the {choices.executor} executor makes new arrays as it goes"
        raise StaticAxisError(graph.name, axis.name, problem, "compile with executor='native'")
    if choices.result_cache is not None:
        problem = "results are kept, and take memory at each new call"
        raise StaticAxisError(graph.name, axis.name, problem, "leave out result_cache")
    padded = next((each.name for each in graph.axes if each.buckets), None)
    if padded is not None:
        problem = f"axis '{padded}' has buckets, and calls are padded in new arrays"
        fix = "drop the buckets: a static axis runs at its exact sizes, in memory for the greatest"
        raise StaticAxisError(graph.name, axis.name, problem, fix)
    tables = [node.op.name for node in all_nodes(graph.body) if node.op in _WITH_TABLES]
    if tables:
        problem = f"op '{tables[0]}' makes a table for each length that it meets"
        raise StaticAxisError(graph.name, axis.name, problem, f"drop static, or {tables[0]}")


def take_static_memory(graph: Graph, executor: Executor) -> None:
    """All memory that calls need, if an axis is static; what cannot be foreseen is refused."""
    axis = static_axis(graph)
    if axis is None:
        return
    if not isinstance(executor, NativeExecutor):
        problem = "it loops, branches, computes sizes itself, or has ops that Python computes"
        fix = "drop static; reserve(...) takes what can be foreseen of such a model"
        raise StaticAxisError(graph.name, axis.name, problem, fix)
    _check_bindings(graph, axis, executor.notes.bindings.axes)
    executor.take_static_memory(static_ranges(executor.notes.bindings.axes))


def _check_bindings(graph: Graph, axis: Axis, axes: Sequence[Axis]) -> None:
    free = next((each.name for each in axes if not each.static), None)
    if free is not None:
        problem = f"axis '{free}' is not, so that no size is the greatest"
        fix = f"declare Axis('{free}', max=..., static=True) too, or give it one size"
        raise StaticAxisError(graph.name, axis.name, problem, fix)
    count = math.prod(map(len, static_ranges(axes)))
    if count > MOST_BINDINGS:
        problem = f"there are {count:,} bindings to look at, more than {MOST_BINDINGS:,}"
        fix = "give the axes smaller ranges, or a multiple_of"
        raise StaticAxisError(graph.name, axis.name, problem, fix)


def static_ranges(axes: Iterable[Axis]) -> list[range]:
    """The sizes of each axis; gaps between its ranges are filled, which only takes more memory."""
    return [_sizes(axis) for axis in axes]


def _sizes(axis: Axis) -> range:
    assert axis.max is not None, "a static axis has a max"
    step = axis.multiple_of
    return range(-(-axis.min // step) * step, axis.max + 1, step)
