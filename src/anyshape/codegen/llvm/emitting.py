"""The door to the emitter: llvmlite is imported with the first kernel that is emitted.

A process that imports anyshape and only evaluates graphs, or finds its code in the cache, is spared
the import.
"""

from __future__ import annotations

from anyshape.codegen.llvm.target import Target
from anyshape.loop import Kernel


def emit_kernel(kernel: Kernel, target: Target) -> str:
    """LLVM IR of a kernel; see `anyshape.codegen.llvm.emit`."""
    from anyshape.codegen.llvm.emit import emit_kernel as emit  # noqa: PLC0415 - a heavy package

    return emit(kernel, target)
