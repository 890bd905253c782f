"""Instruction sets: how wide vectors are, what masks can do, and what has to be computed instead.

The names are those of `runtime.machine().vector_isa`. LLVM would lower whatever a target lacks to a
call into the C library, which kernels must not make; `software` names these intrinsics, and
`math/software.py` computes them from what every CPU has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from anyshape.lower.tiling import NARROW, NARROWEST, WIDE, Tiling

FMA: Final = "llvm.fma"
# Instructions of LLVM, not intrinsics: between f16 and f32.
EXTEND_HALF: Final = "half.extend"
TRUNCATE_TO_HALF: Final = "half.truncate"
# Of x86: two products of 16 bits, added in 32; f32 to i32, which is the least one where that does
# not hold the float.
PAIR_PRODUCTS: Final = "pair.products"
TRUNCATE_TO_INTEGER: Final = "integer.truncate"


@dataclass(frozen=True, slots=True)
class InstructionSet:
    """`masked_bits`: the element widths that masked loads and stores exist for."""

    name: str
    vector_bits: int
    tiling: Tiling  # how work is divided for it
    masked_bits: frozenset[int] = frozenset()
    needs_fence: bool = True  # after streaming stores
    software: frozenset[str] = frozenset()
    byte_products: bool = False  # four products of unsigned and signed bytes, added in 32

    @property
    def pair_products(self) -> bool:
        return PAIR_PRODUCTS not in self.software


_SOFTWARE: Final = frozenset(
    {FMA, EXTEND_HALF, TRUNCATE_TO_HALF, "llvm.ceil", "llvm.floor", "llvm.roundeven", "llvm.trunc"}
)
_NOT_OF_X86: Final = frozenset({PAIR_PRODUCTS, TRUNCATE_TO_INTEGER})
_MANY: Final = Tiling(rows=6, vectors=4, vector_bytes=16)
_ALL: Final = (
    InstructionSet("avx512", 512, WIDE, frozenset({8, 16, 32, 64})),
    InstructionSet("avx2", 256, NARROW, frozenset({32, 64})),
    InstructionSet("sse2", 128, NARROWEST, software=_SOFTWARE),
    InstructionSet("neon", 128, _MANY, needs_fence=False, software=_NOT_OF_X86),
    InstructionSet("scalar", 128, NARROWEST, needs_fence=False, software=_SOFTWARE | _NOT_OF_X86),
)

INSTRUCTION_SETS: Final[Mapping[str, InstructionSet]] = MappingProxyType(
    {isa.name: isa for isa in _ALL}
)

_EXECUTES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "avx512": ("avx512", "avx2", "sse2"),
        "avx2": ("avx2", "sse2"),
        "sse2": ("sse2",),
        "neon": ("neon",),
        "scalar": ("scalar",),
    }
)


def with_byte_products(isa: InstructionSet) -> InstructionSet:
    """The same on a CPU that has VNNI: groups of four bytes."""
    return replace(isa, byte_products=True, tiling=replace(isa.tiling, group=4))


def executed_with(best: str) -> tuple[str, ...]:
    """All that a machine executes whose best instruction set is this one, the best first."""
    return _EXECUTES[best]
