"""Sources of object code: kernels of the loop IR, and LLVM IR written by others.

Also the door to the emitter, which is imported with the first kernel that is emitted: a process
that finds its code in the cache loads neither the emitter nor llvmlite.
"""

from __future__ import annotations

from typing import TypeAlias

from anyshape.codegen.llvm.binding import LOADING
from anyshape.codegen.llvm.compile import kernel_name
from anyshape.codegen.llvm.target import Target
from anyshape.loop import Kernel
from anyshape.loop.printer import kernel_text

Source: TypeAlias = Kernel | str
"""A kernel, or the text of a module in LLVM IR."""


def source_text(source: Source) -> str:
    """All of a source that its code depends on. Emitting needs no more, so it can come later."""
    return source if isinstance(source, str) else kernel_text(source)


def source_name(source: Source) -> str:
    """The function that its object defines."""
    return kernel_name(source) if isinstance(source, str) else KERNEL


KERNEL = "kernel"
"""The name of the function that a kernel becomes."""


def llvm_text(source: Source, target: Target) -> str:
    """LLVM IR of a source; see `anyshape.codegen.llvm.emit`."""
    if isinstance(source, str):
        return source
    with LOADING:
        from anyshape.codegen.llvm.emit import emit_kernel  # noqa: PLC0415 - a heavy package

    return emit_kernel(source, target, KERNEL)
