"""floordiv and mod with NumPy's meaning: rounded down, the remainder has the divisor's sign.

Integers: by zero both are 0, and the least integer by -1 wraps around; neither may trap.
Floats: NumPy's formulas on the exact remainder of C's fmod, which is computed here, since LLVM's
`frem` is a call into the C library.
"""

from __future__ import annotations

from collections.abc import Callable

from anyshape.codegen.llvm.emit.intrinsics import any_lane
from anyshape.codegen.llvm.math.boundary import (
    Builder,
    Function,
    Module,
    Type,
    Value,
    constant,
    float_type,
    format_of,
    internal_function,
    intrinsic,
    ir,
    type_suffix,
    with_element,
)
from anyshape.codegen.llvm.math.format import F32, F64
from anyshape.ir.types import DType


def floordiv(b: Builder, dtype: DType, x: Value, y: Value) -> Value:
    if dtype.is_float:
        return _float_divmod(b, x, y)[0]
    return _integer_divmod(b, dtype, x, y)[0]


def mod(b: Builder, dtype: DType, x: Value, y: Value) -> Value:
    if dtype.is_float:
        return _float_divmod(b, x, y)[1]
    return _integer_divmod(b, dtype, x, y)[1]


# --- integers -------------------------------------------------------------------------------------


def _integer_divmod(b: Builder, dtype: DType, x: Value, y: Value) -> tuple[Value, Value]:
    zero, one = constant(x.type, 0), constant(x.type, 1)
    by_zero = b.icmp_unsigned("==", y, zero)
    if dtype.kind == "uint":
        safe = b.select(by_zero, one, y)
        quotient, remainder = b.udiv(x, safe), b.urem(x, safe)
    else:
        quotient, remainder = _signed_divmod(b, x, y, by_zero)
    return tuple(b.select(by_zero, zero, result) for result in (quotient, remainder))


def _signed_divmod(b: Builder, x: Value, y: Value, by_zero: Value) -> tuple[Value, Value]:
    """Division by 1 stands in for division by 0 and by -1."""
    zero, one = constant(x.type, 0), constant(x.type, 1)
    by_minus_one = b.icmp_signed("==", y, constant(x.type, -1))
    safe = b.select(b.or_(by_zero, by_minus_one), one, y)
    quotient, remainder = floor_divmod(b, x, safe)
    return b.select(by_minus_one, b.sub(zero, x), quotient), remainder


def floor_divmod(b: Builder, x: Value, y: Value) -> tuple[Value, Value]:
    """Signed integers, rounded down; y is neither 0 nor, where x is the least integer, -1."""
    zero, one = constant(x.type, 0), constant(x.type, 1)
    quotient, remainder = b.sdiv(x, y), b.srem(x, y)
    other_sign = b.icmp_signed("<", b.xor(remainder, y), zero)
    inexact = b.icmp_signed("!=", remainder, zero)
    too_high = b.and_(inexact, other_sign)
    down = b.select(too_high, b.sub(quotient, one), quotient)
    return down, b.select(too_high, b.add(remainder, y), remainder)


# --- floats ---------------------------------------------------------------------------------------


def _float_divmod(b: Builder, x: Value, y: Value) -> tuple[Value, Value]:
    """NumPy's `npy_divmod`, with selects for branches."""
    zero, one = constant(x.type, 0.0), constant(x.type, 1.0)
    rest = fmod(b, x, y)
    ratio = b.fdiv(x, y)
    negative = b.xor(b.fcmp_ordered("<", y, zero), b.fcmp_ordered("<", rest, zero))
    adjust = b.and_(b.fcmp_unordered("!=", rest, zero), negative)
    quotient = b.fdiv(b.fsub(x, rest), y)
    quotient = b.select(adjust, b.fsub(quotient, one), quotient)
    remainder = b.select(adjust, b.fadd(rest, y), rest)
    exact = b.fcmp_ordered("==", rest, zero)
    remainder = b.select(exact, intrinsic(b, "llvm.copysign", [zero, y]), remainder)
    by_zero = b.fcmp_ordered("==", y, zero)
    whole = b.select(by_zero, ratio, _nearest_floor(b, quotient, ratio))
    return whole, b.select(by_zero, rest, remainder)


