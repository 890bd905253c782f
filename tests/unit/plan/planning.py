"""From a graph of kernels to its schedule: both stages at once."""

from __future__ import annotations

from dataclasses import replace

from anyshape.families.lower_graph import lower_graph
from anyshape.ir.graph import Graph
from anyshape.lower.tiling import WIDE, Tiling
from anyshape.plan.costs import MachineCosts
from anyshape.plan.schedule import DEFAULT_COSTS, Schedule, schedule


def scheduled(graph: Graph, tiling: Tiling = WIDE, costs: MachineCosts = DEFAULT_COSTS) -> Schedule:
    return schedule(lower_graph(graph, replace(tiling, threads=costs.threads)), costs)
