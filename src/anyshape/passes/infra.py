"""What a pass is, and running several.

A pass is a frozen dataclass: its fields are its options, its `run` makes a new graph and leaves the
reasons for what it did, and for what it refused, in the context.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from anyshape.base.errors import VerifyError
from anyshape.ir.graph import Graph
from anyshape.ir.interpret import evaluate
from anyshape.ir.rewrite import Decision, DecisionLog
from anyshape.ir.types import Array
from anyshape.ir.verify import verify as verify_graph
from anyshape.ir.verify import verify_facts_kept
from anyshape.passes.donation import NOTHING_DONATED, Donation, Order

Compute = Callable[[Graph], tuple[Array, ...]]
"""Computes a graph without inputs: by its kernels, or by the interpreter."""


@dataclass
class PassContext:
    """What passes share while they run: the record of decisions, and what callers give up.

    A pass that lays out an array in another order than its caller's says so in the donation.
    `lying` are the inputs that callers are expected to have in memory in another order already.
    """

    decisions: DecisionLog = field(default_factory=DecisionLog)
    donation: Donation = NOTHING_DONATED
    lying: Mapping[int, Order] = field(default_factory=dict[int, Order])
    compute: Compute = evaluate


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


Observer = Callable[[PassReport, Graph], None]
"""Called after each pass with what it did, and the graph as it is then."""


@dataclass(frozen=True)
class Passed:
    """A graph and how it came about."""

    graph: Graph
    reports: tuple[PassReport, ...]
    donation: Donation = NOTHING_DONATED


def run_passes(
    graph: Graph,
    passes: Iterable[Pass],
    donated: frozenset[int] = frozenset(),
    *,
    verify: bool = False,
    observe: Observer | None = None,
    compute: Compute = evaluate,
    lying: Mapping[int, Order] | None = None,
) -> Passed:
    """Runs `passes` in order; `donated` are positions of inputs, and so are the keys of `lying`.

    With `verify`, each result is checked, no fact may be lost, and the maker is named. `observe` is
    told of every pass, with the graph that it leaves. `compute` is what work on constants is done
    by.
    """
    ctx = PassContext(donation=Donation(donated), lying=lying or {}, compute=compute)
    reports: list[PassReport] = []
    for step in passes:
        graph, report = _run_one(graph, step, ctx, verify)
        reports.append(report)
        if observe is not None:
            observe(report, graph)
    return Passed(graph, tuple(reports), ctx.donation)


def _run_one(graph: Graph, step: Pass, ctx: PassContext, verify: bool) -> tuple[Graph, PassReport]:
    new = step.run(graph, ctx)
    if verify:
        _verify(graph, new, step)
    sizes = len(graph.nodes()), len(new.nodes())
    return new, PassReport(step.name, new != graph, *sizes, ctx.decisions.take())


def _verify(before: Graph, after: Graph, step: Pass) -> None:
    try:
        verify_facts_kept(before, after)
        verify_graph(after)
    except VerifyError as error:
        raise VerifyError(f"after pass '{step.name}', {error.subject}", error.problem) from error
