"""pow: x**y = exp(y log|x|), with a sign, and with the cases C and NumPy lay down.

An error of log|x| is multiplied by y log|x|, which reaches 89 (f32) or 745 (f64). So the logarithm
needs 7 or 10 bits more than the format has: for f32 it is computed in f64, for f64 as a Double.
"""

from math import inf, nan

from anyshape.codegen.llvm.math.coefficients import (
    EXP,
    LN2,
    POW32_LOG,
    POW64_LOG,
    TWO_THIRDS,
)
from anyshape.codegen.llvm.math.double import (
    Double,
    add,
    fast_two_sum,
    multiply,
    two_product,
)
from anyshape.codegen.llvm.math.exponential import (
    exp_of_remainder,
    power_of_two,
    reduced,
    scaled,
)
from anyshape.codegen.llvm.math.format import F32
from anyshape.codegen.llvm.math.logarithm import exponent_value, split, split_normal
from anyshape.codegen.llvm.math.polynomial import polynomial
from anyshape.codegen.llvm.math.values import Float, Mask, select


def pow(x: Float, y: Float) -> Float:
    """x**y."""
    size = abs(x)
    magnitude = _magnitude_f32(size, y) if x.format == F32 else _magnitude_f64(size, y)
    return _with_edges(x, y, magnitude)


# --- |x|**y --------------------------------------------------------------------------------------


def _magnitude_f32(size: Float, y: Float) -> Float:
    """size**y through f64, which holds every f32 as a normal number; narrowing rounds once."""
    wide = size.widened()
    biased, m = split_normal(wide)
    f = m - 1.0
    s = f / (f + 2.0)
    z = s * s
    log_m = polynomial(z, (2.0, *POW32_LOG["f64"])) * s
    log = exponent_value(biased, wide.format).fma(sum(LN2["f64"]), log_m)
    exponent = _log_with_edges(wide, log) * y.widened()
    n, r = reduced(exponent.at_least(-200.0).at_most(200.0))
    result = polynomial(r, (1.0, 1.0, *EXP["f32"])) * power_of_two(n, r.format)
    return result.narrowed()


def _magnitude_f64(size: Float, y: Float) -> Float:
    """size**y with the exponent as a Double."""
    log = _double_log(size)
    high = _log_with_edges(size, log.high)
    product = two_product(high, y)
    low = log.low.fma(y, product.low)
    inside = abs(product.high) < 800.0
    low = select(inside, low, low.like(0.0))  # beyond, it may be inf - inf
    n, r = reduced(product.high.at_least(-800.0).at_most(800.0))
    return scaled(exp_of_remainder(r + low), n)


def _double_log(x: Float) -> Double:
    """log x as a Double, for positive finite x, by the series of `logarithm.py`.

    s and s² are Doubles, and so is the first coefficient, 2/3; what follows it is below 2**-12 of
    the sum and needs no more than f64.
    """
    e, m = split(x)
    s = _double_quotient(m - 1.0)
    z = multiply(s, s)
    tail = polynomial(z.high, POW64_LOG["f64"]) * z.high
    first, second = (x.like(part) for part in TWO_THIRDS["f64"])
    series = fast_two_sum(first, tail)
    series = Double(series.high, series.low + second)
    log_m = add(Double(2.0 * s.high, 2.0 * s.low), multiply(s, multiply(z, series)))
    high, low = LN2["f64"]
    return add(Double(e * high, e * low), log_m)


def _double_quotient(f: Float) -> Double:
    """f / (2 + f) as a Double: a quotient, then what it leaves over divided again."""
    below = fast_two_sum(f.like(2.0), f)
    inverse = 1.0 / below.high
    quotient = f * inverse
    left = quotient.fma(-below.high, f) - quotient * below.low
    return fast_two_sum(quotient, left * inverse)


# --- the cases -----------------------------------------------------------------------------------


def _log_with_edges(size: Float, log: Float) -> Float:
    """log of size >= 0: -inf of 0, inf of inf, NaN of NaN."""
    log = select(size < inf, log, size)
    return select(size.equals(0.0), size.like(-inf), log)


def _is_integer(y: Float) -> Mask:
    return y.floor().equals(y)


def _with_edges(x: Float, y: Float, magnitude: Float) -> Float:
    """What x's sign and the special values make of |x|**y."""
    size, integer = abs(x), _is_integer(y)
    odd = integer & ~_is_integer(y * 0.5)
    signed = select(odd, magnitude.with_sign_of(x), magnitude)
    no_real_power = (x < 0.0) & (size < inf) & ~integer
    result = select(no_real_power, x.like(nan), signed)
    one = x.equals(1.0) | y.equals(0.0) | (size.equals(1.0) & abs(y).equals(inf))
    return select(one, x.like(1.0), result)
