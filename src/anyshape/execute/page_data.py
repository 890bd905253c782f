"""What the explain page shows, as data for JSON: graphs, facts, decisions, kernels, and what
level 2 and a measured call say at each of some bindings.

Nothing is decided here: all of it was recorded while compiling, is asked of specializations, or is
measured by a traced call with random arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from anyshape.base.errors import AnyshapeError
from anyshape.execute.calibrate import DEFAULTS, known_costs
from anyshape.execute.example_arrays import example_arrays, usual_binding
from anyshape.execute.kernel_view import KernelView
from anyshape.execute.specialization import Specialization
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node
from anyshape.ir.opdef import PARAM, param_index
from anyshape.observe.explain import Group
from anyshape.ops.source import ConstantAttrs
from anyshape.ops.torch_call import op_name
from anyshape.runtime.tracing import TaskRun, traced

if TYPE_CHECKING:
    from anyshape.execute.executable import Executable

MEASURED_CALLS = 5
"""The quickest of so many is shown."""

Json = dict[str, Any]


def page_data(
    executable: Executable, bindings: Sequence[Mapping[str, int]] = (), *, assembly: bool = True
) -> Json:
    """Without bindings, one of likely or else small sizes is taken."""
    explanation = executable.explain()
    kernels = _distinct(executable.kernels)
    numbers = {id(view.kernel): number for number, view in enumerate(kernels)}
    chosen = [dict(binding) for binding in bindings] or [usual_binding(executable)]
    plan = executable.specialize(**chosen[0])
    runs = {
        node: numbers.get(id(kernel))
        for each in (plan, *plan.segments)
        for node, kernel in zip(each.nodes(), each.kernels(), strict=True)
        if node is not None
    }
    return {
        "name": explanation.graph,
        "how": [explanation.executor, explanation.where, explanation.target],
        "axes": [str(axis) for axis in executable.axes],
        "facts": [[str(fact), fact.source] for fact in executable.source.facts.facts],
        "inputs": [[name, str(type_)] for name, type_ in executable.notes.inputs],
        "results": list(map(str, executable.notes.results)),
        "passes": [
            [each.name, each.nodes_before, each.nodes_after, len(each.taken), len(each.refused)]
            for each in explanation.passes
        ],
        "decisions": [_group(g) for g in (*explanation.applied, *explanation.refused)],
        "hostOps": [list(each) for each in explanation.host_ops],
        "held": [list(each) for each in explanation.held],
        "branches": list(explanation.branches),
        "before": _graph(executable.source, {}),
        "after": _graph(executable.graph, runs),
        "kernels": [_kernel(kernel, assembly) for kernel in kernels],
        "roofline": _ceilings(executable),
        "bindings": [_at_binding(executable, binding, numbers) for binding in chosen],
    }


def _group(group: Group) -> Json:
    names = "rule", "taken", "op", "why", "count", "places"
    return {name: getattr(group, name) for name in names}


# --- graphs ---------------------------------------------------------------------------------------


def _graph(graph: Graph, kernels: Mapping[Node, int | None]) -> Json:
    nodes = graph.nodes()
    numbers = {node: number for number, node in enumerate(nodes)}
    return {
        "text": graph.as_text(),
        "nodes": [{**_node(graph, node, numbers), "kernel": kernels.get(node)} for node in nodes],
        "results": [numbers[value.node] for value in graph.results],
    }


def _node(graph: Graph, node: Node, numbers: Mapping[Node, int]) -> Json:
    location = graph.locations.of(node)
    return {
        "op": _label(graph, node),
        "kind": _kind(node),
        "types": list(map(str, node.types)),
        "from": list(dict.fromkeys(numbers[value.node] for value in node.operands)),
        "where": "" if location is None else str(location),
        "ops": _inner_ops(node),
    }


def _label(graph: Graph, node: Node) -> str:
    if node.op is PARAM:
        return graph.inputs[param_index(node)]
    inner = list(dict.fromkeys(_inner_ops(node)))
    if node.op.name != "kernel" or not inner:
        return op_name(node)
    return "+".join(inner if len(inner) <= 4 else (*inner[:2], "...", inner[-1]))


def _kind(node: Node) -> str:
    if node.op is PARAM:
        return "input"
    return "constant" if isinstance(node.attrs, ConstantAttrs) else node.op.name


def _inner_ops(node: Node) -> list[str]:
    inner = (each for region in node.regions for each in region.nodes() if each.op is not PARAM)
    return [op_name(each) for each in inner if not isinstance(each.attrs, ConstantAttrs)]


# --- kernels --------------------------------------------------------------------------------------


def _distinct(kernels: Iterable[KernelView]) -> list[KernelView]:
    """Of steps that share their code, the first."""
    seen: dict[int, KernelView] = {}
    for kernel in kernels:
        seen.setdefault(id(kernel.kernel), kernel)
    return list(seen.values())


def _kernel(kernel: KernelView, assembly: bool) -> Json:
    listing = _or_reason(kernel.assembly) if assembly else ""
    return {
        "name": kernel.name,
        "variant": kernel.variant,
        "text": kernel.as_text(),
        "assembly": listing,
    }


def _or_reason(text: Callable[[], str]) -> str:
    """Some kernels are the runtime's own, and some targets have no instructions."""
    try:
        return text()
    except AnyshapeError as error:
        return str(error)


