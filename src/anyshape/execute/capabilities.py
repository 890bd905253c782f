"""What an executor can do, as data: `compile` refuses a graph or choices that need more.

Every flag is looked at when something is compiled, and all that is missing is said at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from anyshape.base.errors import CapabilityError
from anyshape.execute.compile_options import CompileOptions, ExecutorName
from anyshape.ir.graph import Graph
from anyshape.ir.inputs import tensor_inputs
from anyshape.ir.node import Node, Region
from anyshape.ir.types import ALL_DTYPES, DType, TensorType
from anyshape.sym import Symbol


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Of one executor. `specializations`: bindings can be prepared, and their memory is planned,
    which `memory_limit` needs too."""

    executor: ExecutorName
    dtypes: frozenset[DType] = frozenset(ALL_DTYPES)
    dynamic_axes: bool = True
    named_axes: bool = True  # an axis of several inputs has one size, and callers may give it
    late_axes: bool = True
    regions: bool = True
    threads: bool = False  # whether one call may use several
    specializations: bool = True
    kernels: bool = True  # whether ops have a native form, which `strict` insists on

    def check(self, graph: Graph, choices: CompileOptions) -> None:
        """Names everything in `graph` and `choices` that is beyond this executor."""
        beyond = [f"{what} ({found})" for what, found in self._beyond(graph).items() if found]
        fixes = ["compile with executor='reference'"] if beyond else []
        refused = list(self._refused(choices))
        if refused:
            fixes.append(f"leave out {' and '.join(name for name, _ in refused)}")
        beyond += [f"{name}={getattr(choices, name)} ({why})" for name, why in refused]
        if beyond:
            problem = f"does not support {', '.join(beyond)}"
            raise CapabilityError(self.executor, problem, "; ".join(fixes))

    def _beyond(self, graph: Graph) -> dict[str, str]:
        return {
            "element types": _dtypes(graph, lambda dtype: dtype not in self.dtypes),
            "dynamic axes": _axes(graph, lambda _: not self.dynamic_axes),
            "named axes": _axes(graph, lambda axis: not self.named_axes and not axis.is_fresh),
            "late axes": _ops(graph, lambda node: bool(node.late) and not self.late_axes),
            "regions": _ops(graph, lambda node: bool(node.regions) and not self.regions),
        }

    def _refused(self, choices: CompileOptions) -> Iterator[tuple[str, str]]:
        """Options that cannot be kept, and why."""
        if choices.threads > 1 and not self.threads:
            yield "threads", "it runs on the calling thread alone"
        if choices.wait_for_team and not self.threads:
            yield "wait_for_team", "it has no team"
        if choices.memory_limit is not None and not self.specializations:
            yield "memory_limit", "it plans no memory"
        if choices.strict and not self.kernels:
            yield "strict", "none of its ops is native"


def _ops(graph: Graph, refused: Callable[[Node], bool]) -> str:
    counts = Counter(node.op.name for node in all_nodes(graph.body) if refused(node))
    return ", ".join(f"{op}: {count}" for op, count in sorted(counts.items()))


def _axes(graph: Graph, refused: Callable[[Symbol], bool]) -> str:
    dims = (dim for _, type_ in tensor_inputs(graph) for dim in type_.shape)
    symbols = {symbol for dim in dims for symbol in dim.symbols}
    return ", ".join(sorted(symbol.name for symbol in symbols if refused(symbol)))


def _dtypes(graph: Graph, refused: Callable[[DType], bool]) -> str:
    types = (type_ for node in all_nodes(graph.body) for type_ in node.types)
    dtypes = {type_.dtype for type_ in types if isinstance(type_, TensorType)}
    return ", ".join(sorted(str(dtype) for dtype in dtypes if refused(dtype)))


def all_nodes(region: Region) -> Iterator[Node]:
    """All nodes, inside regions too."""
    for node in region.nodes():
        yield node
        for inner in node.regions:
            yield from all_nodes(inner)
