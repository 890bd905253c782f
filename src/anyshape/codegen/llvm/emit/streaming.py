"""Streaming stores: vectors that go to memory past the caches.

A result larger than the cache is gone from it before anyone reads it; storing it the ordinary way
reads each line first, and drives out what others could still use. Instructions for this need
aligned addresses, and other threads see the stores in order only after a fence.
"""

from __future__ import annotations

from anyshape.codegen.llvm.emit.intrinsics import call
from anyshape.codegen.llvm.emit.types import I32, I64, number
from anyshape.codegen.llvm.math.boundary import Builder, Value, ir

SMALLEST = 16  # bytes; narrower vectors have no such instruction


def store(b: Builder, value: Value, address: Value, size: int) -> None:
    """The address is a multiple of the vector's size."""
    made = b.store(value, address, align=size)
    made.set_metadata("nontemporal", b.module.add_metadata([ir.Constant(I32, 1)]))


def is_aligned(b: Builder, address: Value, size: int) -> Value:
    """Whether an address is a multiple of a vector's size."""
    low = b.and_(b.ptrtoint(address, I64), number(size - 1))
    return b.icmp_unsigned("==", low, number(0))


def fence(b: Builder) -> None:
    """What was streamed before is seen before whatever is stored after. x86 only."""
    call(b, "llvm.x86.sse.sfence", (), ir.VoidType())
