"""The code needs no library on any target, and does not depend on how many lanes it runs on."""

import struct

import numpy as np
import pytest
from tests.unit.codegen.math.harness import AVX2, AVX512, NEON, SSE2, Machine, compiled, object_code
from tests.unit.codegen.math.reference import F32, F64
from tests.unit.codegen.math.samples import every_exponent, ordinary

from anyshape.codegen.llvm.math import FUNCTIONS, arity

LANES = (1, 4, 8, 16)
MACHINES = {"sse2": SSE2, "avx2": AVX2, "avx512": AVX512, "neon": NEON}


def undefined_symbols(elf: bytes) -> list[str]:
    """The names in an ELF64 object's symbol table that no section defines."""
    (start,), (count,) = struct.unpack_from("<Q", elf, 40), struct.unpack_from("<H", elf, 60)
    headers = [struct.unpack_from("<IIQQQQIIQQ", elf, start + 64 * i) for i in range(count)]
    table = next(h for h in headers if h[1] == 2)
    strings = headers[table[6]][4]
    symbols = struct.iter_unpack("<IBBHQQ", elf[table[4] : table[4] + table[5]])
    names = [strings + name for name, _, _, section, _, _ in symbols if name and section == 0]
    return [elf[at : elf.index(0, at)].decode() for at in names]


def test_undefined_symbols_are_seen():
    """A target without fused multiply-add has to call the C library's."""
    plain = Machine("x86_64-linux-gnu", "x86-64")
    assert undefined_symbols(object_code("exp", F32, 4, plain)) == ["fmaf"]


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_no_symbol_is_left_undefined(name: str, dtype: np.dtype, machine: Machine):
    for lanes in LANES:
        assert undefined_symbols(object_code(name, dtype, lanes, machine)) == []


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_lanes_do_not_change_a_bit(name: str, dtype: np.dtype):
    x = np.concatenate([every_exponent(dtype, 4000), ordinary(dtype, 1000)])
    inputs = [np.roll(x, 1777 * i) for i in range(arity(name))]
    expected, *others = (compiled(name, dtype, lanes)(*inputs) for lanes in LANES)
    for found in others:
        np.testing.assert_array_equal(found, expected)
