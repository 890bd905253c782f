"""LLVM's intrinsics that are overloaded on more than one type, and the vector shuffles."""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.codegen.llvm.emit.types import I32, POINTER, lane_numbers, number
from anyshape.codegen.llvm.isa import FMA
from anyshape.codegen.llvm.math.boundary import (
    Builder,
    Type,
    Value,
    constant,
    constant_undefined,
    element_of,
    intrinsic,
    ir,
    lanes_of,
    software_of,
)


def call(b: Builder, name: str, overloads: Sequence[Type], result: Type, *args: Value) -> Value:
    """Calls an intrinsic, declaring it when first used."""
    symbol = ".".join((name, *map(_suffix, overloads)))
    callee = b.module.globals.get(symbol)
    if callee is None:
        signature = ir.FunctionType(result, [arg.type for arg in args])
        callee = ir.Function(b.module, signature, symbol)
    return b.call(callee, args)


def _suffix(kind: Type) -> str:
    lanes = lanes_of(kind)
    if lanes is not None:
        return f"v{lanes}{_suffix(element_of(kind))}"
    if isinstance(kind, ir.PointerType):
        return "p0"
    return kind.intrinsic_name


def multiply_add(b: Builder, x: Value, y: Value, total: Value) -> Value:
    """x * y + total, in one rounding where that is an instruction and in two elsewhere."""
    if FMA in software_of(b):
        return b.fadd(b.fmul(x, y), total)
    return intrinsic(b, FMA, [x, y, total])


def first_lanes(b: Builder, lanes: int, count: Value) -> Value:
    """The mask of the first `count` lanes. The count may be more than 32 bits hold."""
    most = number(lanes)
    few = b.select(b.icmp_signed("<", count, most), count, most)
    return b.icmp_signed("<", lane_numbers(I32, lanes), splat(b, b.trunc(few, I32), lanes))


def prefetch(b: Builder, address: Value) -> None:
    """Brings a line of memory into the second-level cache; no address is wrong."""
    read, second_level, data = (ir.Constant(I32, choice) for choice in (0, 2, 1))
    call(b, "llvm.prefetch", (POINTER,), ir.VoidType(), address, read, second_level, data)


def masked_load(b: Builder, kind: Type, address: Value, align: int, mask: Value) -> Value:
    """Lanes outside the mask are not touched in memory, and are zero."""
    args = (address, ir.Constant(I32, align), mask, zero(kind))
    return call(b, "llvm.masked.load", (kind, POINTER), kind, *args)


def masked_store(b: Builder, value: Value, address: Value, align: int, mask: Value) -> None:
    args = (value, address, ir.Constant(I32, align), mask)
    call(b, "llvm.masked.store", (value.type, POINTER), ir.VoidType(), *args)


def gather(b: Builder, kind: Type, addresses: Value, align: int, mask: Value) -> Value:
    """Each lane from an address of its own."""
    args = (addresses, ir.Constant(I32, align), mask, zero(kind))
    return call(b, "llvm.masked.gather", (kind, addresses.type), kind, *args)


def scatter(b: Builder, value: Value, addresses: Value, align: int, mask: Value) -> None:
    """Each lane to an address of its own; where two are equal, the later lane stays."""
    args = (value, addresses, ir.Constant(I32, align), mask)
    call(b, "llvm.masked.scatter", (value.type, addresses.type), ir.VoidType(), *args)


def zero(kind: Type) -> Value:
    return constant(kind, 0) if lanes_of(kind) is None else ir.Constant(kind, None)


def element_address(b: Builder, base: Value, element: Type, offset: Value) -> Value:
    """`offset` elements after `base`; a vector of offsets makes a vector of addresses."""
    address = b.gep(base, [offset], source_etype=element)
    lanes = lanes_of(offset.type)
    if lanes is not None:
        address.type = ir.VectorType(POINTER, lanes)  # llvmlite takes the type of the base
    return address


def splat(b: Builder, scalar: Value, lanes: int) -> Value:
    """The scalar in every lane."""
    kind = ir.VectorType(scalar.type, lanes)
    if isinstance(scalar, ir.Constant):
        return ir.Constant(kind, [scalar] * lanes)
    first = b.insert_element(constant_undefined(kind), scalar, ir.Constant(I32, 0))
    return b.shuffle_vector(first, constant_undefined(kind), zero(ir.VectorType(I32, lanes)))


def halves(b: Builder, vector: Value) -> tuple[Value, Value]:
    """The lower and the upper lanes of a vector."""
    lanes = vector.type.count
    order = lane_numbers(I32, lanes).constant
    undefined = constant_undefined(vector.type)
    low, high = (
        b.shuffle_vector(vector, undefined, ir.Constant(ir.VectorType(I32, lanes // 2), part))
        for part in (order[: lanes // 2], order[lanes // 2 :])
    )
    return low, high


def reversed_lanes(b: Builder, vector: Value) -> Value:
    """The last lane first."""
    lanes = vector.type.count
    order = [ir.Constant(I32, lane) for lane in reversed(range(lanes))]
    undefined = constant_undefined(vector.type)
    return b.shuffle_vector(vector, undefined, ir.Constant(ir.VectorType(I32, lanes), order))


def every_other_lane(b: Builder, first: Value, second: Value) -> Value:
    """Of two vectors, the second of which begins with the last lane of the first."""
    lanes = first.type.count
    order = [*range(0, lanes, 2), *range(lanes + 1, 2 * lanes, 2)]
    numbers = [ir.Constant(I32, lane) for lane in order]
    return b.shuffle_vector(first, second, ir.Constant(ir.VectorType(I32, lanes), numbers))


def masks_of_every_other(b: Builder, mask: Value) -> tuple[Value, Value]:
    """Masks for the two vectors that `every_other_lane` takes, from one for the result."""
    lanes = mask.type.count
    first = [i // 2 if i % 2 == 0 else lanes for i in range(lanes)]
    second = [(lanes - 1 + i) // 2 if i % 2 else lanes for i in range(lanes)]
    none = ir.Constant(mask.type, [0] * lanes)
    orders = ([ir.Constant(I32, lane) for lane in order] for order in (first, second))
    vector = ir.VectorType(I32, lanes)
    one, other = (b.shuffle_vector(mask, none, ir.Constant(vector, order)) for order in orders)
    return one, other


def any_lane(b: Builder, mask: Value) -> Value:
    """Is it true somewhere? The mask itself, if it is a scalar."""
    if lanes_of(mask.type) is None:
        return mask
    return call(b, "llvm.vector.reduce.or", (mask.type,), ir.IntType(1), mask)
