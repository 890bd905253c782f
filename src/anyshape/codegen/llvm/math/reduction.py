"""Arguments of sin and cos, reduced to a quarter turn: a = q π/2 + r, |r| <= π/4, for a >= 0.

Up to a bound, q π/2 is subtracted with π/2 in three parts (Cody and Waite). The product with the
first part is exact inside the fused multiply-add, and so is the difference, as both numbers are
multiples of one small power of two.

Beyond the bound, `huge_reduction.py` is right for any finite number. Lanes so large are rare and
their code is long, so it stands behind the one branch of this package: if any lane is huge. The
branch lives in an internal function that is always inlined; whoever calls `sin` keeps building in
the block they were in.
"""

from math import inf
from typing import Final, NamedTuple

from anyshape.codegen.llvm.math import boundary
from anyshape.codegen.llvm.math.boundary import Builder, Function, Type, Value, ir
from anyshape.codegen.llvm.math.coefficients import HALF_PI
from anyshape.codegen.llvm.math.double import fast_two_sum, two_product, two_sum
from anyshape.codegen.llvm.math.exponential import rounding_shift
from anyshape.codegen.llvm.math.format import F32
from anyshape.codegen.llvm.math.huge_reduction import reduce_huge_lanes
from anyshape.codegen.llvm.math.values import Float, Int, Mask, select

# Up to here q is exact in the format with bits to spare, and |r| is at most 1.01 π/4.
BOUND: Final = {"f32": 2.0**17, "f64": 2.0**28}


class Reduced(NamedTuple):
    """The quarter, in the low bits of an integer as wide as the floats, and r = high + low.

    f32 does without a low part: that costs sin and cos 0.8 ULP and saves them a third of the time.
    """

    quarter: Int
    high: Float
    low: Float | None = None

    def parts(self) -> list[Value]:
        return [part.value for part in self if part is not None]


def reduced(size: Float) -> Reduced:
    """Reduce size = |x|; NaN and infinity give r = NaN."""
    b = size.b
    struct = b.call(_reduction(b, size.value.type), [size.value])
    quarter, *floats = (b.extract_value(struct, i) for i in range(len(struct.type)))
    return Reduced(Int(b, quarter), *(Float(b, part) for part in floats))


def _reduction(b: Builder, kind: Type) -> Function:
    """The module's function that reduces values of this type, made when first asked for."""
    name = f"anyshape.reduce.{boundary.type_suffix(kind)}"
    known = b.module.globals.get(name)
    if known is not None:
        return known
    form = boundary.format_of(kind)
    integers = boundary.with_element(kind, boundary.int_type(form.bits))
    result = ir.LiteralStructType([integers, kind] if form == F32 else [integers, kind, kind])
    function = boundary.internal_function(b.module, name, result, [kind])
    function.attributes.add("alwaysinline")
    _write_reduction(function)
    return function


def _write_reduction(function: Function) -> None:
    entry, rare, done = (function.append_basic_block(n) for n in ("entry", "rare", "done"))
    b = ir.IRBuilder(entry)
    size = Float(b, function.args[0])
    usual = _moderate(size)
    huge = (size > BOUND[size.format.name]) & (size < inf)
    b.cbranch(huge.any().value, rare, done).set_weights([1, 1000])

    b.position_at_end(rare)
    corrected = _with_huge_lanes(size, huge, usual)
    b.branch(done)

    b.position_at_end(done)
    either = [b.phi(part.type) for part in usual.parts()]
    for phi, before, after in zip(either, usual.parts(), corrected.parts(), strict=True):
        phi.add_incoming(before, entry)
        phi.add_incoming(after, rare)
    b.ret(boundary.struct_of(b, function.return_value.type, either))


def _moderate(size: Float) -> Reduced:
    """The reduction for size <= BOUND; NaN and infinity give r = NaN."""
    first, second, third = HALF_PI[size.format.name]
    shift = rounding_shift(size.format)
    shifted = size.fma(1 / (first + second), shift)
    q = shifted - shift
    high = q.fma(-first, size)  # exact
    if size.format == F32:
        return Reduced(shifted.bits(), q.fma(-third, q.fma(-second, high)))
    product = two_product(q, q.like(second))
    r = two_sum(high, -product.high)
    low = q.fma(-third, r.low - product.low)
    return Reduced(shifted.bits(), *fast_two_sum(r.high, low))


def _with_huge_lanes(size: Float, huge: Mask, usual: Reduced) -> Reduced:
    """`usual`, with the huge lanes replaced by their true reduction."""
    safe = select(huge, size, size.like(BOUND[size.format.name]))
    quarter, high, low = reduce_huge_lanes(safe.widened() if size.format == F32 else safe)
    if usual.low is None:
        quarter, high = quarter.narrowed(32), high.narrowed()
    chosen = select(huge, quarter, usual.quarter), select(huge, high, usual.high)
    return Reduced(*chosen, None if usual.low is None else select(huge, low, usual.low))
