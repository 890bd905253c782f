"""A schedule and its machine code, put together into a program of the native runtime."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from anyshape.codegen.compiler import Compiler
from anyshape.codegen.llvm.emitting import emit_kernel
from anyshape.ir.literal import TensorLiteral
from anyshape.ir.types import Array
from anyshape.lower.packing import pack
from anyshape.plan.schedule import (
    AliasStore,
    ArenaStore,
    BufferPlan,
    ConstantStore,
    InputStore,
    OutputStore,
    Schedule,
    StepPlan,
    outputs_of,
    tensors,
)
from anyshape.plan.shape_program import Words, program_text
from anyshape.runtime.code import Code, load_code
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
    Step,
    WeightBuffer,
    Word,
)
from anyshape.sym import BindingPlan

KERNEL = "kernel"


@dataclass(frozen=True)
class Assembled:
    """A program ready to run, and the texts that it was made from."""

    program: Program
    words: Words
    kernels: tuple[str, ...]


def assemble(plan: Schedule, bindings: BindingPlan, compiler: Compiler) -> Assembled:
    """Emits, compiles, loads and links everything a schedule needs."""
    words = Words()
    weights = _Weights(plan)
    kernels = tuple(emit_kernel(step.lowered.kernel, compiler.target) for step in plan.steps)
    buffers = tuple(_buffer(buffer, words, weights) for buffer in plan.buffers)
    steps = [_step(step, words) for step in plan.steps]
    outputs = _outputs(plan, words)
    codes = _load(compiler, [*kernels, program_text(bindings, words)])
    linked = zip(steps, codes, strict=False)  # the last code is the shape program's
    steps = [replace(step, variants=(code.address(KERNEL),)) for step, code in linked]
    description = ProgramDescription(
        codes[-1].address("bind"),
        codes[-1].address("shape"),
        len(bindings.steps),
        len(words.dims),
        _inputs(plan),
        outputs,
        buffers,
        tuple(steps),
    )
    return Assembled(Program(description, (*codes, weights)), words, kernels)


def _load(compiler: Compiler, texts: Sequence[str]) -> list[Code]:
    """Equal texts share their code."""
    loaded: dict[str, Code] = {}
    for text, elf_object in zip(texts, compiler.compile(texts), strict=True):
        if text not in loaded:
            loaded[text] = load_code(elf_object)
    return [loaded[text] for text in texts]


class _Weights:
    """Constants in memory, kept as long as the program."""

    def __init__(self, plan: Schedule) -> None:
        self.store = plan.graph.weights
        self.arrays: list[Array] = []

    def address(self, store: ConstantStore) -> int:
        value = store.constant.value
        array = value.array if isinstance(value, TensorLiteral) else self.store.array(value)
        dense = pack(array, store.packing) if store.packing else np.ascontiguousarray(array)
        self.arrays.append(dense)
        return dense.ctypes.data


def _buffer(buffer: BufferPlan, words: Words, weights: _Weights) -> Buffer:
    size = words.word(buffer.bytes)
    match buffer.store:
        case InputStore(index):
            return InputBuffer(index, size)
        case OutputStore(index):
            return OutputBuffer(index, size)
        case ConstantStore():
            return WeightBuffer(weights.address(buffer.store), size)
        case ArenaStore(first, last, conflicts, per_worker):
            return ArenaBuffer(size, first, last, conflicts, per_worker)
        case AliasStore(of):
            return AliasBuffer(of, bytes=size)


def _step(step: StepPlan, words: Words) -> Step:
    """The step without its code, which cannot be compiled before all words are known."""
    kernel = step.lowered.kernel
    addresses = (Address(number) for number in step.buffers)
    sizes = (Word(words.word(dim)) for dim in step.lowered.sizes)
    tasks = words.word(step.lowered.of_graph(kernel.tasks))
    label = step.node.regions[0].results[0].node.op.name
    return Step(label, (), tasks, (*addresses, *sizes), step.waits)


def _inputs(plan: Schedule) -> tuple[Input, ...]:
    pairs = zip(plan.graph.inputs, tensors(plan.graph), strict=True)
    return tuple(Input(name, type_.dtype.numpy, type_.rank) for name, type_ in pairs)


def _outputs(plan: Schedule, words: Words) -> tuple[Output, ...]:
    numbers = {buffer.value: number for number, buffer in enumerate(plan.buffers)}
    return tuple(
        Output(
            value.tensor.dtype.numpy,
            tuple(words.word(dim) for dim in value.tensor.shape),
            numbers[value],
        )
        for value in outputs_of(plan.graph)
    )
