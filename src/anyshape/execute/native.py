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
from anyshape.execute.link import LinkedConstant, LinkedProgram
from anyshape.execute.memory_limits import memory_error
from anyshape.execute.notes import ProgramNotes, StepNotes
from anyshape.execute.record_program import program_record
from anyshape.execute.specialization import Specialization
from anyshape.execute.tensors import as_numpy, shape_of
from anyshape.ir.rewrite import Decision
from anyshape.ir.types import LARGEST_SIZE, Array, TensorType
from anyshape.observe.explain import KernelSummary
from anyshape.plan.schedule import Schedule
from anyshape.program import Input
from anyshape.runtime.failures import MemoryRefusedError, RuntimeFailure
from anyshape.runtime.limits import ANY_MEMORY, RunLimits
from anyshape.runtime.program import Estimate, Metrics, Stepper
from anyshape.saved.container import Blobs
from anyshape.saved.records import ProgramRecord
from anyshape.sym import BindingPlan, Dim
from anyshape.sym.bindings import Binding

T = TypeVar("T")

NATIVE: Final = Capabilities("native", threads=True)


class NativeExecutor:
    """One program: every call is one native call, on a team of threads where that pays."""

    def __init__(self, notes: ProgramNotes, linked: LinkedProgram) -> None:
        self.capabilities: Final = NATIVE
        self.notes = notes
        self.linked = linked
        self.symbols = notes.symbols
        self.output_numbers = notes.output_numbers  # of each result; empty if each is one output
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

    def specialize(self, sizes: Mapping[str, int], limit: int | None = None) -> Specialization:
        within = self.linked.options.memory_limit if limit is None else limit
        make = self.linked.program.specialize
        return Specialization(self.notes, self._at(sizes, lambda symbols: make(symbols, within)))

    def planned_bytes(self, sizes: Mapping[str, int], limit: int | None = None) -> int | None:
        binding = complete_binding(self.notes, sizes)
        if not self.notes.bindings.allows(binding):
            return None
        ask = self.linked.program.planned_bytes
        return self._at(sizes, lambda symbols: ask(symbols, limit))

    def estimate(self, sizes: Mapping[str, int]) -> Estimate | None:
        if not self.notes.bindings.allows(complete_binding(self.notes, sizes)):
            return None
        return self._at(sizes, self.linked.program.estimate)

    def reserve(self, sizes: Mapping[str, int]) -> None:
        self._at(sizes, self.linked.program.reserve)

    def take_static_memory(self, sizes: Sequence[range]) -> None:
        """All that calls of these sizes need, one at a time, before the first: `static_axes`."""
        try:
            self.linked.program.take_static_memory(sizes)
        except MemoryRefusedError as failure:
            raise self.beyond_limit(failure) from None
        except RuntimeFailure as failure:
            greatest = zip(self.symbols, sizes, strict=True)
            given = ", ".join(f"{symbol}={size[-1]}" for symbol, size in greatest)
            raise too_large(failure, given) from None

    def reserve_results(self, sizes: Mapping[str, int]) -> None:
        """Memory for the results alone: where programs share an arena, it is not this one's."""
        self._at(sizes, self.linked.program.reserve_outputs)

    def _at(self, sizes: Mapping[str, int], act: Callable[[Sequence[int]], T]) -> T:
        """What `act` does with the binding; what it refuses, in the words of the model."""
        binding = complete_binding(self.notes, sizes)
        self.notes.bindings.check(binding)
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
        return memory_error(failure, self.notes.name, self.symbols, self.linked.program)

    def trim(self) -> None:
        self.linked.program.trim()

    # --- one step at a time -------------------------------------------------------------------

    def steps(self, arrays: Sequence[Any]) -> Steps:
        """The same kernels on the same memory, with a look at every value in between. Whoever keeps
        all values needs no limit: the call is the usual one."""
        stepper = self.linked.program.stepwise(arrays, ANY_MEMORY, keep_donated=True)
        described = self.linked.program.description
        shapes = [_in_memory(shape_of(a), i) for a, i in zip(arrays, described.inputs, strict=True)]
        sizes = self.notes.bindings.solve(shapes)
        level_2 = self.linked.program.specialize([sizes[symbol] for symbol in self.symbols]).steps
        for number, (step, numbers) in enumerate(zip(self.notes.steps, level_2, strict=True)):
            spent = stepper.step()
            skipped = step.in_chain and not numbers.tasks
            values = () if skipped else _values(stepper, step, sizes)
            yield StepRun(number, numbers.name, step.node, spent, values)
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
        return {addresses[number]: size for number, size in self.notes.constant_sizes}

    def memory(self) -> ExecutableMemory:
        metrics = self.metrics()
        weights = sum(self.weights.values())
        code = self.linked.code_bytes
        return ExecutableMemory(weights, code, metrics.bytes, metrics.idle_arena_bytes)

    @property
    def kernels(self) -> tuple[KernelView, ...]:
        return self.notes.kernels(self.linked.target)

    @property
    def plan(self) -> Schedule | None:
        """What it was compiled from; None if it was loaded."""
        return self.notes.schedule

    def kernel_summary(self) -> KernelSummary:
        steps, texts = len(self.linked.program.description.steps), self.notes.text_sizes()
        code_bytes, origins = self.linked.code_bytes, self.linked.origins
        where = (origins.memory, origins.disk, origins.compiled)
        return KernelSummary(steps, *texts, code_bytes, *where)

    @property
    def constants(self) -> Sequence[LinkedConstant]:
        return self.linked.constants

    def record(self, name: str, blobs: Blobs) -> ProgramRecord:
        return program_record(self.notes, self.linked, blobs)

    def decisions(self) -> tuple[Decision, ...]:
        return self.notes.decisions


def complete_binding(notes: ProgramNotes, sizes: Mapping[str, int]) -> Binding:
    """The size of each symbol: given by name, or following from the others by the facts."""
    names = {symbol.name: symbol for symbol in notes.symbols}
    given = {names[name]: _size(name, size) for name, size in sizes.items() if name in names}
    binding = given if len(given) == len(names) else _with_derived(given, notes)
    missing = sorted(symbol.name for symbol in notes.symbols if symbol not in binding)
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


def _with_derived(given: Binding, notes: ProgramNotes) -> Binding:
    """Also the sizes that equalities give, by a plan whose only input is the binding."""
    pattern = ("the binding", tuple(map(Dim.of, given)))
    try:
        plan = BindingPlan.make([pattern], notes.facts, notes.late)
    except UnboundAxisError:  # the caller names what is missing
        return given
    return plan.solve([tuple(given.values())])


def _in_memory(shape: tuple[int, ...], input_: Input) -> tuple[int, ...]:
    """The sizes of an array in the order of the program."""
    return tuple(shape[axis] for axis in input_.order) if input_.order else shape


def _values(stepper: Stepper, step: StepNotes, sizes: Binding) -> tuple[Array, ...]:
    pairs = zip(step.writes, step.results, strict=True)
    return tuple(_value(stepper.buffer(number), type_, sizes) for number, type_ in pairs)


def _value(memory: Array, type_: TensorType, sizes: Binding) -> Array:
    shape = tuple(dim.evaluate(sizes) for dim in type_.shape)
    return memory.copy().view(type_.dtype.numpy).reshape(shape)
