"""What LLVM generates code for: an instruction set, a CPU to tune for, and its features.

An `LlvmTarget` is all that a kernel's code depends on beside the kernel: it decides how products
are tiled, how wide vectors are, which instructions may be used, and under which key code is kept.

LLVM knows this machine's CPU better than we do, but a process that only loads cached kernels must
not load LLVM to find a cache key. So the host's target carries the *identity* of the CPU, which
the native library reads in microseconds; what LLVM calls that CPU is asked when it compiles.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from anyshape.codegen.llvm.isa import INSTRUCTION_SETS, InstructionSet
from anyshape.lower.tiling import Tiling


@dataclass(frozen=True, slots=True)
class LlvmTarget:
    """LLVM's triple, CPU name and features; or, if `host` is set, the CPU that LLVM finds here.

    `host` identifies that CPU: two machines with different CPUs have different host targets. `isa`
    is what vectors are written for, at most what that CPU has.
    """

    triple: str
    isa: str
    cpu: str = ""
    features: str = ""  # "+avx2,-avx512f"
    host: str = ""

    @property
    def instruction_set(self) -> InstructionSet:
        return INSTRUCTION_SETS[self.isa]

    @property
    def tiling(self) -> Tiling:
        """How work is divided."""
        return self.instruction_set.tiling


def host_target(cpu_identity: str, isa: str) -> LlvmTarget:
    """The machine we run on: by what `anyshape.runtime` says of its CPU."""
    return LlvmTarget(f"{os.uname().machine}-unknown-linux-gnu", isa, host=cpu_identity)


_X86_64: Final = "x86_64-unknown-linux-gnu"
_AARCH64: Final = "aarch64-unknown-linux-gnu"

NAMED_TARGETS: Final = MappingProxyType(
    {
        "x86-64-sse2": LlvmTarget(_X86_64, "sse2", "x86-64"),
        "x86-64-avx2": LlvmTarget(_X86_64, "avx2", "x86-64-v3"),
        "x86-64-avx512": LlvmTarget(_X86_64, "avx512", "x86-64-v4"),
        "aarch64-neon": LlvmTarget(_AARCH64, "neon", "generic", "+neon"),
    }
)
"""Targets that mean the same on every machine: for cross compilation and for golden tests."""
