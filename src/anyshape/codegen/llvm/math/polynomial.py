"""Polynomials."""

from collections.abc import Sequence

from anyshape.codegen.llvm.math.values import Float


def polynomial(t: Float, coefficients: Sequence[float]) -> Float:
    """coefficients[0] + coefficients[1] t + ..., by Horner's rule.

    One fused multiply-add a term is the least work. Its chain of dependent instructions is long,
    but kernels run many vectors side by side, and those fill the pipeline.
    """
    value = t.like(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value = value.fma(t, coefficient)
    return value
