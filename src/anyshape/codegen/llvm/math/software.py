"""What CPUs without FMA, SSE4.1 and F16C have no instruction for, from what every CPU has.

Each result has the bits that the instruction would give, so that the stated errors of vector math
hold everywhere: fused multiply-add rounds once (but for results that are subnormal f64), and
conversions to f16 round to the nearest, ties to even. NaN stays NaN, with any payload.

The technique is rounding to odd (Boldo and Melquiond): a sum whose last bit is made odd where it is
inexact can be rounded once more, to at least two bits less, as if it had never been rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from anyshape.codegen.llvm.isa import (
    EXTEND_HALF,
    FMA,
    PAIR_PRODUCTS,
    TRUNCATE_TO_HALF,
    TRUNCATE_TO_INTEGER,
)
from anyshape.codegen.llvm.math.boundary import (
    Builder,
    Software,
    Value,
    constant,
    int_type,
    ir,
    with_element,
)
from anyshape.codegen.llvm.math.double import Double, two_sum
from anyshape.codegen.llvm.math.format import F32
from anyshape.codegen.llvm.math.values import Float, Int, select

INFINITY: Final = float("inf")


def _on_floats(function: Callable[..., Float]) -> Software:
    def software(b: Builder, values: Sequence[Value]) -> Value:
        return function(*(Float(b, value) for value in values)).value

    return software


# --- fused multiply-add ---------------------------------------------------------------------------


def fma(x: Float, y: Float, addend: Float) -> Float:
    """x * y + addend, rounded once."""
    return (_fma_of_f32 if x.format == F32 else _fma_of_f64)(x, y, addend)


def _fma_of_f32(x: Float, y: Float, addend: Float) -> Float:
    """In f64 the product of two f32 is exact."""
    return _odd_sum(x.widened() * y.widened(), addend.widened()).narrowed()


def _odd_sum(a: Float, b: Float) -> Float:
    """a + b, made odd where it is inexact: the neighbour nearer to 0 has the lesser bits."""
    total, lost = two_sum(a, b)
    bits = total.bits()
    is_even = (bits & 1).equals(0)
    is_nearer_to_zero = (lost > 0.0) ^ (total > 0.0)
    odd = select(is_nearer_to_zero, bits - 1, bits + 1)
    is_inexact = (lost > 0.0) | (lost < 0.0)  # neither if it is NaN, which infinities make it
    return select(is_inexact & is_even, odd, bits).as_float()


_SCALE = 2.0**150
_LARGE, _SMALL, _SMALL_ADDEND = 2.0**1000, 2.0**-900, 2.0**-700


def _fma_of_f64(x: Float, y: Float, addend: Float) -> Float:
    """Scaled such that neither the product nor what its rounding loses leaves the range."""
    size = abs(x * y)
    is_large = (size > _LARGE) | (abs(addend) > _LARGE)
    is_small = (size < _SMALL) & (abs(addend) < _SMALL_ADDEND)
    one = x.like(1.0)
    scale = select(is_large, x.like(1 / _SCALE), select(is_small, x.like(_SCALE), one))
    back = select(is_large, x.like(_SCALE), select(is_small, x.like(1 / _SCALE), one))
    fused = _fma_in_range(x * scale, y, addend * scale) * back
    product_is_finite = (abs(x) < INFINITY) & (abs(y) < INFINITY)
    addend_is_finite = abs(addend) < INFINITY
    special = select(product_is_finite & ~addend_is_finite, addend, x * y + addend)
    # A zero takes its sign from the operands; NaN comes of products that overflow by far.
    is_number = (fused < 0.0) | (fused > 0.0)
    return select(product_is_finite & addend_is_finite & is_number, fused, special)


def _fma_in_range(x: Float, y: Float, addend: Float) -> Float:
    product = _product(x, y)
    low = two_sum(addend, product.low)
    high = two_sum(product.high, low.high)
    return high.high + _odd_sum(low.low, high.low)


def _product(x: Float, y: Float) -> Double:
    """x * y exactly, from halves of 26 bits, whose products are exact (Dekker)."""
    high = x * y
    (x_high, x_low), (y_high, y_low) = _halves(x), _halves(y)
    low = ((x_high * y_high - high) + x_high * y_low + x_low * y_high) + x_low * y_low
    return Double(high, low)


def _halves(x: Float) -> Double:
    """Rounding the bits as an integer cannot overflow, unlike a multiplication."""
    high = ((x.bits() + (1 << 26)) & -(1 << 27)).as_float()
    return Double(high, x - high)


# --- rounding to integers -------------------------------------------------------------------------


def _nearest(x: Float) -> Float:
    """To the nearest integer, ties to even, for |x| below 2**fraction."""
    shift = 2.0**x.format.fraction
    return ((abs(x) + shift) - shift).with_sign_of(x)


def _where_it_has_a_fraction(x: Float, rounded: Float) -> Float:
    """Large numbers are integers, infinities and NaN stay; zeros keep the sign of x."""
    return select(abs(x) < 2.0**x.format.fraction, rounded.with_sign_of(x), x)


def round_even(x: Float) -> Float:
    return _where_it_has_a_fraction(x, _nearest(x))


def floor(x: Float) -> Float:
    near = _nearest(x)
    return _where_it_has_a_fraction(x, select(near > x, near - 1.0, near))


def ceil(x: Float) -> Float:
    near = _nearest(x)
    return _where_it_has_a_fraction(x, select(near < x, near + 1.0, near))


def trunc(x: Float) -> Float:
    size = abs(x)
    near = _nearest(size)
    return _where_it_has_a_fraction(x, select(near > size, near - 1.0, near))


# --- f16 ------------------------------------------------------------------------------------------

_SIGN, _INFINITY, _LEAST_NORMAL = 0x8000, 0x7C00, 2.0**-14


def extend_half(b: Builder, values: Sequence[Value]) -> Value:
    """f16 to f32: the exponent is moved by a multiplication, which normalises subnormals too."""
    (stored,) = values
    short = Int(b, b.bitcast(stored, with_element(stored.type, int_type(16))))
    bits = short.widened(32)
    size, sign = bits & (_SIGN - 1), (bits & _SIGN) << 16
    number = ((size << 13).as_float() * 2.0**112).bits()
    special = (size << 13) | 0x7F800000  # infinities and NaN
    return ((select(size.at_least(_INFINITY), special, number)) | sign).as_float().value


def truncate_to_half(b: Builder, values: Sequence[Value]) -> Value:
    """f32 to f16. Rounding is an addition of integers that may carry into the exponent; subnormals
    are rounded where f32 has as few digits after the point as they, which is next to 0.5."""
    x = Float(b, values[0])
    bits = x.bits()
    size = bits & 0x7FFFFFFF
    odd = (size >> 13) & 1
    normal = ((size + odd + 0xFFF) >> 13) - (112 << 10)
    subnormal = (size.as_float() + 0.5).bits() - 0x3F000000
    number = select(size.as_float() < _LEAST_NORMAL, subnormal, normal)
    number = select(number.at_least(_INFINITY), number.like(_INFINITY), number)
    nan = number.like(0x7E00) | ((size >> 13) & 0x3FF)
    number = select(x.equals(x), number, nan) | ((bits >> 16) & _SIGN)
    kind = with_element(values[0].type, ir.HalfType())
    return b.bitcast(number.narrowed(16).value, kind)


def truncate_to_integer(b: Builder, values: Sequence[Value]) -> Value:
    """f32 to i32; the least i32 for what that does not hold."""
    return truncated_within(b, values[0], 32)


def truncated_within(b: Builder, value: Value, bits: int) -> Value:
    """As an integer of so many bits; the least of them for what these do not hold."""
    limit = 2.0 ** (bits - 1)
    low, high = constant(value.type, -limit), constant(value.type, limit)
    inside = b.and_(b.fcmp_ordered(">=", value, low), b.fcmp_ordered("<", value, high))
    return b.fptosi(b.select(inside, value, low), with_element(value.type, int_type(bits)))


def pair_products(b: Builder, values: Sequence[Value]) -> Value:
    """Of both halves of each 32 bits, added."""
    (low, other_low), (high, other_high) = (
        [half(b, value) for value in values] for half in (_low_half, _high_half)
    )
    return b.add(b.mul(low, other_low), b.mul(high, other_high))


def _low_half(b: Builder, value: Value) -> Value:
    return _high_half(b, b.shl(value, constant(value.type, 16)))


def _high_half(b: Builder, value: Value) -> Value:
    return b.ashr(value, constant(value.type, 16))


SOFTWARE: Final[Mapping[str, Software]] = {
    FMA: _on_floats(fma),
    "llvm.ceil": _on_floats(ceil),
    "llvm.floor": _on_floats(floor),
    "llvm.roundeven": _on_floats(round_even),
    "llvm.trunc": _on_floats(trunc),
    EXTEND_HALF: extend_half,
    TRUNCATE_TO_HALF: truncate_to_half,
    PAIR_PRODUCTS: pair_products,
    TRUNCATE_TO_INTEGER: truncate_to_integer,
}
"""By name of LLVM's intrinsic, or by those of `isa`."""
