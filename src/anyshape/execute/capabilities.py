"""What an executor can do, as data: `compile` refuses a graph or an option that needs more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from anyshape.base.errors import CapabilityError
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Region
from anyshape.ir.types import ALL_DTYPES, DType, TensorType

ExecutorName: TypeAlias = Literal["native", "stepwise", "reference"]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Of one executor. `specializations`: bindings can be prepared, and their memory is planned."""

    executor: ExecutorName
    dtypes: frozenset[DType] = frozenset(ALL_DTYPES)
    late_axes: bool = True
    regions: bool = True
    threads: bool = False  # whether one call may use several
    specializations: bool = True

    def check(self, graph: Graph, threads: int) -> None:
        """Names everything in `graph` that is beyond this executor."""
        if threads > 1 and not self.threads:
            problem = f"runs on the calling thread alone, not on {threads}"
            raise CapabilityError(self.executor, problem, "leave threads out")
        refused = {
            "element types": _dtypes(graph, lambda dtype: dtype not in self.dtypes),
            "late axes": _ops(graph, lambda node: bool(node.late) and not self.late_axes),
            "regions": _ops(graph, lambda node: bool(node.regions) and not self.regions),
        }
        problems = [f"{what} ({found})" for what, found in refused.items() if found]
        if problems:
            problem = f"does not support {', '.join(problems)}"
            raise CapabilityError(self.executor, problem, "compile with executor='reference'")


def _ops(graph: Graph, refused: Callable[[Node], bool]) -> str:
    counts = Counter(node.op.name for node in _nodes(graph.body) if refused(node))
    return ", ".join(f"{op}: {count}" for op, count in sorted(counts.items()))


def _dtypes(graph: Graph, refused: Callable[[DType], bool]) -> str:
    types = (type_ for node in _nodes(graph.body) for type_ in node.types)
    dtypes = {type_.dtype for type_ in types if isinstance(type_, TensorType)}
    return ", ".join(sorted(str(dtype) for dtype in dtypes if refused(dtype)))


def _nodes(region: Region) -> Iterator[Node]:
    """All nodes, inside regions too."""
    for node in region.nodes():
        yield node
        for inner in node.regions:
            yield from _nodes(inner)
