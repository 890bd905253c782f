"""Sources of object code: kernels of the loop IR, LLVM IR written by others, and level 2's code.

Also the door to what writes LLVM IR, which is imported when something is first written. A process
that finds its code in the cache loads neither the emitter of kernels nor llvmlite.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from anyshape.base.fork_lock import LOADING
from anyshape.codegen.llvm.compile import DEFAULT_TUNING, Tuning, compile_object, kernel_name
from anyshape.codegen.llvm.target import LlvmTarget
from anyshape.codegen.target import KERNEL
from anyshape.level2 import ShapeProgram
from anyshape.loop import Kernel
from anyshape.loop.printer import kernel_text


@dataclass(frozen=True, slots=True)
class IntegerModule:
    """LLVM IR of integer code that computes each value once as it is written, as level 2's is.

    It is not optimised. LLVM's passes make it no faster and no shorter, and take three times as
    long as all the rest. One even breaks it: SLP gathers flags of overflow in masks, and for
    AVX-512 LLVM 22 then reads a mask register that nothing has written.
    """

    text: str


Source: TypeAlias = Kernel | IntegerModule | str
"""A kernel, integer code, or the text of any module in LLVM IR."""


def source_text(source: Source) -> str:
    """All of a source that its code depends on. Emitting needs no more, so it can come later."""
    return kernel_text(source) if isinstance(source, Kernel) else _given_text(source)


def _given_text(source: IntegerModule | str) -> str:
    return source if isinstance(source, str) else source.text


def source_name(source: Source) -> str:
    """The function that its object defines."""
    return KERNEL if isinstance(source, Kernel) else kernel_name(_given_text(source))


def written(source: Kernel | ShapeProgram) -> Source:
    """What a target is asked to make code of. LLVM IR of level 2 is written at once: its text is
    its key."""
    return source if isinstance(source, Kernel) else integer_module(source)


def integer_module(program: ShapeProgram) -> IntegerModule:
    """Level 2's code; see `anyshape.codegen.llvm.integers`."""
    with LOADING:
        from anyshape.codegen.llvm.integers.module import module_text  # noqa: PLC0415 - not at once

    return IntegerModule(module_text(program))


def llvm_text(source: Source, target: LlvmTarget) -> str:
    """LLVM IR of a source; see `anyshape.codegen.llvm.emit`."""
    if not isinstance(source, Kernel):
        return _given_text(source)
    with LOADING:
        from anyshape.codegen.llvm.emit import emit_kernel  # noqa: PLC0415 - a heavy package

    return emit_kernel(source, target, KERNEL)


def compile_source(source: Source, target: LlvmTarget, tuning: Tuning = DEFAULT_TUNING) -> bytes:
    """The object code of a source."""
    optimize = not isinstance(source, IntegerModule)
    return compile_object(llvm_text(source, target), target, tuning, optimize=optimize)
