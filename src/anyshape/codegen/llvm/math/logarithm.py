"""log and log1p.

x = 2**e (1 + f) with 1 + f in [√½, √2), so log x = e ln 2 + log(1 + f). With s = f/(2 + f),
log(1 + f) = log((1+s)/(1-s)) = 2s + s R where R = s² P(s²), an even series that converges fast.

As 2s = f - s f and s f = h - s h for h = f²/2, that is f - (h - s (h + R)): f is exact, and
everything rounded is much smaller than f.
"""

from math import inf, nan
from typing import Final

from anyshape.codegen.llvm.math.coefficients import LN2, LOG
from anyshape.codegen.llvm.math.double import two_sum
from anyshape.codegen.llvm.math.format import Format
from anyshape.codegen.llvm.math.polynomial import polynomial
from anyshape.codegen.llvm.math.values import Float, Int, select

# The bits of √½: the smallest 1 + f.
SQRT_HALF: Final = {"f32": 0x3F3504F3, "f64": 0x3FE6A09E667F3BCD}


def split_normal(x: Float) -> tuple[Int, Float]:
    """x = 2**e m, m in [√½, √2), for a positive normal x. Returns e + bias and m."""
    form, start = x.format, SQRT_HALF[x.format.name]
    moved = x.bits() + (form.one - start)  # now the exponent's field steps at √½ and not at 1
    fraction = moved & ((1 << form.fraction) - 1)
    return moved >> form.fraction, (fraction + start).as_float()


def exponent_value(biased: Int, form: Format) -> Float:
    """The number biased - bias: as the low bits of 2**fraction + biased, it needs no conversion."""
    top = 2.0**form.fraction
    top_bits = (form.bias + form.fraction) << form.fraction
    return (biased | top_bits).as_float() - (top + form.bias)


def split(x: Float) -> tuple[Float, Float]:
    """x = 2**e m, m in [√½, √2), for any positive finite x. Returns e and m."""
    form = x.format
    lift = form.fraction + 1  # makes every subnormal normal
    subnormal = x < form.tiny
    biased, m = split_normal(select(subnormal, x * 2.0**lift, x))
    e = exponent_value(biased, form)
    return select(subnormal, e - float(lift), e), m


def log_of_parts(e: Float, f: Float) -> Float:
    """e ln 2 + log(1 + f), smallest terms first."""
    high, low = LN2[f.format.name]
    s = f / (f + 2.0)
    z = s * s
    h = 0.5 * f * f
    rest = polynomial(z, LOG[f.format.name]).fma(z, h)
    small = h - s.fma(rest, e * low)
    return e.fma(high, f - small)


def with_edges(x: Float, result: Float) -> Float:
    """The logarithm of x: `result` for positive finite x, and IEEE's answers elsewhere."""
    result = select(x < inf, result, x)  # +inf and NaN are their own logarithms
    result = select(x < 0.0, x.like(nan), result)
    return select(x.equals(0.0), x.like(-inf), result)


def log(x: Float) -> Float:
    """The natural logarithm."""
    e, m = split(x)
    return with_edges(x, log_of_parts(e, m - 1.0))


def log1p(x: Float) -> Float:
    """log(1 + x), to the last bits of a small x.

    What rounding 1 + x lost is added to f at f's scale. With e = 0 that makes f = x again, exactly.
    """
    form = x.format
    total, lost = two_sum(x.like(1.0), x)
    biased, m = split_normal(total)
    scale = (2 * form.bias + 1 - biased) << form.fraction  # 2 * 2**-e, as 2**-e may be subnormal
    f = (0.5 * lost).fma(scale.as_float(), m - 1.0)
    result = with_edges(total, log_of_parts(exponent_value(biased, form), f))
    return select(abs(x) < 2.0 ** (-form.fraction - 2), x, result)
