"""Sums in blocks: a running sum ends before it is long, and is added to a total.

One that grows by one term after the other loses up to half a unit in its last place with each of
them, and terms of one sign lose it in one direction. With blocks as long as there are blocks, the
error of n terms grows with the square root of n at most.

    block   first     as many steps as always pay: most sums are not longer
            later     about the square root of all steps, and no shorter than the first
"""

from __future__ import annotations

from anyshape.codegen.llvm.emit.types import I1, number
from anyshape.codegen.llvm.math.boundary import Builder, Value, constant, intrinsic


def end_of_first(b: Builder, steps: Value, block: int, undivided: int = 0) -> Value:
    """Where the first block ends; there is only one if there are no more steps than `undivided`."""
    is_one = b.icmp_signed("<=", steps, number(max(block, undivided)))
    return b.select(is_one, steps, number(block))


def end_of_next(b: Builder, steps: Value, block: int, done: Value) -> Value:
    """Where the block that starts at `done` ends."""
    zeros = intrinsic(b, "llvm.ctlz", [steps, constant(I1, 0)])
    half_of_bits = b.lshr(b.sub(number(65), zeros), number(1))
    root, least = b.shl(number(1), half_of_bits), number(block)
    length = b.select(b.icmp_signed("<", root, least), least, root)
    return _least(b, steps, b.add(done, length))


def _least(b: Builder, x: Value, y: Value) -> Value:
    return b.select(b.icmp_signed("<", x, y), x, y)
