"""The native executor: a graph of kernels as one program of the runtime."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import index
from typing import Any, Final, SupportsIndex, TypeVar

import numpy as np

from anyshape.base.errors import (
    BindingNamesError,
    DimError,
    InsufficientMemoryError,
    MemoryLimitError,
    UnboundAxisError,
)
from anyshape.execute.capabilities import Capabilities
from anyshape.execute.executor import ExecutableMemory, Out, Run, StepRun, Steps
from anyshape.execute.input_errors import too_large
from anyshape.execute.kernel_view import KernelView
from anyshape.execute.link import LinkedProgram
from anyshape.execute.memory_limits import memory_error
from anyshape.execute.specialization import Specialization, constant_sizes, split_buffers
from anyshape.execute.tensors import as_numpy, shape_of
from anyshape.ir.graph import Graph
from anyshape.ir.inputs import entry_facts
from anyshape.ir.node import Value
from anyshape.ir.rewrite import Decision
from anyshape.ir.types import LARGEST_SIZE, Array
from anyshape.observe.explain import KernelSummary
from anyshape.plan.given_memory import outputs_of
from anyshape.plan.schedule import Schedule, StepPlan
from anyshape.runtime.failures import MemoryRefusedError, RuntimeFailure
from anyshape.runtime.limits import RunLimits
from anyshape.runtime.program import Metrics, Stepper
from anyshape.sym import BindingPlan, Dim, Symbol
from anyshape.sym.bindings import Binding

T = TypeVar("T")

NATIVE: Final = Capabilities("native", threads=True)


class NativeExecutor:
    """One program: every call is one native call, on a team of threads where that pays."""

    def __init__(self, plan: Schedule, linked: LinkedProgram, bindings: BindingPlan) -> None:
        self.capabilities: Final = NATIVE
        self.plan = plan
        self.linked = linked
        self.bindings = bindings
        self.symbols = [step.affine.symbol for step in bindings.steps]
        self.output_numbers = _repeats(plan.graph)  # of each result; empty if each is one output
        # Without repeats it is the runtime's own function: one more Python call would be felt.
        self.run: Run = self._run_repeated if self.output_numbers else linked.program.run

    def _run_repeated(self, arrays: Sequence[Any]) -> tuple[Array, ...]:
        return self.results(self.linked.program.run(arrays))

    def run_within(
        self, arrays: Sequence[Any], limits: RunLimits, out: Out | None = None
    ) -> tuple[Array, ...]:
        program = self.linked.program
        return self.results(program.run_within(arrays, limits, self.outputs_in(out)))

    def outputs_in(self, out: Out | None) -> Out | None:
        """For each output of the program the array of the first result that it is."""
        if out is None or not self.output_numbers:
            return out
        firsts = (
            self.output_numbers.index(number) for number in range(len(set(self.output_numbers)))
        )
        return [out[result] for result in firsts]

    def results(self, outputs: tuple[Array, ...]) -> tuple[Array, ...]:
        """From the program's outputs: one that is returned twice is copied, as results may not
        share memory."""
        if not self.output_numbers:
            return outputs
        seen: set[int] = set()
        results: list[Array] = []
        for number in self.output_numbers:
            again = number in seen  # an array of the caller's, maybe, which was donated
            results.append(np.array(as_numpy(outputs[number])) if again else outputs[number])
            seen.add(number)
        return tuple(results)

    # --- level 2 ------------------------------------------------------------------------------

    def specialize(self, sizes: Mapping[str, int]) -> Specialization:
        native = self._at(sizes, self.linked.program.specialize)
        return Specialization(self.plan, self.symbols, native)

    def planned_bytes(self, sizes: Mapping[str, int]) -> int | None:
        binding = complete_binding(self.symbols, sizes, self.plan.graph)
        if not self.bindings.allows(binding):
            return None
        return self._at(sizes, self.linked.program.planned_bytes)

    def reserve(self, sizes: Mapping[str, int]) -> None:
        self._at(sizes, self.linked.program.reserve)

    def reserve_results(self, sizes: Mapping[str, int]) -> None:
        """Memory for the results alone: where programs share an arena, it is not this one's."""
        self._at(sizes, self.linked.program.reserve_outputs)

    def _at(self, sizes: Mapping[str, int], act: Callable[[Sequence[int]], T]) -> T:
        """What `act` does with the binding; what it refuses, in the words of the model."""
        binding = complete_binding(self.symbols, sizes, self.plan.graph)
        self.bindings.check(binding)
        try:
            return act([binding[symbol] for symbol in self.symbols])
        except MemoryRefusedError as failure:
            raise self.beyond_limit(failure) from None
        except RuntimeFailure as failure:
            given = ", ".join(f"{symbol}={size}" for symbol, size in binding.items())
            raise too_large(failure, given) from None

    def beyond_limit(
        self, failure: MemoryRefusedError
    ) -> MemoryLimitError | InsufficientMemoryError:
        program, name = self.linked.program, self.plan.graph.name
        return memory_error(failure, name, self.symbols, program)

    def trim(self) -> None:
        self.linked.program.trim()

    # --- one step at a time -------------------------------------------------------------------

    def steps(self, arrays: Sequence[Any]) -> Steps:
        """The same kernels on the same memory, with a look at every value in between."""
        stepper = self.linked.program.stepwise(arrays, keep_donated=True)
        in_memory = self.plan.donation.as_in_memory
        shapes = [in_memory(number, shape_of(array)) for number, array in enumerate(arrays)]
        sizes = self.bindings.solve(shapes)
        named = zip(self.plan.steps, self.linked.program.description.steps, strict=True)
        for number, (step, described) in enumerate(named):
            spent = stepper.step()
            yield StepRun(number, described.name, step.node, spent, _values(stepper, step, sizes))
        return self.results(stepper.outputs)

    # --- reports ------------------------------------------------------------------------------

    @property
    def threads(self) -> int:
        return self.linked.program.threads

    def metrics(self) -> Metrics:
        return self.linked.program.metrics()

    def bindings_seen(self) -> Sequence[Mapping[str, int]]:
        names = [symbol.name for symbol in self.symbols]
        return [dict(zip(names, sizes, strict=True)) for sizes in self.linked.program.bindings()]

    @property
    def weights(self) -> dict[int, int]:
        addresses = self.linked.program.description.constants
        return {addresses[number]: size for number, size in constant_sizes(self.plan)}

    def memory(self) -> ExecutableMemory:
        metrics = self.metrics()
        weights = sum(self.weights.values())
        code = self.linked.code_bytes
        return ExecutableMemory(weights, code, metrics.bytes, metrics.idle_arena_bytes)

    @property
    def kernels(self) -> tuple[KernelView, ...]:
        target = self.linked.target
        return tuple(
            KernelView(step.name, way.variant.name, step.ops, way.variant.kernel, target)
            for step in self.plan.steps
            for way in step.variants
        )

    def kernel_summary(self) -> KernelSummary:
        distinct = {kernel.as_text() for kernel in self.linked.kernels}
        steps, text_bytes = len(self.plan.steps), sum(map(len, distinct))
        code_bytes, origins = self.linked.code_bytes, self.linked.origins
        where = (origins.memory, origins.disk, origins.compiled)
        return KernelSummary(steps, len(distinct), text_bytes, code_bytes, *where)

    def decisions(self) -> tuple[Decision, ...]:
        return self.plan.decisions


