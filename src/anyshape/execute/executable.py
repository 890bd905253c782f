"""`Executable`: one compiled graph, all shapes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NoReturn

from anyshape.base.errors import DTypeError, UnboundAxisError, UnsupportedError
from anyshape.base.options import Options, options_from_environment
from anyshape.codegen.cache import object_cache
from anyshape.codegen.compiler import Compiler
from anyshape.codegen.llvm.target import host_target
from anyshape.execute.assemble import Assembled, assemble
from anyshape.ir.graph import Graph
from anyshape.ir.interpret import entry_plan
from anyshape.ir.opdef import PARAM, Trait
from anyshape.ir.types import Array
from anyshape.lower.tiling import tiling_for
from anyshape.passes import PIPELINE, Pass, PassReport, run_passes
from anyshape.passes.columns_last import ColumnsLast
from anyshape.passes.expand import Expand
from anyshape.passes.fuse import Fuse
from anyshape.passes.results import OwnResults
from anyshape.plan.schedule import outputs_of, schedule
from anyshape.runtime import cpu_identity, machine
from anyshape.runtime.failures import CheckFailedError, InputDtypeError, InputRankError
from anyshape.runtime.program import Metrics, Specialization
from anyshape.sym import Axis, BindingPlan

PASSES: tuple[Pass, ...] = (
    Expand(),  # first: what no kernel takes whole becomes primitives
    *PIPELINE,
    ColumnsLast(),  # then: transpositions, which may join what comes before them
    Fuse(),  # then: what is computed together
    OwnResults(),  # last: what callers keep has memory of its own
)


class Executable:
    """A compiled graph. Calling it gives the results as NumPy arrays."""

    def __init__(
        self, source: Graph, graph: Graph, reports: Sequence[PassReport], assembled: Assembled,
        bindings: BindingPlan,
    ) -> None:  # fmt: skip
        self.source = source
        self.graph = graph
        self.reports = tuple(reports)
        self._assembled = assembled
        self._bindings = bindings
        self._run = assembled.program.run
        self._repeats = _repeats(graph)

    def __call__(self, *arrays: Any) -> tuple[Array, ...]:
        try:
            results = self._run(arrays)
            return self._repeated(results) if self._repeats else results
        except CheckFailedError as failure:
            self._explain(failure)
        except InputRankError as failure:
            shapes = [tuple(getattr(array, "shape", ())) for array in arrays]
            self._bindings.solve(shapes)
            raise AssertionError("the plan accepts what the program refuses") from failure
        except InputDtypeError as failure:
            fix = f"pass {failure.name}.astype({failure.expected})"
            subject = f"input '{failure.name}'"
            raise DTypeError(subject, failure.expected, failure.found, fix) from None

    def _repeated(self, outputs: tuple[Array, ...]) -> tuple[Array, ...]:
        """Results that are returned more than once, each time in memory of its own."""
        seen: set[int] = set()
        results: list[Array] = []
        for number in self._repeats:
            results.append(outputs[number].copy() if number in seen else outputs[number])
            seen.add(number)
        return tuple(results)

    def _explain(self, failure: CheckFailedError) -> NoReturn:
        """The same check made by the plan in Python, which knows names and sources."""
        values = iter(failure.values)
        shapes = [tuple(next(values) for _ in dims) for _, dims in self._bindings.inputs]
        self._bindings.solve(shapes)
        raise failure

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes whose sizes a call may choose."""
        return self._bindings.axes

    def specialize(self, **axes: int) -> Specialization:
        """Level 2 for a binding, made now if it is new. Every axis has to be given."""
        symbols = [step.affine.symbol for step in self._bindings.steps]
        names = [symbol.name for symbol in symbols]
        for name in sorted(set(names) ^ axes.keys()):
            what = "specialize() needs its size" if name in names else "the graph has no such axis"
            raise UnboundAxisError(name, what, names)
        self._bindings.check({symbol: axes[symbol.name] for symbol in symbols})
        return self._assembled.program.specialize([axes[name] for name in names])

    def metrics(self) -> Metrics:
        return self._assembled.program.metrics()

    def as_text(self) -> str:
        """The graph as it is run: every `kernel` is one step."""
        return self.graph.as_text()


def compile_graph(graph: Graph, options: Options | None = None) -> Executable:
    """Level 1: passes, lowering, machine code, schedule."""
    options = options or options_from_environment()
    passed = run_passes(graph, PASSES)
    _check_supported(passed.graph)
    compiler = Compiler(
        host_target(cpu_identity()), cpus=machine().cpus, cache=object_cache(options)
    )
    bindings = entry_plan(passed.graph)
    plan = schedule(passed.graph, tiling_for(machine().vector_isa))
    assembled = assemble(plan, bindings, compiler)
    return Executable(graph, passed.graph, passed.reports, assembled, bindings)


def _repeats(graph: Graph) -> tuple[int, ...]:
    """The output of each result, if some result is returned more than once."""
    outputs = outputs_of(graph)
    if len(outputs) == len(graph.results):
        return ()
    return tuple(outputs.index(value) for value in graph.results)


def _check_supported(graph: Graph) -> None:
    """Names every op that has no native form, all at once."""
    missing = Counter(
        node.op.name
        for node in graph.nodes()
        if node.op is not PARAM
        and node.op.name not in ("kernel", "constant")
        and not node.op.has(Trait.ALIAS)
    )
    if missing:
        raise UnsupportedError("the native executor", dict(missing))
