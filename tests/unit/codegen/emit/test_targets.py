"""Cross compilation: the same kernels for every target, closed objects, no calls outside."""

import pytest
from tests.unit.codegen.emit import examples
from tests.unit.codegen.emit.test_elementwise import cases, cast_kernel, map_kernel

from anyshape.codegen.llvm.compile import compile_object
from anyshape.codegen.llvm.elf import undefined_symbols
from anyshape.codegen.llvm.emit import emit_kernel
from anyshape.codegen.llvm.target import NAMED_TARGETS
from anyshape.ir.types import ALL_DTYPES
from anyshape.loop import Kernel

KERNELS: dict[str, Kernel] = {
    **examples.ALL,
    **{f"{dtype} {' '.join(names)}": map_kernel(dtype, names) for dtype, names in cases()},
    **{f"cast {dtype}": cast_kernel(dtype) for dtype in ALL_DTYPES},
}


@pytest.mark.parametrize("target", NAMED_TARGETS)
@pytest.mark.parametrize("name", KERNELS)
def test_compiles_without_undefined_symbols(name: str, target: str):
    text = emit_kernel(KERNELS[name], NAMED_TARGETS[target], name="k")
    assert undefined_symbols(compile_object(text, NAMED_TARGETS[target])) == ()


def test_text_is_deterministic():
    target = NAMED_TARGETS["x86-64-avx512"]
    first = [emit_kernel(kernel, target) for kernel in examples.ALL.values()]
    assert [emit_kernel(kernel, target) for kernel in examples.ALL.values()] == first
