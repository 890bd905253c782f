"""IR values with the operators of arithmetic, so that a formula reads as the code it generates.

`Float`, `Int` and `Mask` each wrap one IR value, a scalar or a vector of any number of lanes, and
the builder that appends instructions: `x * x + 1.0` *emits* a multiplication and an addition.

Invariants:
  - a Python number takes the type of the value it meets, rounded to it, in every lane;
  - no fast-math flag is ever set: what is written is what is computed, in that order;
  - comparisons are ordered, so false where an operand is NaN;
  - the intrinsics used lower to instructions, or to what `software.py` computes instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from anyshape.codegen.llvm.math import boundary
from anyshape.codegen.llvm.math.boundary import Builder, Type, Value
from anyshape.codegen.llvm.math.format import F32, F64, Format


@dataclass(frozen=True, eq=False, slots=True)
class Float:
    """A float or a vector of floats."""

    b: Builder
    value: Value

    @property
    def format(self) -> Format:
        return boundary.format_of(self.value.type)

    def like(self, number: Float | float) -> Float:
        """`number` in this value's type."""
        if isinstance(number, Float):
            return number
        return Float(self.b, boundary.constant(self.value.type, number))

    def __add__(self, other: Float | float) -> Float:
        return Float(self.b, self.b.fadd(self.value, self.like(other).value))

    def __sub__(self, other: Float | float) -> Float:
        return Float(self.b, self.b.fsub(self.value, self.like(other).value))

    def __rsub__(self, other: float) -> Float:
        return self.like(other) - self

    def __mul__(self, other: Float | float) -> Float:
        return Float(self.b, self.b.fmul(self.value, self.like(other).value))

    def __truediv__(self, other: Float | float) -> Float:
        return Float(self.b, self.b.fdiv(self.value, self.like(other).value))

    def __rtruediv__(self, other: float) -> Float:
        return self.like(other) / self

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Float:
        return Float(self.b, self.b.fneg(self.value))

    def __abs__(self) -> Float:
        return self._intrinsic("llvm.fabs")

    def __lt__(self, other: Float | float) -> Mask:
        return self._compare("<", other)

    def __le__(self, other: Float | float) -> Mask:
        return self._compare("<=", other)

    def __gt__(self, other: Float | float) -> Mask:
        return self._compare(">", other)

    def __ge__(self, other: Float | float) -> Mask:
        return self._compare(">=", other)

    def equals(self, other: Float | float) -> Mask:
        return self._compare("==", other)

    def sqrt(self) -> Float:
        return self._intrinsic("llvm.sqrt")

    def floor(self) -> Float:
        return self._intrinsic("llvm.floor")

    def with_sign_of(self, other: Float) -> Float:
        return self._intrinsic("llvm.copysign", other)

    def at_least(self, low: float) -> Float:
        """The larger of the two; NaN stays NaN."""
        return select(self < low, self.like(low), self)

    def at_most(self, high: float) -> Float:
        """The smaller of the two; NaN stays NaN."""
        return select(self > high, self.like(high), self)

    def fma(self, factor: Float | float, addend: Float | float) -> Float:
        """self * factor + addend, rounded once."""
        return self._intrinsic("llvm.fma", self.like(factor), self.like(addend))

    def bits(self) -> Int:
        """The same bits as an integer."""
        kind = boundary.with_element(self.value.type, boundary.int_type(self.format.bits))
        return Int(self.b, self.b.bitcast(self.value, kind))

    def widened(self) -> Float:
        """The same numbers in f64."""
        kind = boundary.with_element(self.value.type, boundary.float_type(F64))
        return Float(self.b, self.b.fpext(self.value, kind))

    def narrowed(self) -> Float:
        """Rounded to f32."""
        kind = boundary.with_element(self.value.type, boundary.float_type(F32))
        return Float(self.b, self.b.fptrunc(self.value, kind))

    def _compare(self, operator: str, other: Float | float) -> Mask:
        value = self.b.fcmp_ordered(operator, self.value, self.like(other).value)
        return Mask(self.b, value)

    def _intrinsic(self, name: str, *others: Float) -> Float:
        values = [self.value, *(other.value for other in others)]
        return Float(self.b, boundary.intrinsic(self.b, name, values))