def complete_binding(symbols: Sequence[Symbol], sizes: Mapping[str, int], graph: Graph) -> Binding:
    """The size of each symbol: given by name, or following from the others by the facts."""
    names = {symbol.name: symbol for symbol in symbols}
    given = {names[name]: _size(name, size) for name, size in sizes.items() if name in names}
    binding = given if len(given) == len(symbols) else _with_derived(given, graph)
    missing = sorted(symbol.name for symbol in symbols if symbol not in binding)
    unknown = sorted(sizes.keys() - names)
    if missing or unknown:
        raise BindingNamesError(missing, unknown, tuple(names))
    return binding


def _size(name: str, size: SupportsIndex) -> int:
    """Below 0 the binding refuses it, in the words of the axis."""
    if isinstance(size, bool) or not hasattr(size, "__index__"):
        raise DimError(f"{name}={size!r}", "a size is an integer", f"pass an integer for {name}")
    number = index(size)
    if number > LARGEST_SIZE:
        problem = f"a size is at most {LARGEST_SIZE}"
        raise DimError(f"{name}={number}", problem, f"pass a smaller {name}")
    return number


def _with_derived(given: Binding, graph: Graph) -> Binding:
    """Also the sizes that equalities give, by a plan whose only input is the binding."""
    pattern = ("the binding", tuple(map(Dim.of, given)))
    try:
        plan = BindingPlan.make([pattern], entry_facts(graph), graph.body.born)
    except UnboundAxisError:  # the caller names what is missing
        return given
    return plan.solve([tuple(given.values())])


def _values(stepper: Stepper, step: StepPlan, sizes: Binding) -> tuple[Array, ...]:
    if step.member_of is not None and step.carried is None and step.member_of.is_taken(sizes):
        return ()  # the chain hands them on, tile by tile
    _, written = split_buffers(step)
    pairs = zip(written, step.node.results, strict=True)
    return tuple(_value(stepper.buffer(number), value, sizes) for number, value in pairs)


def _value(memory: Array, value: Value, sizes: Binding) -> Array:
    shape = tuple(dim.evaluate(sizes) for dim in value.tensor.shape)
    return memory.copy().view(value.tensor.dtype.numpy).reshape(shape)


def _repeats(graph: Graph) -> tuple[int, ...]:
    """The output of each result, if some result is returned more than once."""
    outputs = outputs_of(graph)
    if len(outputs) == len(graph.results):
        return ()
    return tuple(outputs.index(value) for value in graph.results)
