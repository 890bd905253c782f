"""Loads and stores.

    offset in the tile's index     load                          store
    does not depend on it          scalar, in front of the loop  lane by lane, the last stays
    slope 1                        vector                        vector
    slope -1                       vector, lanes reversed        lane by lane
    slope 2                        two vectors, every other lane scatter
    other, or not linear           gather (`window_gather.py`)   scatter

Under a mask nothing outside is touched: vectors use masked instructions; scalars, and vectors whose
mask is uniform, go to a spare place on the stack instead.

A load that does not change in a loop goes in front of it, behind the test that the loop runs at
all: there it touches only what the loop would touch. Buffers written in the loop are exempt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from anyshape.codegen.llvm.emit import intrinsics, streaming
from anyshape.codegen.llvm.emit.convert import from_memory, to_memory
from anyshape.codegen.llvm.emit.frame import Frame
from anyshape.codegen.llvm.emit.index import index_lanes, linear_in, scalar_index
from anyshape.codegen.llvm.emit.lanes import Lanes, Tile, part_of, uniform
from anyshape.codegen.llvm.emit.scope import Scope, deepest
from anyshape.codegen.llvm.emit.types import I1, memory_type, number, with_lanes
from anyshape.codegen.llvm.emit.window_gather import has_windows, window_gather
from anyshape.codegen.llvm.math.boundary import Builder, Type, Value, constant
from anyshape.loop import Buffer, Store
from anyshape.loop.printer import row_major
from anyshape.sym import Dim, product


class _Place(NamedTuple):
    """What an access by vectors is about."""

    buffer: Buffer
    element: Type
    lanes: int
    scope: Scope  # where the access is written
    fill: tuple[Value, Value] | None = None  # a test for all lanes, and what a load has without it

    @property
    def b(self) -> Builder:
        return self.scope.b

    @property
    def vector(self) -> Type:
        return with_lanes(self.element, self.lanes)

    @property
    def align(self) -> int:
        return self.buffer.dtype.itemsize

    @property
    def bytes(self) -> int:
        return self.lanes * self.buffer.dtype.itemsize

    @property
    def can_stream(self) -> bool:
        return self.buffer.written and self.bytes >= streaming.SMALLEST


# --- loads ----------------------------------------------------------------------------------------


def load(frame: Frame, buffer: Buffer, offset: Dim, mask: Lanes | None) -> Lanes:
    """The elements at `offset`; those outside the mask are not touched, and arbitrary."""
    scope = _load_scope(frame, buffer, offset, mask)
    tile = frame.tile
    if tile is None or not frame.scope.is_varying(offset):
        value = _load_scalar(frame, scope, buffer, offset, mask)
        return uniform(from_memory(scope.b, buffer.dtype, value), scope)
    place = _Place(buffer, memory_type(buffer.dtype), tile.lanes, scope)
    read = _READS.get(_slope(frame, offset, tile), _gather)
    parts = [read(frame, place, offset, mask, part) for part in range(tile.parts)]
    return Lanes(tuple(from_memory(scope.b, buffer.dtype, part) for part in parts), False, scope)


def load_or_fill(
    frame: Frame, buffer: Buffer, offset: Dim, holds: Lanes, fill: Value, mask: Lanes | None
) -> Lanes | None:
    """The elements at `offset` if a test that is the same in all lanes holds, else `fill`: which of
    the two is a choice of an address. None if it is not read by whole vectors."""
    tile = frame.tile
    if tile is None or not frame.scope.is_varying(offset) or (mask is not None and mask.uniform):
        return None
    read = _READS.get(_slope(frame, offset, tile))
    if read is None:
        return None
    scope = deepest([_load_scope(frame, buffer, offset, mask), holds.scope], frame.scope)
    fills = holds.scalar, fill
    place = _Place(buffer, memory_type(buffer.dtype), tile.lanes, scope, fills)
    parts = [read(frame, place, offset, mask, part) for part in range(tile.parts)]
    return Lanes(tuple(from_memory(scope.b, buffer.dtype, part) for part in parts), False, scope)


def _load_scope(frame: Frame, buffer: Buffer, offset: Dim, mask: Lanes | None) -> Scope:
    inside = frame.scope if buffer.name in frame.stored else frame.loads
    tested = [] if mask is None or mask is frame.mask else [mask.scope]
    return deepest([frame.scope.home(offset), *tested], inside)


def _load_scalar(
    frame: Frame, scope: Scope, buffer: Buffer, offset: Dim, mask: Lanes | None
) -> Value:
    """Some lane of the tile always exists, so its own mask does not matter."""
    element = memory_type(buffer.dtype)
    address = _address(frame, scope, buffer, element, offset)
    if mask is not None and mask is not frame.mask:
        address = _safe(frame, scope, address, _any(scope, mask), None)
    return scope.b.load(address, typ=element, align=buffer.dtype.itemsize)


def _any(scope: Scope, mask: Lanes) -> Value:
    """Whether some lane exists."""
    found = [intrinsics.any_lane(scope.b, part) for part in mask.parts]
    total = found[0]
    for other in found[1:]:
        total = scope.b.or_(total, other)
    return total


def _load_vector(
    frame: Frame, place: _Place, offset: Dim, mask: Lanes | None, part: int, back: int = 0
) -> Value:
    b = place.b
    address = _filled(frame, place, _vector_address(frame, place, offset, part, back), 1)
    if mask is None:
        return b.load(address, typ=place.vector, align=place.align)
    if mask.uniform:
        address = _safe(frame, place.scope, address, mask.scalar, place.lanes)
        return b.load(address, typ=place.vector, align=place.align)
    lanes = intrinsics.reversed_lanes(b, mask.parts[part]) if back else mask.parts[part]
    return intrinsics.masked_load(b, place.vector, address, place.align, lanes)


def _load_reversed(
    frame: Frame, place: _Place, offset: Dim, mask: Lanes | None, part: int
) -> Value:
    vector = _load_vector(frame, place, offset, mask, part, back=place.lanes - 1)
    return intrinsics.reversed_lanes(place.b, vector)


def _gather(frame: Frame, place: _Place, offset: Dim, mask: Lanes | None, part: int) -> Value:
    lanes = _mask_part(frame, mask, part)
    itemsize, shape = place.buffer.dtype.itemsize, place.buffer.shape
    if (
        has_windows(frame.unit.isa, itemsize, place.lanes)
        and row_major(shape) == place.buffer.strides
    ):
        return _window(frame, place, offset, lanes, part)
    addresses = _addresses(frame, place, offset, part)
    return intrinsics.gather(place.b, place.vector, addresses, place.align, lanes)


def _window(frame: Frame, place: _Place, offset: Dim, mask: Value, part: int) -> Value:
    """What is the same in all lanes is part of the address: loads of several rows at the same
    columns have the same offsets."""
    assert frame.tile is not None
    scope = place.scope
    terms = (Dim.of_terms({monomial: factor}) for monomial, factor in offset.terms)
    start = sum((term for term in terms if not scope.is_varying(term)), Dim.of(0))
    base = _row_start(frame, place, start)
    offsets = part_of(index_lanes(scope, offset - start, frame.tile), frame.tile, part)
    room = scalar_index(scope, product(place.buffer.shape) - start)
    return window_gather(place.b, frame.unit.isa, place.vector, base, offsets, mask, room)


def _load_every_other(
    frame: Frame, place: _Place, offset: Dim, mask: Lanes | None, part: int
) -> Value:
    """From the first element to the last, and none behind it: the second vector begins where the
    first ends. Under a mask, elements between lanes are not touched."""
    b, lanes = place.b, place.lanes
    address = _filled(frame, place, _vector_address(frame, place, offset, part), 2)
    if mask is not None and mask.uniform:
        address = _safe(frame, place.scope, address, mask.scalar, 2 * lanes)
    behind = intrinsics.element_address(b, address, place.element, number(lanes - 1))
    if mask is None or mask.uniform:
        halves = [b.load(each, typ=place.vector, align=place.align) for each in (address, behind)]
    else:
        masks = intrinsics.masks_of_every_other(b, mask.parts[part])
        places = zip((address, behind), masks, strict=True)
        halves = [
            intrinsics.masked_load(b, place.vector, each, place.align, own) for each, own in places
        ]
    return intrinsics.every_other_lane(b, *halves)


_Read = Callable[[Frame, _Place, Dim, Lanes | None, int], Value]
_READS: dict[int | None, _Read] = {
    1: _load_vector,
    -1: _load_reversed,
    2: _load_every_other,
}


# --- stores ---------------------------------------------------------------------------------------


def store(frame: Frame, buffer: Buffer, offset: Dim, value: Lanes, mask: Lanes | None) -> None:
    """Writes the elements at `offset`, those outside the mask excepted."""
    element = memory_type(buffer.dtype)
    if frame.tile is None:
        _store_scalar(frame, buffer, element, offset, value, mask)
        return
    place = _Place(buffer, element, frame.tile.lanes, frame.scope)
    varying = frame.scope.is_varying(offset)
    write = _store_vector if varying and _slope(frame, offset, frame.tile) == 1 else _scatter
    for part in range(frame.tile.parts):
        stored = to_memory(frame.b, buffer.dtype, part_of(value, frame.tile, part))
        write(frame, place, offset, stored, mask, part)


def _store_scalar(
    frame: Frame, buffer: Buffer, element: Type, offset: Dim, value: Lanes, mask: Lanes | None
) -> None:
    b = frame.b
    address = _address(frame, frame.scope, buffer, element, offset)
    if mask is not None:
        address = _safe(frame, frame.scope, address, mask.scalar, None)
    b.store(to_memory(b, buffer.dtype, value.scalar), address, align=buffer.dtype.itemsize)


def _store_vector(
    frame: Frame, place: _Place, offset: Dim, stored: Value, mask: Lanes | None, part: int
) -> None:
    b = place.b
    address = _vector_address(frame, place, offset, part)
    if mask is None and frame.streaming and place.can_stream:
        streaming.store(b, stored, address, place.bytes)
    elif mask is None:
        b.store(stored, address, align=place.align)
    else:
        lanes = _mask_part(frame, mask, part)
        intrinsics.masked_store(b, stored, address, place.align, lanes)


def _scatter(
    frame: Frame, place: _Place, offset: Dim, stored: Value, mask: Lanes | None, part: int
) -> None:
    addresses = _addresses(frame, place, offset, part)
    lanes = _mask_part(frame, mask, part)
    intrinsics.scatter(place.b, stored, addresses, place.align, lanes)


def are_aligned(frame: Frame, stores: Sequence[Store]) -> Value:
    """Whether all vectors that these statements store are aligned to their size."""
    assert frame.tile is not None
    test: Value = constant(I1, 1)
    for statement in stores:
        buffer, offset = statement.buffer, statement.buffer.offset(statement.index)
        place = _Place(buffer, memory_type(buffer.dtype), frame.tile.lanes, frame.scope)
        if place.can_stream and _slope(frame, offset, frame.tile) == 1:
            address = _vector_address(frame, place, offset, 0)
            test = frame.b.and_(test, streaming.is_aligned(frame.b, address, place.bytes))
    return test


# --- addresses ------------------------------------------------------------------------------------


def _slope(frame: Frame, offset: Dim, tile: Tile) -> int | None:
    """How far lanes are apart in memory, if that is a number and the same for all."""
    linear = linear_in(offset, tile.index)
    if linear is None or frame.scope.is_varying(linear[1]):
        return None
    return linear[0].constant


def _address(frame: Frame, scope: Scope, buffer: Buffer, element: Type, offset: Dim) -> Value:
    """Of one element; what is known further out is added there."""
    base = frame.unit.pointers[buffer.name]
    return intrinsics.element_address(scope.b, base, element, scalar_index(scope, offset))


def _vector_address(frame: Frame, place: _Place, offset: Dim, part: int, back: int = 0) -> Value:
    """Of a part's first lane, or with `back` of its last: the tile's first index is a symbol. What
    is known beside it comes last, where an instruction has room for it: neighbours share the rest.
    """
    assert frame.tile is not None
    scope, tile = place.scope, frame.tile
    linear = linear_in(offset, tile.index)
    assert linear is not None
    beside = linear[1].coefficient(())
    start = _row_start(frame, place, linear[1] - beside)
    first = scope.defining(tile.index).indices[tile.index]
    slope = linear[0].constant
    assert slope is not None
    index = first if slope == 1 else scope.b.mul(first, number(slope))
    address = intrinsics.element_address(scope.b, start, place.element, index)
    skipped = part * tile.lanes * slope - back + beside
    if not skipped:
        return address
    return intrinsics.element_address(scope.b, address, place.element, number(skipped))


def _row_start(frame: Frame, place: _Place, rest: Dim) -> Value:
    """The address at index 0 of the tile's loop, computed in front of it."""
    home = frame.scope.home(rest)
    key = ("row", place.buffer.name, rest)
    if key not in home.memo:
        home.memo[key] = _address(frame, home, place.buffer, place.element, rest)
    return home.memo[key]