@dataclass(frozen=True, eq=False, slots=True)
class Int:
    """An integer or a vector of integers; arithmetic wraps around, and `>>` fills with zeros."""

    b: Builder
    value: Value

    def like(self, number: Int | int) -> Int:
        """`number` in this value's type."""
        if isinstance(number, Int):
            return number
        return Int(self.b, boundary.constant(self.value.type, number))

    def __add__(self, other: Int | int) -> Int:
        return Int(self.b, self.b.add(self.value, self.like(other).value))

    def __sub__(self, other: Int | int) -> Int:
        return Int(self.b, self.b.sub(self.value, self.like(other).value))

    def __rsub__(self, other: int) -> Int:
        return self.like(other) - self

    def __mul__(self, other: Int | int) -> Int:
        return Int(self.b, self.b.mul(self.value, self.like(other).value))

    def __and__(self, other: Int | int) -> Int:
        return Int(self.b, self.b.and_(self.value, self.like(other).value))

    def __or__(self, other: Int | int) -> Int:
        return Int(self.b, self.b.or_(self.value, self.like(other).value))

    def __xor__(self, other: Int | int) -> Int:
        return Int(self.b, self.b.xor(self.value, self.like(other).value))

    def __lshift__(self, count: Int | int) -> Int:
        return Int(self.b, self.b.shl(self.value, self.like(count).value))

    def __rshift__(self, count: Int | int) -> Int:
        return Int(self.b, self.b.lshr(self.value, self.like(count).value))

    def sign_shift(self, count: int) -> Int:
        """`>>` that fills with the sign bit."""
        return Int(self.b, self.b.ashr(self.value, self.like(count).value))

    def equals(self, other: Int | int) -> Mask:
        return Mask(self.b, self.b.icmp_unsigned("==", self.value, self.like(other).value))

    def at_least(self, low: int) -> Mask:
        """Whether it is no less, as an unsigned number."""
        return Mask(self.b, self.b.icmp_unsigned(">=", self.value, self.like(low).value))

    def leading_zeros(self) -> Int:
        no = boundary.constant(boundary.int_type(1), 0)  # an input of 0 is not undefined
        return Int(self.b, boundary.intrinsic(self.b, "llvm.ctlz", [self.value, no]))

    def funnel_shift(self, low: Int, count: Int) -> Int:
        """The high half of (self:low) << count."""
        return Int(
            self.b, boundary.intrinsic(self.b, "llvm.fshl", [self.value, low.value, count.value])
        )

    def widened(self, bits: int) -> Int:
        """Zeros in front, up to the given width."""
        return Int(self.b, self.b.zext(self.value, self._type(bits)))

    def narrowed(self, bits: int) -> Int:
        """The low bits."""
        return Int(self.b, self.b.trunc(self.value, self._type(bits)))

    def as_float(self) -> Float:
        """The same bits as a float."""
        form = F32 if boundary.element_of(self.value.type).width == F32.bits else F64
        kind = boundary.with_element(self.value.type, boundary.float_type(form))
        return Float(self.b, self.b.bitcast(self.value, kind))

    def to_f64(self) -> Float:
        """The same number, for a signed i64 of at most 53 bits."""
        kind = boundary.with_element(self.value.type, boundary.float_type(F64))
        return Float(self.b, self.b.sitofp(self.value, kind))

    def _type(self, bits: int) -> Type:
        return boundary.with_element(self.value.type, boundary.int_type(bits))


@dataclass(frozen=True, eq=False, slots=True)
class Mask:
    """A truth value per lane."""

    b: Builder
    value: Value

    def __and__(self, other: Mask) -> Mask:
        return Mask(self.b, self.b.and_(self.value, other.value))

    def __or__(self, other: Mask) -> Mask:
        return Mask(self.b, self.b.or_(self.value, other.value))

    def __xor__(self, other: Mask) -> Mask:
        return Mask(self.b, self.b.xor(self.value, other.value))

    def __invert__(self) -> Mask:
        return Mask(self.b, self.b.not_(self.value))

    def any(self) -> Mask:
        """One truth value: is it true in some lane?"""
        kind = self.value.type
        if boundary.lanes_of(kind) is None:
            return self
        one = boundary.element_of(kind)
        return Mask(self.b, boundary.intrinsic(self.b, "llvm.vector.reduce.or", [self.value], one))


Same = TypeVar("Same", Float, Int)


def select(condition: Mask, yes: Same, no: Same) -> Same:
    """Lane by lane, `yes` where the condition holds and `no` elsewhere."""
    return type(yes)(yes.b, yes.b.select(condition.value, yes.value, no.value))
