"""A schedule becomes a program of the native runtime: described, and linked with its code."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from anyshape.analysis.separate_parts import has_axis
from anyshape.base.errors import WeightMemoryError
from anyshape.codegen.target import BIND, KERNEL, SHAPE, Code, Loaded, Origins, Target
from anyshape.execute.link_chains import carrier_step, chain_block, member_step
from anyshape.execute.memory_limits import arrays_of_numpy
from anyshape.ir.inputs import tensor_inputs
from anyshape.ir.literal import TensorLiteral, WeightRef
from anyshape.ir.types import Array
from anyshape.level2 import ShapeProgram, shape_program
from anyshape.level2.words import (
    Cheapest,
    Estimate,
    Formula,
    Number,
    OfCheapest,
    Words,
    in_own_sizes,
)
from anyshape.loop import Kernel
from anyshape.lower.packing import Packing, pack, unpack
from anyshape.plan.buffers import NOTHING, BufferPlan, ConstantPlan
from anyshape.plan.given_memory import outputs_of
from anyshape.plan.schedule import Schedule, StepPlan
from anyshape.program import (
    Address,
    Buffer,
    Input,
    Output,
    ProgramDescription,
    Source,
    Split,
    Step,
    Variant,
    Word,
    with_numbers,
)
from anyshape.runtime.code import native_kernel
from anyshape.runtime.guarded import program_of
from anyshape.runtime.machine import lacking_memory
from anyshape.runtime.options import RunOptions
from anyshape.runtime.program import Program
from anyshape.sym import BindingPlan


@dataclass(frozen=True)
class UnlinkedProgram:
    """A program without its code: everything that a schedule says, in words of level 2.

    Compiling waits for all of it, because level 2's own code computes every word.
    """

    plan: Schedule
    bindings: BindingPlan
    words: Words
    weights: Weights
    buffers: tuple[Buffer, ...]
    steps: tuple[Step, ...]
    outputs: tuple[Output, ...]
    kernels: tuple[Kernel, ...]
    level_2: ShapeProgram

    @property
    def sources(self) -> list[Kernel | ShapeProgram]:
        """What is compiled: kernels that are not the runtime's own, and level 2, the last."""
        return [*(kernel for kernel in self.kernels if not kernel.native), self.level_2]


def unlinked_program(plan: Schedule, bindings: BindingPlan, jobs: int = 1) -> UnlinkedProgram:
    """Describes a schedule to the runtime, and begins to put its constants into memory, on up to
    `jobs` threads: whoever goes on with it waits for them (`Weights.addresses`)."""
    words, weights = Words(meaning=plan.sums), Weights(plan, jobs)
    kernels = tuple(plan.kernels)
    return UnlinkedProgram(
        plan,
        bindings,
        words,
        weights,
        tuple(_buffer(buffer, words) for buffer in plan.buffers),
        _steps(plan, words),
        _outputs(plan, words),
        kernels,
        shape_program(bindings, words),  # after everything that asks for words
    )


@dataclass(frozen=True)
class LinkedProgram:
    """A program ready to run, and what it was made from."""

    program: Program
    words: Words
    kernels: tuple[Kernel, ...]
    code_bytes: int  # of the code's pages, each counted once
    origins: Origins
    target: Target
    functions: tuple[LinkedFunction, ...]  # of the description's kernels
    level_2: Code
    constants: tuple[LinkedConstant, ...]
    options: RunOptions


class LinkedFunction(NamedTuple):
    """Where a kernel is: in generated code, or among the runtime's own if there is none."""

    code: Code | None
    name: str

    @property
    def address(self) -> int:
        return self.code.address(self.name) if self.code else native_kernel(self.name)


class LinkedConstant(NamedTuple):
    """A constant in memory, as kernels read it, and what it is a form of: content and packing."""

    array: Array
    value: TensorLiteral | WeightRef
    packing: Packing | None


def link(
    made: UnlinkedProgram, code: Loaded, target: Target, options: RunOptions | None = None
) -> LinkedProgram:
    """Gives a program its code, which is that of its sources for the target."""
    codes, functions = code.codes, tuple(_functions(made.kernels, code.codes))
    description = ProgramDescription(
        codes[-1].address(BIND),
        codes[-1].address(SHAPE),
        len(made.bindings.steps),
        made.level_2.words.count,
        tuple(function.address for function in functions),
        made.weights.addresses(),
        _inputs(made.plan),
        made.outputs,
        made.buffers,
        made.steps,
        made.plan.window,
        _splits(made),
    )
    program = program_of(description, (*codes, made.weights), options, target.guard)
    code_bytes = sum(code.mapped_bytes for code in set(codes))
    return LinkedProgram(
        program,
        made.words,
        made.kernels,
        code_bytes,
        code.origins,
        target,
        functions,
        codes[-1],
        made.weights.forms(),
        options or RunOptions(),
    )


