"""Long sums in blocks.

Adding one number after the other to a total that grows loses a little each time. A sum of sums of
blocks has as many steps as a block plus the number of blocks, and loses as little:

    for b < ceil(n / 8192) with total { for k < 8192 with part { part <- x[…] }  total <- part }
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from anyshape.loop.ir import Accumulator, For, Local, Statement, Update
from anyshape.loop.rewrite import substitute
from anyshape.sym import Dim, Symbol, ceildiv, minimum

BLOCK = 8192


def sums_in_blocks(body: Sequence[Statement]) -> tuple[Statement, ...]:
    """The statements, with innermost loops that add up floats divided into blocks."""
    return tuple(_in_blocks(s) if isinstance(s, For) else s for s in body)


def _in_blocks(loop: For) -> For:
    if any(isinstance(statement, For) for statement in loop.body):
        return replace(loop, body=sums_in_blocks(loop.body))
    sums = all(state.op == "add" and state.local.dtype.is_float for state in loop.accumulators)
    known = loop.extent.constant
    if not loop.accumulators or not sums or (known is not None and known <= BLOCK):
        return loop
    return _divided(loop)


def _divided(loop: For) -> For:
    outer = Symbol(f"{loop.index}b")
    start = Dim.of(outer) * BLOCK
    parts = {state.local: _part(state.local) for state in loop.accumulators}
    body = (
        Update(parts[s.local], s.value) if isinstance(s, Update) and s.local in parts else s
        for s in loop.body
    )
    inner = For(
        loop.index,
        minimum(BLOCK, loop.extent - start),
        substitute(tuple(body), {loop.index: start + Dim.of(loop.index)}),
        tuple(Accumulator(part, "add") for part in parts.values()),
        loop.vector,
    )
    totals = (Update(total, part) for total, part in parts.items())
    return For(outer, ceildiv(loop.extent, BLOCK), (inner, *totals), loop.accumulators)


def _part(total: Local) -> Local:
    return Local(f"{total.name}b", total.dtype)
