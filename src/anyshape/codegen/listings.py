"""What generated code looks like on its way from a kernel to instructions, as text.

Made when somebody asks, from the kernel itself: a process that found its code in the cache shows
the same as the one that compiled it.
"""

from __future__ import annotations

from dataclasses import dataclass

from anyshape.base.errors import NotGeneratedError
from anyshape.codegen.llvm.compile import DEFAULT_TUNING, Tuning, assembly_text, optimized_text
from anyshape.codegen.llvm.emitting import llvm_text
from anyshape.codegen.llvm.target import Target
from anyshape.loop import Kernel


@dataclass(frozen=True, slots=True)
class Listings:
    """Texts of kernels as one target has them."""

    target: Target
    tuning: Tuning = DEFAULT_TUNING

    def llvm(self, kernel: Kernel, *, optimized: bool = False) -> str:
        """LLVM IR as it is emitted, or as LLVM's passes leave it."""
        emitted = self._emitted(kernel, "LLVM text")
        return optimized_text(emitted, self.target, self.tuning) if optimized else emitted

    def assembly(self, kernel: Kernel) -> str:
        """The instructions of its object code."""
        return assembly_text(self._emitted(kernel, "assembly"), self.target, self.tuning)

    def _emitted(self, kernel: Kernel, what: str) -> str:
        if kernel.native:
            raise NotGeneratedError(kernel.native, what)
        return llvm_text(kernel, self.target)
