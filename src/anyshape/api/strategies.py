"""`strategies`: how each axis of a model varies, and what else could be done."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from anyshape.api.jit import Jitted
from anyshape.base.errors import OptionError
from anyshape.dynamic.buckets import mixing_ops
from anyshape.execute import Executable, compile_graph
from anyshape.execute.notes import CompiledNotes
from anyshape.ir.graph import Graph
from anyshape.observe.strategies import AxisStrategy, Strategies


def strategies(source: Any) -> Strategies:
    """For each axis the technique in use, why, the alternatives with their cost, and what would
    change the choice.

    Of an executable, a compiled, ragged or loaded model, or a jitted function or graph, which is
    compiled for it. Costs are those by which level 2 chooses kernels; after `profile_calls()`,
    sizes are those of calls and costs are scaled to what these took. Beside what `explain` shows,
    it says which ops would need masks if an axis were padded.
    """
    executable = executable_of(source)
    found = executable.strategies()
    if not isinstance(executable.notes, CompiledNotes):
        return found
    graph = executable.source.without_checks()
    return replace(found, axes=tuple(_with_mixing(each, graph) for each in found.axes))


def _with_mixing(strategy: AxisStrategy, graph: Graph) -> AxisStrategy:
    if strategy.technique not in ("exact", "buckets", "static"):
        return strategy
    ops = mixing_ops(graph, strategy.axis)
    listed = ", ".join(f"{count} {op}" for op, count in sorted(ops.items()))
    mixed = (
        f"padding it needs masks, or exact sizes, for {listed}"
        if ops
        else ("no op mixes values along it, so that padding would need no mask")
    )
    return replace(strategy, reasons=(*strategy.reasons, mixed))


def executable_of(source: Any) -> Executable:
    """What runs a model."""
    if isinstance(source, (Graph, Jitted)):
        return compile_graph(source if isinstance(source, Graph) else source.graph)
    found: object = getattr(source, "executable", source)
    if not isinstance(found, Executable):
        expected = "an executable, a compiled or loaded model, a jitted function or a graph"
        raise OptionError("source", repr(source), expected)
    return found
