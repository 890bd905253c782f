"""`KernelView`: a kernel of an Executable, in every form it has on its way to machine code."""

from __future__ import annotations

from dataclasses import dataclass, field

from anyshape.codegen.target import Target
from anyshape.loop import Kernel


@dataclass(frozen=True, slots=True)
class KernelView:
    """One way to do one step. Its texts are made when they are asked for.

    for kernel in executable.kernels:
        print(kernel.name, kernel.variant, kernel.as_text())
    """

    name: str  # of the step, as `dot+add+gelu`
    variant: str  # which way; level 2 takes the cheapest where a step has several
    ops: tuple[str, ...]
    kernel: Kernel = field(repr=False)
    target: Target = field(repr=False)

    @property
    def isa(self) -> str:
        """The instruction set that its vectors are written for."""
        return self.target.isa

    def as_text(self) -> str:
        """The loop nest; `anyshape.loop.parser` reads it back."""
        return self.kernel.as_text()

    def llvm(self, *, optimized: bool = False) -> str:
        """LLVM IR as it is emitted for the Executable's target, or as LLVM's passes leave it."""
        form = "optimized LLVM text" if optimized else "LLVM text"
        return self.target.listing(self.kernel, form)

    def assembly(self) -> str:
        """The target's instructions."""
        return self.target.listing(self.kernel, "assembly")

    def __str__(self) -> str:
        return self.as_text()