def _nearest_floor(b: Builder, quotient: Value, ratio: Value) -> Value:
    """The floor, or the integer just above if rounding had made the quotient a little less."""
    zero, half, one = (constant(quotient.type, n) for n in (0.0, 0.5, 1.0))
    floor = intrinsic(b, "llvm.floor", [quotient])
    above = b.fcmp_ordered(">", b.fsub(quotient, floor), half)
    whole = b.select(above, b.fadd(floor, one), floor)
    signed_zero = intrinsic(b, "llvm.copysign", [zero, ratio])
    return b.select(b.fcmp_ordered("==", quotient, zero), signed_zero, whole)


def fmod(b: Builder, x: Value, y: Value) -> Value:
    """The exact remainder with x's sign; NaN where x is infinite or y is 0. f32 goes by f64."""
    if format_of(x.type) is not F32:
        return b.call(_fmod_function(b.module, x.type), [x, y])
    wide = with_element(x.type, float_type(F64))
    function = _fmod_function(b.module, wide)
    return b.fptrunc(b.call(function, [b.fpext(x, wide), b.fpext(y, wide)]), x.type)


def _fmod_function(module: Module, kind: Type) -> Function:
    """A function of the module for one type of vector, made when first asked for."""
    name = f"anyshape.fmod.{type_suffix(kind)}"
    known = module.globals.get(name)
    if known is not None:
        return known
    function = internal_function(module, name, kind, [kind, kind])
    b = ir.IRBuilder(function.append_basic_block("entry"))
    b.ret(_fmod_loop(b, *function.args))
    return function


def _fmod_loop(b: Builder, x: Value, y: Value) -> Value:
    """Takes multiples of y off x until less than y is left. Every step is exact: a quotient has as
    many bits as y's multiple needs, and leaves 2**-52 of what there was."""
    zero, infinity = constant(x.type, 0.0), constant(x.type, float("inf"))
    finite = b.fcmp_ordered("<", intrinsic(b, "llvm.fabs", [x]), infinity)
    valid = b.and_(finite, b.fcmp_ordered("!=", y, zero))
    size = b.select(valid, intrinsic(b, "llvm.fabs", [y]), constant(x.type, 1.0))
    rest = _until_less(b, b.select(valid, x, zero), size, _step)
    unlike = b.xor(b.fcmp_ordered("<", rest, zero), b.fcmp_ordered("<", x, zero))
    unlike = b.and_(unlike, b.fcmp_ordered("!=", rest, zero))
    back = b.fadd(rest, intrinsic(b, "llvm.copysign", [size, x]))
    rest = intrinsic(b, "llvm.copysign", [b.select(unlike, back, rest), x])
    return b.select(valid, rest, constant(x.type, float("nan")))


def _until_less(
    b: Builder, start: Value, size: Value, step: Callable[[Builder, Value, Value], Value]
) -> Value:
    """Repeats the step while |rest| >= size in any lane."""
    before, loop, done = b.block, b.append_basic_block("reduce"), b.append_basic_block("reduced")

    def more(rest: Value) -> Value:
        return any_lane(b, b.fcmp_ordered(">=", intrinsic(b, "llvm.fabs", [rest]), size))

    b.cbranch(more(start), loop, done)
    b.position_at_end(loop)
    rest = b.phi(start.type)
    following = step(b, rest, size)
    rest.add_incoming(start, before)
    rest.add_incoming(following, loop)
    b.cbranch(more(following), loop, done)
    b.position_at_end(done)
    result = b.phi(start.type)
    result.add_incoming(start, before)
    result.add_incoming(following, loop)
    return result


def _step(b: Builder, rest: Value, size: Value) -> Value:
    """rest - q * s for a multiple s of `size` so large that rest / s does not overflow."""
    infinity, multiple = constant(rest.type, float("inf")), size
    for scale in (2.0**600, 2.0**500):
        ratio = intrinsic(b, "llvm.fabs", [b.fdiv(rest, multiple)])
        scaled = b.fmul(multiple, constant(rest.type, scale))
        multiple = b.select(b.fcmp_ordered("==", ratio, infinity), scaled, multiple)
    quotient = intrinsic(b, "llvm.trunc", [b.fdiv(rest, multiple)])
    less = intrinsic(b, "llvm.fma", [b.fneg(quotient), multiple, rest])
    done = b.fcmp_ordered("<", intrinsic(b, "llvm.fabs", [rest]), size)
    return b.select(done, rest, less)  # a lane that is done may have an infinite size
