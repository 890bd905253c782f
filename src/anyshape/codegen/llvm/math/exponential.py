"""exp and expm1.

x = n ln 2 + r with n an integer and |r| <= ln(2)/2, so exp(x) = 2**n exp(r): a polynomial gives
exp(r), and 2**n is made by writing n into the exponent's bits.
"""

from math import log
from typing import Final

from anyshape.codegen.llvm.math.coefficients import EXP, LN2
from anyshape.codegen.llvm.math.format import Format
from anyshape.codegen.llvm.math.polynomial import polynomial
from anyshape.codegen.llvm.math.values import Float, Int, select

# Outside, exp is 0 or infinity in the format; inside, n/2 fits the exponent's bits.
EXP_RANGE: Final = {"f32": (-104.0, 89.0), "f64": (-746.0, 710.0)}
# Below, expm1 rounds to -1.
EXPM1_LOW: Final = {"f32": -20.0, "f64": -40.0}


def rounding_shift(form: Format) -> float:
    """1.5 * 2**fraction: a number this large has no bits after the point.

    Adding it to a small t rounds t to an integer n, leaves n in the low bits of the sum, and needs
    no conversion to integer, which LLVM leaves undefined for NaN.
    """
    return 1.5 * 2.0**form.fraction


def reduced(x: Float) -> tuple[Int, Float]:
    """x = n ln 2 + r, |r| <= ln(2)/2. Returns n in the low bits of an integer, and r."""
    shift = rounding_shift(x.format)
    high, low = LN2[x.format.name]
    shifted = x.fma(1 / log(2), shift)
    n = shifted - shift
    r = n.fma(-low, n.fma(-high, x))
    return shifted.bits(), r


def power_of_two(n: Int, form: Format) -> Float:
    """2**n for n in the low bits, whatever the high ones hold; n must be a normal exponent."""
    return ((n << form.fraction) + form.one).as_float()


def exp_of_remainder(r: Float) -> Float:
    """exp(r) for |r| <= ln(2)/2."""
    return polynomial(r, (1.0, 1.0, *EXP[r.format.name]))


def expm1_of_remainder(r: Float) -> Float:
    """exp(r) - 1 for |r| <= ln(2)/2, as r + r² P(r) to keep the bits of a small r."""
    return polynomial(r, EXP[r.format.name]).fma(r * r, r)


def scaled(value: Float, n: Int) -> Float:
    """value * 2**n in two steps, as 2**n itself may be too large or too small.

    Both halves of n are normal exponents. The first product is exact; the second rounds once, into
    the subnormals or to infinity if that is where the result lies.
    """
    half = n >> 1
    return value * power_of_two(half, value.format) * power_of_two(n - half, value.format)


def exp(x: Float) -> Float:
    """e**x."""
    low, high = EXP_RANGE[x.format.name]
    n, r = reduced(x.at_least(low).at_most(high))
    return scaled(exp_of_remainder(r), n)


def exp_of_nonpositive(x: Float) -> Float:
    """e**x for x <= 0."""
    n, r = reduced(x.at_least(EXP_RANGE[x.format.name][0]))
    return scaled(exp_of_remainder(r), n)


def exp_of_moderate(x: Float) -> Float:
    """e**x for x whose result is a normal number; nothing is promised elsewhere."""
    n, r = reduced(x)
    return exp_of_remainder(r) * power_of_two(n, x.format)


def expm1(x: Float) -> Float:
    """e**x - 1, to the last bits of a small x.

    e**x - 1 = 2**n (e**r - 1) + (2**n - 1). All is done at half the size, since 2**n overflows
    before the result does; where |x| is so small that the result is x, x is returned.
    """
    form = x.format
    high = EXP_RANGE[form.name][1]
    n, r = reduced(x.at_least(EXPM1_LOW[form.name]).at_most(high))
    half = power_of_two(n - 1, form)
    result = 2.0 * expm1_of_remainder(r).fma(half, half - 0.5)
    return select(abs(x) < 2.0 ** (-form.fraction - 2), x, result)
