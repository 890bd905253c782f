"""Every family of kernels compiles for every target: closed objects of the right machine."""

import struct

import pytest
from tests.guard.models import FAMILIES
from tests.guard.run import kernels_of

from anyshape.codegen.llvm.compile import compile_object
from anyshape.codegen.llvm.elf import undefined_symbols
from anyshape.codegen.llvm.emitting import KERNEL, llvm_text
from anyshape.codegen.llvm.target import NAMED_TARGETS

X86_64, AARCH64 = 62, 183


GENERATED = [family for family in FAMILIES if family != "sort"]
"""Sorting is a function of the runtime."""


def machine_of(elf_object: bytes) -> int:
    return struct.unpack_from("<H", elf_object, 18)[0]


@pytest.mark.parametrize("family", GENERATED)
@pytest.mark.parametrize("name", NAMED_TARGETS)
def test_kernels_are_closed_objects(name: str, family: str) -> None:
    """Of one graph of each family on x86, where all others are compiled and run with guard pages;
    of one in three elsewhere: they differ in dtypes and orders of operands."""
    target = NAMED_TARGETS[name]
    machine = AARCH64 if name == "aarch64-neon" else X86_64
    graphs = FAMILIES[family]()[::3] if machine == AARCH64 else FAMILIES[family]()[:1]
    found = [kernel for graph in graphs for kernel, _ in kernels_of(graph, target.tiling)]
    for kernel in found:
        elf_object = compile_object(llvm_text(kernel, target), target)
        assert machine_of(elf_object) == machine
        assert undefined_symbols(elf_object) == ()
        assert KERNEL.encode() in elf_object
    assert found
