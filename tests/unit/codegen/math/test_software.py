"""What plain x86-64 has no instruction for gives the bits that the instruction would give.

Hence the errors that are promised for vector math hold without fused multiply-add, too.
"""

import os
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.unit.codegen.math.harness import SSE2, Machine, compiled, host, loaded, write_loop
from tests.unit.codegen.math.reference import F32, F64
from tests.unit.codegen.math.samples import arguments, every_exponent, power_arguments

from anyshape.codegen.llvm.isa import (
    EXTEND_HALF,
    FMA,
    INSTRUCTION_SETS,
    PAIR_PRODUCTS,
    TRUNCATE_TO_HALF,
    TRUNCATE_TO_INTEGER,
)
from anyshape.codegen.llvm.math import FUNCTIONS
from anyshape.codegen.llvm.math.boundary import new_module
from anyshape.codegen.llvm.math.software import SOFTWARE

F16 = np.dtype(np.float16)
on_x86 = pytest.mark.skipif(os.uname().machine != "x86_64", reason="runs code for x86-64")
PLAIN = Machine("x86_64-linux-gnu", "x86-64")
pytestmark = on_x86


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


def software(name: str, inputs: int, dtype: np.dtype, to: np.dtype, lanes: int):
    module = new_module("software", {})
    write_loop(module, SOFTWARE[name], inputs, lanes, dtype, to)
    return loaded(module, PLAIN, lanes, inputs, to)


def assert_same_bits(found: NDArray, expected: NDArray) -> None:
    nan = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(found), nan)
    bits = f"u{found.dtype.itemsize}"
    np.testing.assert_array_equal(found.view(bits)[~nan], expected.view(bits)[~nan])


def test_all_that_is_missing_is_computed():
    of_x86 = {PAIR_PRODUCTS, TRUNCATE_TO_INTEGER}
    assert INSTRUCTION_SETS["scalar"].software == SOFTWARE.keys()
    assert INSTRUCTION_SETS["sse2"].software == SOFTWARE.keys() - of_x86
    assert INSTRUCTION_SETS["neon"].software == of_x86


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions_have_the_same_bits_without_fma(name: str, dtype: np.dtype):
    """On a machine that has it; the bound on the error is then the same. Only subnormal f64 are
    rounded twice, which makes one unit of difference."""
    if "+fma" not in host().features:
        pytest.skip("this machine has no fused multiply-add to compare with")
    is_power = name == "pow"
    inputs = power_arguments(dtype, 40_000) if is_power else (arguments(name, dtype, 40_000),)
    found, expected = (compiled(name, dtype, 4, machine)(*inputs) for machine in (SSE2, host()))
    tiny = (np.abs(expected) < np.finfo(dtype).tiny) & (dtype == F64)
    assert_same_bits(found[~tiny], expected[~tiny])
    assert (np.abs(found - expected)[tiny] <= np.spacing(0.0)).all()


# --- fused multiply-add ---------------------------------------------------------------------------


def triples(dtype: np.dtype, count: int) -> list[NDArray]:
    """Any bits; products that cancel all but the last digits; sums half-way between two floats."""
    rng = np.random.default_rng(5)
    bits = [rng.permutation(every_exponent(dtype, count)) for _ in range(3)]
    x, y = (rng.normal(size=count).astype(dtype) for _ in range(2))
    scale = (2.0 ** rng.integers(-60, 60, count)).astype(dtype)
    product = -(x * y)
    half_way = (np.spacing(np.abs(product)) / 2).astype(dtype)
    one = np.ones(count, dtype)
    cases = [bits, [x, y, product], [x, y, product * scale], [half_way, one, product]]
    edges = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, np.finfo(dtype).max], dtype)
    cases.append([array.ravel() for array in np.meshgrid(edges, edges, edges)])
    return [np.concatenate(arrays) for arrays in zip(*cases, strict=True)]


def rounded(value: Fraction, dtype: np.dtype) -> float:
    """The nearest float, ties to even."""
    try:
        near = dtype.type(float(value))
    except OverflowError:
        return float(np.copysign(np.inf, float(value > 0) - 0.5))
    infinity = dtype.type(np.inf)
    around = (np.nextafter(near, -infinity), near, np.nextafter(near, infinity))
    bits = f"u{dtype.itemsize}"
    finite = [number for number in around if np.isfinite(number)]
    return min(finite, key=lambda n: (abs(Fraction(float(n)) - value), int(n.view(bits)) & 1))


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_fused_multiply_add_rounds_once(dtype: np.dtype, lanes: int):
    x, y, z = triples(dtype, 2000)
    found = software(FMA, 3, dtype, dtype, lanes)(x, y, z)
    most, tiny = np.finfo(dtype).max, np.finfo(dtype).tiny
    for a, b, c, result in zip(x, y, z, found, strict=True):
        if not np.isfinite([a, b, c]).all():
            wanted = c if np.isfinite([a, b]).all() else a * b + c
            assert np.array_equal(result, wanted, equal_nan=True)
            continue
        exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
        if exact == 0:
            assert result == 0
            assert np.signbit(result) == np.signbit(a * b + c)
        elif abs(exact) <= most:
            wanted = rounded(exact, dtype)
            room = np.spacing(tiny) if dtype == F64 and abs(exact) < tiny else 0  # rounded twice
            assert abs(result - wanted) <= room, (a, b, c)
        else:
            assert abs(result) >= most


# --- rounding -------------------------------------------------------------------------------------

ROUNDINGS = {
    "llvm.ceil": np.ceil, "llvm.floor": np.floor, "llvm.roundeven": np.rint, "llvm.trunc": np.trunc,
}  # fmt: skip


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("name", ROUNDINGS)
def test_roundings(name: str, dtype: np.dtype):
    halves = np.arange(-40, 41).astype(dtype) / 4
    limit = dtype.type(2.0 ** (np.finfo(dtype).nmant - 1))
    x = np.concatenate([every_exponent(dtype, 100_000), halves, limit + halves, -limit + halves])
    assert_same_bits(software(name, 1, dtype, dtype, 4)(x), ROUNDINGS[name](x))


# --- f16 ------------------------------------------------------------------------------------------

ALL_HALVES = np.arange(1 << 16, dtype=np.uint16).view(F16)


@pytest.mark.parametrize("lanes", [1, 4])
def test_every_f16_is_extended(lanes: int):
    found = software(EXTEND_HALF, 1, F16, F32, lanes)(ALL_HALVES)
    assert_same_bits(found, ALL_HALVES.astype(F32))


@pytest.mark.parametrize("lanes", [1, 4])
def test_f32_is_rounded_to_the_nearest_f16(lanes: int):
    """At every f16, half-way to the next one, and at the f32 beside that; and any bits."""
    halves = ALL_HALVES[np.isfinite(ALL_HALVES)].astype(F32)
    steps = np.spacing(ALL_HALVES[np.isfinite(ALL_HALVES)]).astype(F32)
    middle = halves + steps / 2
    x = np.concatenate([
        halves, middle, np.nextafter(middle, np.float32(np.inf)),
        np.nextafter(middle, np.float32(-np.inf)), every_exponent(F32, 1_000_000),
    ])  # fmt: skip
    assert_same_bits(software(TRUNCATE_TO_HALF, 1, F32, F16, lanes)(x), x.astype(F16))