def _functions(kernels: Sequence[Kernel], codes: Sequence[Code]) -> Iterator[LinkedFunction]:
    """Of each kernel, generated or the runtime's own; `codes` are of the generated ones."""
    generated = iter(codes)
    for kernel in kernels:
        own = kernel.native
        yield LinkedFunction(None, own) if own else LinkedFunction(next(generated), KERNEL)


WORTH_THREADS = 1 << 24
"""Bytes of weights: fewer are packed before another thread has started."""

MOST_THREADS = 4
"""Memory is not read faster by more."""


class Weights:
    """Constants in memory, kept as long as the program.

    A weight is held once: the graph's store lets go of what is packed, and reads the panels. A
    program whose store has the weight in the same form already shares it.

    Many bytes are packed by threads, from the beginning on: NumPy lets others run while it copies,
    and code is made meanwhile.
    """

    def __init__(self, plan: Schedule, jobs: int = 1) -> None:
        self.graph = plan.graph.name
        self.store = plan.graph.weights
        self.plans = plan.constants
        self.arrays: list[Array] = []
        self._addresses = self._begun(plan.constants, jobs)

    def addresses(self) -> tuple[int, ...]:
        """Of all constants, when all of them are there."""
        self.wait()
        return tuple(each if isinstance(each, int) else each.result() for each in self._addresses)

    def forms(self) -> tuple[LinkedConstant, ...]:
        """All constants, as kernels read them."""
        by_address = {array.ctypes.data: array for array in self.arrays}
        return tuple(
            LinkedConstant(by_address[at], plan.constant.value, plan.packing)
            for at, plan in zip(self.addresses(), self.plans, strict=True)
        )

    def wait(self) -> None:
        """Until no thread reads or moves a constant any more."""
        wait(each for each in self._addresses if isinstance(each, Future))

    def _begun(self, plans: Sequence[ConstantPlan], jobs: int) -> list[int | Future[int]]:
        packed = [plan.constant.value.type for plan in plans if plan.packing]
        size = sum(type_.dtype.itemsize * int(type_.size) for type_ in packed)
        if jobs == 1 or size < WORTH_THREADS:
            return [self.address(plan) for plan in plans]
        pool = ThreadPoolExecutor(min(jobs, MOST_THREADS), "anyshape-pack")
        begun: list[int | Future[int]] = [pool.submit(self.address, plan) for plan in plans]
        pool.shutdown(wait=False)
        return begun

    def address(self, plan: ConstantPlan) -> int:
        value, packing = plan.constant.value, plan.packing
        if isinstance(value, TensorLiteral):
            dense = self._dense(plan, value.array)
        else:
            dense = self.store.form(value, packing, partial(self._dense, plan))
            if packing:
                self.store.move(value, partial(unpack, dense, packing, value.shape))
        self.arrays.append(dense)
        return dense.ctypes.data

    def _dense(self, plan: ConstantPlan, array: Array) -> Array:
        self._ask(array, plan)
        with arrays_of_numpy():
            return pack(array, plan.packing) if plan.packing else np.ascontiguousarray(array)

    def _ask(self, array: Array, plan: ConstantPlan) -> None:
        """Before memory is taken for another form of a constant."""
        value, packing = plan.constant.value, plan.packing
        if packing is None and array.flags.c_contiguous:
            return
        shape = packing.shape(array.shape) if packing else array.shape
        size = math.prod(shape) * array.dtype.itemsize
        left = lacking_memory(size)
        if left is not None:
            sizes = ", ".join(map(str, array.shape))
            form = "in panels" if packing else "in order"
            weight = f"{value!r} {value.dtype}[{sizes}] {form}"
            raise WeightMemoryError(self.graph, {}, {weight: size}, left, {})


def _buffer(buffer: BufferPlan, words: Words) -> Buffer:
    size = words.word(_bytes(buffer))
    return Buffer(with_numbers(buffer.store, words.word), size)


