"""erf, the error function."""

from typing import Final

from anyshape.codegen.llvm.math.coefficients import ERF, ERF_TAIL
from anyshape.codegen.llvm.math.exponential import exp_of_moderate
from anyshape.codegen.llvm.math.polynomial import polynomial
from anyshape.codegen.llvm.math.values import Float, select

ERF_END: Final = {"f32": 4.0, "f64": 6.0}  # from here on erf rounds to 1; as in tools/fit_math.py


def erf(x: Float) -> Float:
    """A polynomial for |x| < 1; beyond, 1 - exp(Q(|x| - 1)), where Q is fitted to log(1 - erf).

    1 - erf falls like exp(-x²), so its logarithm is smooth enough for one polynomial up to the end,
    and Q's roundings are scaled down by 1 - erf, which is at most 0.16.
    """
    name, size = x.format.name, abs(x)
    near = polynomial(x * x, ERF[name]).fma(size, size)
    tail = polynomial(size.at_most(ERF_END[name]) - 1.0, ERF_TAIL[name])
    return select(size < 1.0, near, 1.0 - exp_of_moderate(tail)).with_sign_of(x)
