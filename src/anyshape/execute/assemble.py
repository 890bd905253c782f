"""A schedule and its machine code, put together into a program of the native runtime."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, islice

import numpy as np

from anyshape.base.errors import WeightMemoryError
from anyshape.codegen.compiler import Compiler
from anyshape.codegen.listings import Listings
from anyshape.codegen.llvm.emitting import KERNEL
from anyshape.execute.library import Origins, loaded_code
from anyshape.execute.memory_limits import arrays_of_numpy
from anyshape.ir.literal import TensorLiteral
from anyshape.ir.types import Array
from anyshape.loop import Kernel
from anyshape.lower.packing import pack, unpack
from anyshape.plan.buffers import (
    NOTHING,
    AliasStore,
    ArenaStore,
    BufferPlan,
    ConstantStore,
    InputStore,
    OutputStore,
)
from anyshape.plan.schedule import Schedule, StepPlan, outputs_of, tensors
from anyshape.plan.shape_program import shape_program
from anyshape.plan.words import (
    Cheapest,
    Estimate,
    Formula,
    Number,
    OfCheapest,
    Words,
    in_own_sizes,
)
from anyshape.runtime.code import Code, native_kernel
from anyshape.runtime.machine import lacking_memory
from anyshape.runtime.program import (
    Address,
    AliasBuffer,
    ArenaBuffer,
    Buffer,
    Input,
    InputBuffer,
    Output,
    OutputBuffer,
    Program,
    ProgramDescription,
    RunOptions,
    Source,
    Step,
    WeightBuffer,
    Word,
)
from anyshape.sym import BindingPlan


@dataclass(frozen=True)
class Assembled:
    """A program ready to run, and what it was made from."""

    program: Program
    words: Words
    kernels: tuple[Kernel, ...]
    code_bytes: int  # of the code's pages, each counted once
    origins: Origins
    listings: Listings


def assemble(
    plan: Schedule,
    bindings: BindingPlan,
    compiler: Compiler,
    options: RunOptions | None = None,
    *,
    perf_map: bool = False,
) -> Assembled:
    """Compiles, loads and links everything a schedule needs; see `Options.perf_map`."""
    words = Words(meaning=plan.sums)
    weights = _Weights(plan)
    kernels = tuple(plan.kernels)
    buffers = tuple(_buffer(buffer, words, weights) for buffer in plan.buffers)
    steps = [_step(step, words) for step in plan.steps]
    outputs = _outputs(plan, words)
    generated = [kernel for kernel in kernels if not kernel.native]
    sources = [*generated, shape_program(bindings, words)]
    loaded = loaded_code(compiler, sources, perf_map=perf_map)
    codes = loaded.codes
    addresses = _addresses(kernels, codes)
    linked = (
        replace(step, variants=tuple(islice(addresses, len(planned.choices))))
        for step, planned in zip(steps, plan.steps, strict=True)
    )
    description = ProgramDescription(
        codes[-1].address("bind"),
        codes[-1].address("shape"),
        len(bindings.steps),
        len(words.numbers),
        _inputs(plan),
        outputs,
        buffers,
        tuple(linked),
        plan.window,
    )
    program = Program(description, (*codes, weights), options)
    code_bytes = sum(code.mapped_bytes for code in set(codes))
    return Assembled(program, words, kernels, code_bytes, loaded.origins, compiler.listings)


def _addresses(kernels: Sequence[Kernel], codes: Sequence[Code]) -> Iterator[int]:
    """Of each kernel, generated or the runtime's own; `codes` are of the generated ones."""
    generated = iter(codes)
    for kernel in kernels:
        yield native_kernel(kernel.native) if kernel.native else next(generated).address(KERNEL)


