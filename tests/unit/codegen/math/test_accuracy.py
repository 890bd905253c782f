"""Each function stays within its promised number of ULP of the true value."""

import numpy as np
import pytest
from tests.unit.codegen.math.harness import compiled
from tests.unit.codegen.math.reference import F32, F64, bound, needs_long_double, worst
from tests.unit.codegen.math.samples import arguments, power_arguments

from anyshape.codegen.llvm.math import FUNCTIONS

UNARY = sorted(set(FUNCTIONS) - {"pow"})


@pytest.mark.parametrize("name", UNARY)
def test_f32_over_every_exponent(name: str):
    error, where = worst(name, compiled(name, F32, 8), arguments(name, F32, 1_000_000))
    assert error <= bound(name, F32), where


@needs_long_double
@pytest.mark.parametrize("name", UNARY)
def test_f64_over_every_exponent(name: str):
    count = 4_000 if name == "erf" else 100_000  # mpmath is slow
    error, where = worst(name, compiled(name, F64, 4), arguments(name, F64, count))
    assert error <= bound(name, F64), where


def test_pow_f32():
    error, where = worst("pow", compiled("pow", F32, 8), *power_arguments(F32, 500_000))
    assert error <= bound("pow", F32), where


@needs_long_double
def test_pow_f64():
    error, where = worst("pow", compiled("pow", F64, 4), *power_arguments(F64, 100_000))
    assert error <= bound("pow", F64), where


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_f64_closest_to_a_multiple_of_half_pi(name: str):
    """6381956970095103 * 2**797: no f64 leaves a smaller remainder. sin = 1, cos = -4.7e-19."""
    x = np.full(4, np.ldexp(6381956970095103.0, 797))
    error, where = worst(name, compiled(name, F64, 4), x)
    assert error <= bound(name, F64), where
