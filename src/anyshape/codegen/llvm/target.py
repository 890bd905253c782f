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

from anyshape.codegen.llvm.isa import INSTRUCTION_SETS, InstructionSet, with_byte_products
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
    byte_products: bool = False  # VNNI, which some CPUs of an instruction set have

    @property
    def instruction_set(self) -> InstructionSet:
        plain = INSTRUCTION_SETS[self.isa]
        return with_byte_products(plain) if self.byte_products else plain

    @property
    def tiling(self) -> Tiling:
        """How work is divided."""
        return self.instruction_set.tiling


def host_target(cpu_identity: str, isa: str, byte_products: bool = False) -> LlvmTarget:
    """The machine we run on: by what `anyshape.runtime` says of its CPU."""
    triple = f"{os.uname().machine}-unknown-linux-gnu"
    return LlvmTarget(triple, isa, host=cpu_identity, byte_products=byte_products)


_X86_64: Final = "x86_64-unknown-linux-gnu"
_AARCH64: Final = "aarch64-unknown-linux-gnu"

NAMED_TARGETS: Final = MappingProxyType(
    {
        "x86-64-sse2": LlvmTarget(_X86_64, "sse2", "x86-64"),
        "x86-64-avx2": LlvmTarget(_X86_64, "avx2", "x86-64-v3"),
        "x86-64-avx512": LlvmTarget(_X86_64, "avx512", "x86-64-v4"),
        "x86-64-avx512-vnni": LlvmTarget(
            _X86_64, "avx512", "x86-64-v4", "+avx512vnni", byte_products=True
        ),
        "x86-64-avx2-vnni": LlvmTarget(
            _X86_64, "avx2", "x86-64-v3", "+avxvnni", byte_products=True
        ),
        "aarch64-neon": LlvmTarget(_AARCH64, "neon", "generic", "+neon"),
    }
)
"""Targets that mean the same on every machine: for cross compilation and for golden tests."""
