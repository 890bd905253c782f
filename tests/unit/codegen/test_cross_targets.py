"""Every family of kernels compiles for every target: closed objects of the right machine."""

import struct

import pytest
from tests.guard.models import FAMILIES
from tests.guard.run import kernels_of

from anyshape.codegen.elf import undefined_symbols
from anyshape.codegen.llvm.compile import compile_object
from anyshape.codegen.llvm.emitting import KERNEL, llvm_text
from anyshape.codegen.llvm.target import NAMED_TARGETS
from anyshape.lower.tiling import tiling_for

X86_64, AARCH64 = 62, 183
MACHINES = {
    "x86-64-avx2": ("avx2", X86_64),
    "x86-64-avx512": ("avx512", X86_64),
    "aarch64-neon": ("neon", AARCH64),
}


GENERATED = [family for family in FAMILIES if family != "sort"]
"""Sorting is a function of the runtime."""


def machine_of(elf_object: bytes) -> int:
    return struct.unpack_from("<H", elf_object, 18)[0]


@pytest.mark.parametrize("family", GENERATED)
@pytest.mark.parametrize("name", MACHINES)
def test_kernels_are_closed_objects(name: str, family: str) -> None:
    target, (isa, machine) = NAMED_TARGETS[name], MACHINES[name]
    graph = FAMILIES[family]()[0]
    found = [kernel for kernel, _ in kernels_of(graph, tiling_for(isa))]
    for kernel in found:
        elf_object = compile_object(llvm_text(kernel, target), target)
        assert machine_of(elf_object) == machine
        assert undefined_symbols(elf_object) == ()
        assert KERNEL.encode() in elf_object
    assert found
