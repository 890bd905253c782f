"""The remainder of a large number modulo π/2 (Payne and Hanek), for any finite f64.

a = M 2**E with M an integer of 53 bits, so a 2/π = M (2**E 2/π). Digits of 2**E 2/π that stand for
multiples of 4 add whole turns and are skipped; the 192 digits after them decide. The product with
M, modulo 4, is kept to 128 bits: two for the quarter, 126 after the point. No f64 comes closer than
2**-62 to a multiple of π/2, so at least 64 of those 126 are significant.

It is one scalar function on 64- and 128-bit integers, called lane by lane; no lane is fast, but
every lane is right.
"""

from itertools import pairwise

from anyshape.codegen.llvm.math import boundary
from anyshape.codegen.llvm.math.boundary import Builder, Function, Module, ir
from anyshape.codegen.llvm.math.coefficients import HALF_PI, TWO_OVER_PI
from anyshape.codegen.llvm.math.double import Double, multiply
from anyshape.codegen.llvm.math.format import F64
from anyshape.codegen.llvm.math.values import Float, Int

NAME = "anyshape.reduce_huge"


def reduce_huge_lanes(size: Float) -> tuple[Int, Float, Float]:
    """The quarter (mod 4), high and low of each f64 lane; 2**17 <= size, finite."""
    b, kind = size.b, size.value.type
    function = _function(b.module)
    lanes = boundary.lanes_of(kind)
    if lanes is None:
        parts = b.call(function, [size.value])
        quarter, high, low = (b.extract_value(parts, i) for i in range(3))
        return Int(b, quarter), Float(b, high), Float(b, low)
    integers = boundary.with_element(kind, boundary.int_type(64))
    results = [boundary.constant_undefined(t) for t in (integers, kind, kind)]
    for lane in range(lanes):
        index = boundary.constant(boundary.int_type(32), lane)
        parts = b.call(function, [b.extract_element(size.value, index)])
        results = [
            b.insert_element(vector, b.extract_value(parts, i), index)
            for i, vector in enumerate(results)
        ]
    quarter, high, low = results
    return Int(b, quarter), Float(b, high), Float(b, low)


def _function(module: Module) -> Function:
    """The module's scalar reduction, made when first asked for."""
    known = module.globals.get(NAME)
    if known is not None:
        return known
    double = boundary.float_type(F64)
    result = ir.LiteralStructType([boundary.int_type(64), double, double])
    function = boundary.internal_function(module, NAME, result, [double])
    function.attributes.add("noinline")
    b = ir.IRBuilder(function.append_basic_block("entry"))
    turns = _quarter_turns(Float(b, function.args[0]))
    quarter = (turns + (1 << 125)) >> 126  # to the nearest
    remainder = _times_half_pi(turns << 2)
    parts = (quarter.narrowed(64), *remainder)
    b.ret(boundary.struct_of(b, result, [part.value for part in parts]))
    return function


def _quarter_turns(size: Float) -> Int:
    """size 2/π modulo 4, times 2**126, as an i128."""
    bits = size.bits()
    mantissa = (bits & ((1 << 52) - 1)) | (1 << 52)
    # E = field - 1075; the digit of weight 2 is number E - 2, counted from 0, after 64 zeros
    first = (bits >> 52) - (1075 + 2 - 64)
    w0, w1, w2 = _digits(size.b, first)
    m, top = mantissa.widened(128), (mantissa * w0).widened(128) << 64
    return top + m * w1.widened(128) + ((m * w2.widened(128)) >> 64)


def _digits(b: Builder, first: Int) -> tuple[Int, Int, Int]:
    """192 binary digits of 2/π, as three words, from the given one on."""
    table = boundary.constant_words(b.module, "anyshape.two_over_pi", TWO_OVER_PI)
    word, shift = first >> 6, first & 63
    loaded = [Int(b, boundary.load_word(b, table, (word + i).value)) for i in range(4)]
    w0, w1, w2 = (high.funnel_shift(low, shift) for high, low in pairwise(loaded))
    return w0, w1, w2


def _times_half_pi(fraction: Int) -> Double:
    """fraction 2**-128 π/2 for a signed i128: its top 106 significant bits, times π/2."""
    sign = fraction.sign_shift(127)
    size = (fraction ^ sign) - sign
    zeros = size.leading_zeros() & 127
    digits = size << zeros
    high = (digits >> 75).narrowed(64).to_f64() * 2.0**-53
    low = ((digits >> 22).narrowed(64) & ((1 << 53) - 1)).to_f64() * 2.0**-106
    scale = ((1023 - zeros.narrowed(64)) << 52) ^ (sign.narrowed(64) << 63)
    signed = scale.as_float()  # ±2**-zeros
    first, second, _ = (high.like(part) for part in HALF_PI["f64"])
    return multiply(Double(high * signed, low * signed), Double(first, second))
