"""Gathers whose lanes lie near each other: two vectors, and a permutation of their lanes.

    first .. first + 2 * lanes     one window of memory, loaded as two vectors
    lane i                         element offset[i] - first of the window

A resized row is read in order, some elements twice: all lanes are within a window. Whether they are
is tested at run time, once for all loads with the same varying offsets; where they are not, or the
window would go past the buffer's end, it is a gather. A gather takes a cycle or two for each lane.
"""

from __future__ import annotations

from typing import Final

from anyshape.codegen.llvm.emit import intrinsics
from anyshape.codegen.llvm.emit.types import I1, I32, I64, POINTER, number
from anyshape.codegen.llvm.isa import InstructionSet
from anyshape.codegen.llvm.math.boundary import (
    Builder,
    Function,
    Module,
    Type,
    Value,
    internal_function,
    ir,
)

_LANE_BITS: Final = 32
_OF_TWO: Final = {
    16: "llvm.x86.avx512.vpermi2var.ps.512",
    8: "llvm.x86.avx512.vpermi2var.ps.256",
}
"""By lanes: one permutation of two vectors."""

_OF_ONE: Final = "llvm.x86.avx2.permps"


def has_windows(isa: InstructionSet, itemsize: int, lanes: int) -> bool:
    """Whether there are permutations of such vectors by a vector of numbers."""
    widths = {"avx512": (8, 16), "avx2": (8,)}.get(isa.name, ())
    return itemsize * 8 == _LANE_BITS and lanes in widths


def window_gather(
    b: Builder, isa: InstructionSet, vector: Type, base: Value, offsets: Value, mask: Value,
    room: Value,
) -> Value:  # fmt: skip
    """The elements at `offsets` from `base`, behind which there are `room` elements."""
    function = _function(b.module, isa, vector)
    return b.call(function, [base, offsets, mask, room])


def _function(module: Module, isa: InstructionSet, vector: Type) -> Function:
    lanes = vector.count
    name = f"window_gather_{vector.element}_{lanes}"
    found = module.globals.get(name)
    if found is not None:
        return found
    masks, many = ir.VectorType(I1, lanes), ir.VectorType(I64, lanes)
    function = internal_function(module, name, vector, (POINTER, many, masks, I64))
    function.attributes.add("alwaysinline")  # tests of equal offsets are made once
    blocks = (function.append_basic_block(n) for n in ("entry", "window", "apart", "end"))
    entry, window, apart, end = (ir.IRBuilder(block) for block in blocks)
    base, offsets, mask, _ = function.args
    first = entry.extract_element(offsets, ir.Constant(I32, 0))
    steps = entry.sub(offsets, intrinsics.splat(entry, first, lanes))
    entry.cbranch(_is_window(entry, function, first, steps), window.block, apart.block)
    permuted = _permuted(window, isa, vector, base, first, steps)
    addresses = intrinsics.element_address(apart, base, vector.element, offsets)
    gathered = intrinsics.gather(apart, vector, addresses, _LANE_BITS // 8, mask)
    result = end.phi(vector)
    for b, value in ((window, permuted), (apart, gathered)):
        b.branch(end.block)
        result.add_incoming(value, b.block)
    end.ret(result)
    return function


def _is_window(b: Builder, function: Function, first: Value, steps: Value) -> Value:
    """Whether all lanes that are wanted are in the window of the first, which is wanted too."""
    _, _, mask, room = function.args
    lanes = mask.type.count
    near = b.icmp_unsigned("<", steps, intrinsics.splat(b, number(2 * lanes), lanes))
    settled = b.or_(near, b.not_(mask))
    every = intrinsics.call(b, "llvm.vector.reduce.and", (mask.type,), I1, settled)
    fits = b.icmp_signed("<=", b.add(first, number(2 * lanes)), room)
    return b.and_(b.and_(every, fits), b.extract_element(mask, ir.Constant(I32, 0)))


def _permuted(
    b: Builder, isa: InstructionSet, vector: Type, base: Value, first: Value, steps: Value
) -> Value:
    lanes, floats = vector.count, ir.VectorType(ir.FloatType(), vector.count)
    low = intrinsics.element_address(b, base, vector.element, first)
    high = intrinsics.element_address(b, low, vector.element, number(lanes))
    halves = [b.load(each, typ=floats, align=_LANE_BITS // 8) for each in (low, high)]
    order = b.trunc(steps, ir.VectorType(I32, lanes))
    if isa.name == "avx512":
        chosen = intrinsics.call(b, _OF_TWO[lanes], (), floats, halves[0], order, halves[1])
    else:
        parts = [intrinsics.call(b, _OF_ONE, (), floats, half, order) for half in halves]
        count = ir.Constant(order.type, [ir.Constant(I32, lanes)] * lanes)
        is_low = b.icmp_signed("<", order, count)
        chosen = b.select(is_low, *parts)
    return b.bitcast(chosen, vector)