class _Weights:
    """Constants in memory, kept as long as the program.

    A weight is held once: the graph's store lets go of what is packed, and reads the panels.
    """

    def __init__(self, plan: Schedule) -> None:
        self.graph = plan.graph.name
        self.store = plan.graph.weights
        self.arrays: list[Array] = []

    def address(self, store: ConstantStore) -> int:
        value, packing = store.constant.value, store.packing
        array = value.array if isinstance(value, TensorLiteral) else self.store.array(value)
        self._ask(array, store)
        with arrays_of_numpy():
            dense = pack(array, packing) if packing else np.ascontiguousarray(array)
        if packing and not isinstance(value, TensorLiteral):
            self.store.move(value, partial(unpack, dense, packing, value.shape))
        self.arrays.append(dense)
        return dense.ctypes.data

    def _ask(self, array: Array, store: ConstantStore) -> None:
        """Before memory is taken for another form of a constant."""
        value, packing = store.constant.value, store.packing
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


def _buffer(buffer: BufferPlan, words: Words, weights: _Weights) -> Buffer:
    size = words.word(_bytes(buffer))
    match buffer.store:
        case InputStore(index):
            return InputBuffer(index, size)
        case OutputStore(index):
            return OutputBuffer(index, size)
        case ConstantStore():
            return WeightBuffer(weights.address(buffer.store), size)
        case ArenaStore(first, last, conflicts, per_worker):
            return ArenaBuffer(size, first, last, conflicts, per_worker)
        case AliasStore(of, offset, in_place):
            word = None if offset is NOTHING else words.word(offset)
            return AliasBuffer(of, word, size, in_place)


def _bytes(buffer: BufferPlan) -> Number:
    """A workspace of a variant that is not chosen takes nothing."""
    only = buffer.only
    if only is None:
        return buffer.bytes
    sizes = (only.bytes if i == only.index else NOTHING for i in range(len(only.costs)))
    return in_own_sizes(OfCheapest(only.costs, tuple(sizes)), only.sizes)


def _step(step: StepPlan, words: Words) -> Step:
    """The step without its code, which cannot be compiled before all words are known."""

    def word(formula: Formula) -> int:
        return words.word(in_own_sizes(formula, step.ways.sizes))

    blocks = [_block(step, spaces, words) for spaces in step.workspaces]
    if len(step.choices) == 1:
        (way,) = step.choices
        cost = word(Estimate(way.alone))
        return Step(step.name, (), word(way.tasks), blocks[0], step.waits, cost=cost)
    costs = tuple(way.shared for way in step.choices)
    alone = tuple(Estimate(way.alone) for way in step.choices)
    return Step(
        step.name,
        (),
        word(OfCheapest(costs, tuple(way.tasks for way in step.choices))),
        tuple(source for block in blocks for source in block),
        step.waits,
        word(Cheapest(costs)),
        word(OfCheapest(costs, alone)),
        tuple(way.variant.name for way in step.choices),
        tuple(word(Estimate(cost)) for cost in costs),
        tuple(accumulate(map(len, blocks[:-1]), initial=0)),
    )


def _block(step: StepPlan, workspaces: tuple[int, ...], words: Words) -> tuple[Source, ...]:
    addresses = (Address(number) for number in (*step.buffers, *workspaces))
    sizes = (Word(words.word(dim)) for dim in step.lowered.sizes)
    return (*addresses, *sizes)


def _inputs(plan: Schedule) -> tuple[Input, ...]:
    pairs = zip(plan.graph.inputs, tensors(plan.graph), strict=True)
    orders = plan.donation.input_orders
    return tuple(
        Input(name, type_.dtype.numpy, type_.rank, orders.get(number, ()))
        for number, (name, type_) in enumerate(pairs)
    )


def _outputs(plan: Schedule, words: Words) -> tuple[Output, ...]:
    numbers = {buffer.value: number for number, buffer in enumerate(plan.buffers)}
    return tuple(
        Output(
            value.tensor.dtype.numpy,
            tuple(words.word(dim) for dim in value.tensor.shape),
            numbers[value],
            plan.donation.result_orders.get(plan.graph.results.index(value), ()),
            plan.starts.get(number),
        )
        for number, value in enumerate(outputs_of(plan.graph))
    )
