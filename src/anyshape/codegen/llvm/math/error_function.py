"""erf, the error function."""

from typing import Final

from anyshape.codegen.llvm.math.coefficients import ERF, ERF_DENOMINATOR, ERF_NUMERATOR, ERF_TAIL
from anyshape.codegen.llvm.math.exponential import exp_of_moderate
from anyshape.codegen.llvm.math.format import F32
from anyshape.codegen.llvm.math.polynomial import polynomial
from anyshape.codegen.llvm.math.values import Float, select

ERF_END: Final = {"f32": 4.0, "f64": 6.0}  # from here on erf rounds to 1; as in tools/fit_math.py


def erf(x: Float) -> Float:
    """The error function: for f32 by what costs least, for f64 by what is accurate enough."""
    return _quotient(x) if x.format == F32 else _in_two_parts(x)


def _quotient(x: Float) -> Float:
    """x (1/4 + P(x²) / Q(x²)) for |x| <= 4, and its value at 4, which is 1, beyond.

    A division is cheaper than the exponential of the other form, and nothing is computed twice.
    The quarter is all that is left of erf(x)/x at 4: roundings of P and Q fade where erf nears 1.
    """
    end = ERF_END[x.format.name]
    inner = x.at_least(-end).at_most(end)
    z = inner * inner
    upper = polynomial(z, ERF_NUMERATOR[x.format.name])
    value = inner * (upper / polynomial(z, ERF_DENOMINATOR[x.format.name]) + 0.25)
    return value.at_least(-1.0).at_most(1.0)


def _in_two_parts(x: Float) -> Float:
    """A polynomial for |x| < 1; beyond, 1 - exp(Q(|x| - 1)), where Q is fitted to log(1 - erf).

    1 - erf falls like exp(-x²), so its logarithm is smooth enough for one polynomial up to the end,
    and Q's roundings are scaled down by 1 - erf, which is at most 0.16.
    """
    name, size = x.format.name, abs(x)
    near = polynomial(x * x, ERF[name]).fma(size, size)
    tail = polynomial(size.at_most(ERF_END[name]) - 1.0, ERF_TAIL[name])
    return select(size < 1.0, near, 1.0 - exp_of_moderate(tail)).with_sign_of(x)
