"""Double-word arithmetic: a number as an unevaluated sum high + low, twice a format's precision.

The error-free transformations are classical (Knuth, Dekker): they return what rounding lost. They
hold because no fast-math flag lets LLVM reorder them.
"""

from typing import NamedTuple

from anyshape.codegen.llvm.math.values import Float


class Double(NamedTuple):
    """high + low, where |low| is at most about half a unit in the last place of high."""

    high: Float
    low: Float


def two_sum(a: Float, b: Float) -> Double:
    """a + b exactly."""
    total = a + b
    b_part = total - a
    a_part = total - b_part
    return Double(total, (a - a_part) + (b - b_part))


def fast_two_sum(a: Float, b: Float) -> Double:
    """a + b exactly, given that |a| >= |b| or a = 0."""
    total = a + b
    return Double(total, b - (total - a))


def two_product(a: Float, b: Float) -> Double:
    """a * b exactly."""
    product = a * b
    return Double(product, a.fma(b, -product))


def multiply(a: Double, b: Double) -> Double:
    """a * b to about twice the precision, without the product of the low parts."""
    high, low = two_product(a.high, b.high)
    return fast_two_sum(high, a.high.fma(b.low, a.low.fma(b.high, low)))


def add(a: Double, b: Double) -> Double:
    """a + b to about twice the precision."""
    high, low = two_sum(a.high, b.high)
    return fast_two_sum(high, low + (a.low + b.low))
