"""Decisions about a loop before it is written: whether it is vectorised, and how wide."""

from __future__ import annotations

from anyshape.codegen.llvm.emit.index import linear_in
from anyshape.codegen.llvm.emit.types import register_bits
from anyshape.codegen.llvm.isa import InstructionSet
from anyshape.codegen.llvm.math import FUNCTIONS
from anyshape.loop import Apply, For, Load, Scalar, Store, walk
from anyshape.sym import Symbol

MAX_PARTS = 4
_WORK_OF_A_TILE = 96  # instructions, roughly, after which more parts hide nothing more
_SUMS_OF_A_TILE = 8  # of loops inside: half of the registers that all instruction sets have
_EXPENSIVE = dict.fromkeys(FUNCTIONS, 16) | {"sqrt": 4, "div": 4, "rsqrt": 8, "pow": 64}


def is_vectorised(loop: For) -> bool:
    """Whether this loop, rather than one inside it, is computed several iterations at a time."""
    if not loop.vector or not _can_vectorise(loop):
        return False
    inner = [s for s in walk.statements(loop.body) if isinstance(s, For) and s.vector]
    own = _contiguity(loop, loop.index)
    return all(own > _contiguity(loop, other.index) for other in inner)


def _can_vectorise(loop: For) -> bool:
    """Inner loops must be equally long in all lanes, and no prefix of a reduction may be used."""
    varying = {loop.index} | walk.bound_symbols(loop.body)
    inner = (s for s in walk.statements(loop.body) if isinstance(s, For))
    uneven = any(not varying.isdisjoint(other.extent.symbols) for other in inner)
    return not uneven and walk.read_locals(loop.body).isdisjoint(walk.updated_locals(loop.body))


def _contiguity(loop: For, index: Symbol) -> int:
    """How well accesses suit vectors along `index`: contiguous ones count for, others against."""
    return sum(_suits(access, index) for access in walk.loaded_indices(loop.body))


def _suits(access: Load | Store, index: Symbol) -> int:
    offset = access.buffer.offset(access.index)
    if index not in offset.symbols:
        return 0
    linear = linear_in(offset, index)
    return 1 if linear is not None and linear[0].constant == 1 else -2


def lanes_of_loop(loop: For, isa: InstructionSet) -> int:
    """As many as the widest values leave room for in a vector."""
    return isa.vector_bits // max((_bits(s) for s in _values(loop)), default=64)


def _values(loop: For) -> list[Scalar]:
    """Expressions whose width counts: not those that only decide an index."""
    bodies = [s.value for s in walk.statements(loop.body) if isinstance(s, Store)]
    counted = [s for s in walk.scalars(loop.body) if isinstance(s, Load | Apply)]
    return [*bodies, *counted]


def _bits(scalar: Scalar) -> int:
    return register_bits(scalar.dtype)


def parts_of_loop(loop: For) -> int:
    """More parts for less work: what is cheap waits for its latency, what is dear does not."""
    work = sum(_EXPENSIVE.get(s.op, 1) for s in walk.scalars(loop.body) if isinstance(s, Apply))
    inner = (s for s in walk.statements(loop.body) if isinstance(s, For))
    sums = sum(len(other.accumulators) for other in inner)
    parts = MAX_PARTS
    while parts > 1 and (parts * work > _WORK_OF_A_TILE or parts * sums > _SUMS_OF_A_TILE):
        parts //= 2
    return parts


def stores_of_loop(loop: For) -> list[Store]:
    """What a loop without inner ones writes to results."""
    if any(isinstance(statement, For) for statement in loop.body):
        return []
    return [s for s in loop.body if isinstance(s, Store) and s.buffer.written]


def can_mask(loop: For, isa: InstructionSet) -> bool:
    """Whether the last iterations can be one vector under a mask."""
    return all(
        access.buffer.dtype.itemsize * 8 in isa.masked_bits
        for access in walk.loaded_indices(loop.body)
    )
