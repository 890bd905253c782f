"""What the emitter needs to know of an instruction set: how wide vectors are, what masks can do."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from anyshape.codegen.llvm.binding import load_llvm
from anyshape.codegen.llvm.target import Target


@dataclass(frozen=True, slots=True)
class InstructionSet:
    """`masked_bits`: the element widths that masked loads and stores exist for."""

    name: str
    vector_bits: int
    masked_bits: frozenset[int] = frozenset()
    needs_fence: bool = True  # after streaming stores


NEON = InstructionSet("neon", 128, needs_fence=False)
AVX2 = InstructionSet("avx2", 256, frozenset({32, 64}))
AVX512 = InstructionSet("avx512", 512, frozenset({8, 16, 32, 64}))

_OF_CPU = {"x86-64-v3": AVX2, "x86-64-v4": AVX512}
_AVX512_FEATURES = {"+avx512f", "+avx512bw", "+avx512dq", "+avx512vl"}


@cache
def instruction_set(target: Target) -> InstructionSet:
    """The one to write vectors for. For the host this asks LLVM, which has to be loaded for it."""
    if target.triple.startswith("aarch64"):
        return NEON
    if target.host:
        return _of_features(load_llvm().get_host_cpu_features().flatten())
    return _OF_CPU.get(target.cpu) or _of_features(target.features)


def _of_features(features: str) -> InstructionSet:
    has = set(features.split(","))
    return AVX512 if has >= _AVX512_FEATURES else AVX2