def _addresses(frame: Frame, place: _Place, offset: Dim, part: int) -> Value:
    """Of every lane."""
    assert frame.tile is not None
    offsets = part_of(index_lanes(place.scope, offset, frame.tile), frame.tile, part)
    base = frame.unit.pointers[place.buffer.name]
    return intrinsics.element_address(place.b, base, place.element, offsets)


def _safe(frame: Frame, scope: Scope, address: Value, test: Value, lanes: int | None) -> Value:
    """The address if the test holds, else a spare one."""
    return scope.b.select(test, address, frame.unit.spare(lanes))


def _filled(frame: Frame, place: _Place, address: Value, vectors: int) -> Value:
    """The address if the place's test holds, else one of vectors of what it is filled with."""
    if place.fill is None:
        return address
    test, fill = place.fill
    memo, key = frame.scope.outermost.memo, ("filled", str(fill), place.lanes, vectors)
    if key not in memo:
        memo[key] = frame.unit.filled(fill, vectors * place.lanes)
    return place.b.select(test, address, memo[key])


def _mask_part(frame: Frame, mask: Lanes | None, part: int) -> Value:
    assert frame.tile is not None
    if mask is None:
        return constant(with_lanes(I1, frame.tile.lanes), 1)
    return part_of(mask, frame.tile, part)
