"""Canonicalization: exact simplifications, applied until none is left.

The rules are in `rules/`, one file per topic. Facts take part: what is provably the same shape is
the same shape.
"""

from __future__ import annotations

from dataclasses import dataclass

from anyshape.ir.graph import Graph
from anyshape.ir.rewrite import Rule, RuleSet, rewrite
from anyshape.passes.infra import PassContext
from anyshape.passes.rules import CANONICAL


@dataclass(frozen=True)
class Canonicalize:
    """Applies `rules` to a fixpoint."""

    rules: tuple[Rule, ...] = CANONICAL
    name: str = "canonicalize"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        return rewrite(graph, RuleSet.of(self.rules), ctx.decisions)