def _bytes(buffer: BufferPlan) -> Number:
    """A workspace of a variant that is not chosen takes nothing."""
    only = buffer.only
    if only is None:
        return buffer.bytes
    sizes = (only.bytes if i == only.index else NOTHING for i in range(len(only.costs)))
    return in_own_sizes(OfCheapest(only.costs, tuple(sizes)), only.sizes)


def _steps(plan: Schedule, words: Words) -> tuple[Step, ...]:
    """Kernels are numbered as `plan.kernels` has them."""
    counts = (len(step.variants) + (step.carried is not None) for step in plan.steps)
    kernels = tuple(accumulate(counts, initial=0))
    return tuple(
        _step(step, first, words)
        if step.member_of is None
        else _member(plan, step, kernels, first, words)
        for step, first in zip(plan.steps, kernels, strict=False)
    )


def _member(
    plan: Schedule, step: StepPlan, kernels: Sequence[int], first: int, words: Words
) -> Step:
    """A member of a chain; `kernels` are the numbers of each step's first kernel."""
    (spaces,) = step.workspaces
    block = _block(step, spaces, words)
    if step.carried is None:
        return member_step(step, first, block, words)
    return carrier_step(step, first, block, chain_block(plan, step.carried, kernels, words), words)


def _step(step: StepPlan, first: int, words: Words) -> Step:
    """The step whose variants are kernels from number `first` on."""

    def word(formula: Formula) -> int:
        return words.word(in_own_sizes(formula, step.costed.sizes))

    blocks = [_block(step, spaces, words) for spaces in step.workspaces]
    if len(step.variants) == 1:
        (way,) = step.variants
        cost = word(Estimate(way.alone))
        variant = Variant(first)
        return Step(step.name, (variant,), word(way.tasks), blocks[0], step.waits, cost=cost)
    costs = tuple(way.shared for way in step.variants)
    alone = tuple(Estimate(way.alone) for way in step.variants)
    tasks = word(OfCheapest(costs, tuple(way.tasks for way in step.variants)))
    chosen, cost = word(Cheapest(costs)), word(OfCheapest(costs, alone))
    starts = accumulate(map(len, blocks[:-1]), initial=0)
    variants = tuple(
        Variant(number, start, way.variant.name, word(Estimate(way.shared)))
        for number, (way, start) in enumerate(zip(step.variants, starts, strict=True), first)
    )
    block = tuple(source for block in blocks for source in block)
    return Step(step.name, variants, tasks, block, step.waits, chosen, cost)


def _block(step: StepPlan, workspaces: tuple[int, ...], words: Words) -> tuple[Source, ...]:
    addresses = (Address(number) for number in (*step.buffers, *workspaces))
    sizes = (Word(words.word(dim)) for dim in step.lowered.sizes)
    return (*addresses, *sizes)


def _inputs(plan: Schedule) -> tuple[Input, ...]:
    orders = plan.donation.input_orders
    return tuple(
        Input(name, type_.dtype.numpy, type_.rank, orders.get(number, ()))
        for number, (name, type_) in enumerate(tensor_inputs(plan.graph))
    )


def _splits(made: UnlinkedProgram) -> tuple[Split, ...]:
    """Axes along which calls may be run in parts, in numbers of the program."""
    symbols = [step.affine.symbol for step in made.bindings.steps]
    inputs = [(n, type_) for n, (_, type_) in enumerate(tensor_inputs(made.plan.graph))]
    outputs = list(enumerate(outputs_of(made.plan.graph)))
    return tuple(
        Split(
            symbols.index(symbol),
            split.least,
            split.axis.multiple_of,
            tuple(number for number, type_ in inputs if has_axis(type_, symbol)),
            tuple(number for number, value in outputs if has_axis(value.type, symbol)),
            tuple(n for n, step in enumerate(made.plan.steps) if step.node in split.once),
        )
        for split in made.plan.splits
        if not any(step.member_of for step in made.plan.steps if step.node in split.once)
        for symbol in (split.axis.symbol,)
    )


def _outputs(plan: Schedule, words: Words) -> tuple[Output, ...]:
    numbers = {buffer.value: number for number, buffer in enumerate(plan.buffers)}
    return tuple(
        Output(
            value.tensor.dtype.numpy,
            tuple(words.word(dim) for dim in value.tensor.shape),
            numbers[value],
            plan.donation.result_orders.get(plan.graph.results.index(value), ()),
            plan.output_prefixes.get(number),
        )
        for number, value in enumerate(outputs_of(plan.graph))
    )