def _ceilings(executable: Executable) -> Json:
    """What this machine does at best, on all threads for products, from memory for bytes."""
    known = known_costs(executable.isa)
    costs = known or DEFAULTS
    per_second = 1e15  # femtoseconds
    return {
        "measured": known is not None,
        "flops": per_second / costs.flop * executable.executor.threads,
        "bytes": per_second / costs.memory_byte,
    }


# --- bindings -------------------------------------------------------------------------------------


def _at_binding(
    executable: Executable, binding: dict[str, int], kernels: Mapping[int, int]
) -> Json:
    plan = executable.specialize(**binding)
    programs = [_program(each, kernels) for each in (plan, *plan.segments)]
    data: Json = {"binding": binding, "programs": programs}
    try:
        tasks = _measured(executable, binding)
    except AnyshapeError as error:  # random arrays may be none that the model takes
        return {**data, "tasks": [], "unmeasured": str(error)}
    start = min((task.begin_ns for task in tasks), default=0)
    rows = [[t.run, t.step, t.name, t.worker, t.begin_ns - start, t.end_ns - start] for t in tasks]
    return {**data, "tasks": rows}


def _measured(executable: Executable, binding: Mapping[str, int]) -> list[TaskRun]:
    """The tasks of the quickest of some calls; arrays are new each time, as they may be donated."""
    calls: list[list[TaskRun]] = []
    for _ in range(MEASURED_CALLS):
        arrays = example_arrays(executable, binding)
        calls.append(traced(lambda given=arrays: executable(*given))[1])
    return min(calls, key=_elapsed)


def _elapsed(tasks: Sequence[TaskRun]) -> int:
    ends = max((task.end_ns for task in tasks), default=0)
    return ends - min((task.begin_ns for task in tasks), default=0)


def _program(plan: Specialization, kernels: Mapping[int, int]) -> Json:
    memory = plan.memory()
    steps = zip(plan.steps, plan.efforts(), plan.kernels(), strict=True)
    return {
        "team": plan.uses_team,
        "memory": {name: getattr(memory, name) for name in memory.__slots__},
        "buffers": [list(each) for each in plan.arena_buffers()],
        "steps": [
            {
                "name": step.cost.name,
                "results": step.results,
                "tasks": step.cost.tasks,
                "split": step.cost.split,
                "estimate": step.cost.nanoseconds,
                "variants": [[v.name, v.nanoseconds, v.chosen] for v in step.cost.variants],
                "reads": step.reads,
                "writes": step.writes,
                "effort": effort,
                "kernel": kernels.get(id(kernel)),
            }
            for step, effort, kernel in steps
        ],
    }
