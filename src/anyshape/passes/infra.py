"""What a pass is, and running several.

A pass is a frozen dataclass: its fields are its options, its `run` makes a new graph and leaves the
reasons for what it did, and for what it refused, in the context.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from anyshape.base.errors import VerifyError
from anyshape.ir.graph import Graph
from anyshape.ir.rewrite import Decision, DecisionLog
from anyshape.ir.verify import verify as verify_graph


@dataclass(frozen=True)
class PassContext:
    """What passes share while they run: nothing but the record of their decisions."""

    decisions: DecisionLog = field(default_factory=DecisionLog)


class Pass(Protocol):
    """One transformation of a whole graph."""

    @property
    def name(self) -> str: ...

    def run(self, graph: Graph, ctx: PassContext) -> Graph: ...


@dataclass(frozen=True)
class PassReport:
    """What one pass did."""

    name: str
    changed: bool
    nodes_before: int
    nodes_after: int
    decisions: tuple[Decision, ...]

    @property
    def taken(self) -> tuple[Decision, ...]:
        return tuple(decision for decision in self.decisions if decision.taken)

    @property
    def refused(self) -> tuple[Decision, ...]:
        return tuple(decision for decision in self.decisions if not decision.taken)

    def __str__(self) -> str:
        if not self.changed:
            return f"{self.name}: no change"
        return f"{self.name}: {self.nodes_before} -> {self.nodes_after} nodes"


@dataclass(frozen=True)
class Passed:
    """A graph and how it came about."""

    graph: Graph
    reports: tuple[PassReport, ...]


def run_passes(graph: Graph, passes: Iterable[Pass], *, verify: bool = False) -> Passed:
    """Runs `passes` in order; with `verify`, each result is checked and its maker named."""
    reports: list[PassReport] = []
    for step in passes:
        graph, report = _run_one(graph, step, verify)
        reports.append(report)
    return Passed(graph, tuple(reports))


def _run_one(graph: Graph, step: Pass, verify: bool) -> tuple[Graph, PassReport]:
    ctx = PassContext()
    new = step.run(graph, ctx)
    if verify:
        _verify(new, step)
    sizes = len(graph.nodes()), len(new.nodes())
    return new, PassReport(step.name, new != graph, *sizes, ctx.decisions.take())


def _verify(graph: Graph, step: Pass) -> None:
    try:
        verify_graph(graph)
    except VerifyError as error:
        raise VerifyError(f"after pass '{step.name}', {error.subject}", error.problem) from error
