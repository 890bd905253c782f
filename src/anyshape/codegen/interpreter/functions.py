"""Functions that the runtime calls like compiled ones, and that Python runs.

They read and write memory where it is: arenas with their offsets, workspaces of each worker,
results that are written over operands.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from anyshape.base.errors import CodeError
from anyshape.codegen.interpreter.failures import keeping
from anyshape.codegen.target import BIND, KERNEL, SHAPE
from anyshape.ir.types import Array
from anyshape.level2 import ShapeProgram
from anyshape.level2.interpret import bind, shape
from anyshape.loop import Buffer, Kernel
from anyshape.loop.interpret import run_tasks
from anyshape.loop.ir import workspace_bytes
from anyshape.sym import Symbol

Words = Any
"""A pointer to 64-bit integers."""

_WORDS: Final = ctypes.POINTER(ctypes.c_int64)
_KERNEL: Final = ctypes.CFUNCTYPE(None, _WORDS, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
_LEVEL_2: Final = ctypes.CFUNCTYPE(ctypes.c_int64, _WORDS, _WORDS)

_UNWRITTEN: Final = 0xA5
"""What scratch holds before it is written: no number that anyone would compute."""


class InterpretedCode:
    """Functions by name, which live as long as this object."""

    def __init__(self, functions: Mapping[str, Any]) -> None:
        self._functions = functions

    @property
    def mapped_bytes(self) -> int:
        return 0

    def address(self, name: str) -> int:
        if name not in self._functions:
            raise CodeError(f"no function '{name}'; it has {', '.join(self._functions)}")
        address = ctypes.cast(self._functions[name], ctypes.c_void_p).value
        assert address is not None
        return address


def code_of(source: Kernel | ShapeProgram) -> InterpretedCode:
    """What a source becomes."""
    if isinstance(source, Kernel):
        return InterpretedCode({KERNEL: _KERNEL(keeping(kernel_function(source)))})
    functions = {BIND: bind_function(source), SHAPE: shape_function(source)}
    return InterpretedCode({name: _LEVEL_2(keeping(f)) for name, f in functions.items()})


# --- level 2 --------------------------------------------------------------------------------------


def bind_function(program: ShapeProgram) -> Callable[[Words, Words], int]:
    plan = program.bindings
    ranks = sum(len(dims) for _, dims in plan.inputs)

    def function(sizes: Words, symbols: Words) -> int:
        solved = [0] * len(plan.steps)
        answer = bind(plan, sizes[:ranks], solved)
        _store(solved, symbols)
        return answer

    return function


def shape_function(program: ShapeProgram) -> Callable[[Words, Words], int]:
    words = program.words

    def function(symbols: Words, computed: Words) -> int:
        numbers = [0] * words.count
        answer = shape(words, symbols[: len(words.symbols)], numbers)
        _store(numbers, computed)
        return answer

    return function


def _store(values: list[int], memory: Words) -> None:
    for index, value in enumerate(values):
        memory[index] = value


# --- kernels --------------------------------------------------------------------------------------


def kernel_function(kernel: Kernel) -> Callable[[Words, int, int, int], None]:
    """Runs tasks on the memory that a block of arguments names."""
    spaces = kernel.workspaces
    addresses = len(kernel.buffers) + len(spaces)

    def function(block: Words, first: int, last: int, worker: int) -> None:
        given = block[addresses : addresses + len(kernel.sizes)]
        sizes = dict(zip(kernel.sizes, given, strict=True))
        memory = {b.name: _buffer(b, block[i], sizes) for i, b in enumerate(kernel.buffers)}
        for index, space in enumerate(spaces, len(kernel.buffers)):
            own = block[index] + worker * workspace_bytes(space).evaluate(sizes)
            memory[space.name] = _buffer(space, own, sizes)
        memory |= {b.name: _unwritten(b) for b in kernel.scratch if kernel.is_on_stack(b)}
        with np.errstate(all="ignore"):
            run_tasks(kernel, memory, sizes, range(first, last))

    return function


def _buffer(buffer: Buffer, address: int, sizes: Mapping[Symbol, int]) -> Array:
    shape = [dim.evaluate(sizes) for dim in buffer.shape]
    count = buffer.bytes.evaluate(sizes)
    if not count:
        return np.empty(shape, buffer.dtype.numpy)
    memory = memoryview((ctypes.c_uint8 * count).from_address(address))
    return np.frombuffer(memory, np.uint8).view(buffer.dtype.numpy).reshape(shape)


def _unwritten(scratch: Buffer) -> Array:
    """Scratch of constant size."""
    shape = [dim.evaluate({}) for dim in scratch.shape]
    memory = np.full(scratch.bytes.evaluate({}), _UNWRITTEN, np.uint8)
    return memory.view(scratch.dtype.numpy).reshape(shape)
