"""tanh and sigmoid, from exp."""

from typing import Final

from anyshape.codegen.llvm.math.coefficients import TANH
from anyshape.codegen.llvm.math.exponential import exp_of_moderate, exp_of_nonpositive
from anyshape.codegen.llvm.math.polynomial import polynomial
from anyshape.codegen.llvm.math.values import Float, select

TANH_SPLIT: Final = 0.6  # as in tools/fit_math.py
TANH_END: Final = {"f32": 10.0, "f64": 20.0}  # from here on tanh rounds to 1


def tanh(x: Float) -> Float:
    """The hyperbolic tangent: a polynomial near 0, 1 - 2/(exp(2|x|) + 1) elsewhere.

    The second form is at least 1/2, where what the fraction's roundings add is small.
    """
    size = abs(x)
    z = x * x
    near = polynomial(z, TANH[x.format.name]).fma(z * size, size)
    far = 1.0 - 2.0 / (exp_of_moderate(2.0 * size.at_most(TANH_END[x.format.name])) + 1.0)
    return select(size < TANH_SPLIT, near, far).with_sign_of(x)


def sigmoid(x: Float) -> Float:
    """1 / (1 + exp(-x)).

    With e = exp(-|x|), which cannot overflow, and q = e / (1 + e), it is 1 - q for positive x and
    e - e q for negative: an error of q counts only by q's share of the result.
    """
    e = exp_of_nonpositive(-abs(x))
    q = e / (e + 1.0)
    start = select(x < 0.0, e, x.like(1.0))
    return q.fma(-start, start)
