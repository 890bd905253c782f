"""What targets have in common whose code LLVM makes for CPUs, whoever runs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from anyshape.codegen.llvm.compiler import Compiler
from anyshape.codegen.llvm.listings import listing
from anyshape.codegen.llvm.target import LlvmTarget
from anyshape.codegen.target import MemoryKind, Setup
from anyshape.loop import Kernel
from anyshape.lower.tiling import Tiling


@dataclass(frozen=True, slots=True)
class CpuTarget:
    """One CPU, or a level that many have in common. See `codegen.target.Target`."""

    llvm: LlvmTarget

    memory: ClassVar[MemoryKind] = MemoryKind.HOST
    most_threads: ClassVar[int | None] = None
    is_machine_code: ClassVar[bool] = True

    @property
    def isa(self) -> str:
        return self.llvm.isa

    @property
    def tiling(self) -> Tiling:
        return self.llvm.tiling

    def compiler(self, setup: Setup) -> Compiler:
        return Compiler(self.llvm, cpus=setup.jobs, cache=setup.cache)

    def listing(self, kernel: Kernel, form: str) -> str:
        return listing(kernel, self.llvm, form)
