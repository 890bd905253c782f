"""Loops: one iteration after the other, or a tile of them at once.

A vectorised loop over a range is written as up to three pieces:

    main        whole tiles: `parts` vectors at a time
    remainder   the whole vectors that are left
    tail        the last few iterations: one vector under a mask, or a scalar loop

A piece that the facts exclude is not written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from anyshape.codegen.llvm.emit import access, accumulate, plan
from anyshape.codegen.llvm.emit.cascade import Cascade, cascade_of
from anyshape.codegen.llvm.emit.frame import Frame, Slot
from anyshape.codegen.llvm.emit.index import scalar_index
from anyshape.codegen.llvm.emit.intrinsics import first_lanes
from anyshape.codegen.llvm.emit.lanes import Lanes, Tile, spread
from anyshape.codegen.llvm.emit.scope import Scope, repeat, when
from anyshape.codegen.llvm.emit.split import Segment, segments
from anyshape.codegen.llvm.emit.types import I64, lane_numbers, number
from anyshape.codegen.llvm.math.boundary import Value
from anyshape.loop import For, Statement, walk
from anyshape.sym import Answer, Dim, Divisible, Less, LessEqual, Predicate, Symbol

Write = Callable[[Frame, Sequence[Statement]], None]


def in_range(symbol: Symbol, extent: Dim) -> tuple[Predicate, ...]:
    index = Dim.of(symbol)
    return LessEqual(Dim.of(0), index), Less(index, extent)


def write_loop(frame: Frame, loop: For, write: Write) -> None:
    """The loop; afterwards its accumulators are locals of the frame."""
    if frame.tile is None and plan.is_vectorised(loop):
        _write_vectorised(frame, loop, write)
    else:
        _write_sequential(frame, loop, write)


def _write_sequential(frame: Frame, loop: For, write: Write) -> None:
    own = _own_slots(frame, loop)
    stop = scalar_index(frame.scope, loop.extent)
    runs = frame.b.icmp_signed("<", number(0), stop)
    facts = in_range(loop.index, loop.extent)
    cascade = cascade_of(frame, loop, own, 1, joined=False)
    with (
        when(frame.scope, runs, (Less(Dim.of(0), loop.extent),)) as before,
        cascade.repeat(before, number(0), stop, facts) as (body, index),
    ):
        body.indices[loop.index] = index
        inner = frame.inside(body, before, walk.stored_buffers(loop.body))
        write(replace(inner, slots={**frame.slots, **own}), loop.body)
    cascade.collapse(frame.scope, loop.extent)
    _publish(frame, own)


def _own_slots(frame: Frame, loop: For) -> dict[str, Slot]:
    """Cleared slots for the loop's accumulators."""
    slots = {
        state.local.name: frame.unit.slot(state.op, state.local.dtype, frame.tile)
        for state in loop.accumulators
    }
    for slot in slots.values():
        accumulate.clear(frame.scope, slot)
    return slots


def _publish(frame: Frame, slots: Mapping[str, Slot]) -> None:
    for name, slot in slots.items():
        frame.locals[name] = accumulate.result(frame.scope, slot)


# --- vectorised -----------------------------------------------------------------------------------


def _write_vectorised(frame: Frame, loop: For, write: Write) -> None:
    own = _own_slots(frame, loop)
    outer = {name: frame.slots[name] for name in walk.updated_locals(loop.body) - own.keys()}
    totals = {**outer, **own}
    tile = Tile(loop.index, plan.lanes_of_loop(loop, frame.unit.isa), plan.parts_of_loop(loop))
    partial = _partial_slots(frame, totals, tile)
    cascade = cascade_of(frame, loop, partial, tile.lanes * tile.parts, joined=True)
    ranges = segments(frame.scope, loop)
    for segment in ranges:
        is_whole = len(ranges) == 1
        pieces = _Pieces(frame, loop, write, tile, segment, is_whole, totals, partial, cascade)
        if segment.is_rare:
            pieces = replace(pieces, tile=replace(tile, parts=1), cascade=Cascade(tile.lanes))
        pieces.write_all()
    cascade.collapse(frame.scope, loop.extent)
    for name, total in totals.items():
        accumulate.merge(frame.scope, total, partial[name])
    _publish(frame, own)


def _partial_slots(frame: Frame, totals: Mapping[str, Slot], tile: Tile) -> dict[str, Slot]:
    slots = {name: frame.unit.slot(slot.op, slot.dtype, tile) for name, slot in totals.items()}
    for slot in slots.values():
        accumulate.clear(frame.scope, slot)
    return slots


@dataclass(frozen=True, slots=True)
class _Pieces:
    """The pieces of a vectorised loop over one segment of its range."""

    frame: Frame
    loop: For
    write: Write
    tile: Tile
    segment: Segment
    is_whole: bool  # the segment is the whole range, so that facts about the extent apply
    totals: Mapping[str, Slot]
    partial: Mapping[str, Slot]
    cascade: Cascade

    def write_all(self) -> None:
        """The segment, behind a test that it is not empty."""
        start, stop = self.segment.start, self.segment.stop
        runs = self.frame.b.icmp_signed("<", start, stop)
        facts = (Less(Dim.of(0), self.loop.extent),)
        with when(self.frame.scope, runs, facts) as scope:
            if self._may_have(self.tile.lanes * self.tile.parts):
                start = self._whole_tiles(scope, start, self.tile)
            if self.tile.parts > 1 and not self._is_multiple_of(self.tile.lanes * self.tile.parts):
                start = self._whole_tiles(scope, start, replace(self.tile, parts=1))
            if not self._is_multiple_of(self.tile.lanes):
                self._tail(scope, start)

    def _whole_tiles(self, scope: Scope, start: Value, tile: Tile) -> Value:
        """As many tiles as fit; returns the index after them."""
        step, b = tile.lanes * tile.parts, scope.b
        whole = b.and_(b.sub(self.segment.stop, start), number(-step))
        stop = b.add(start, whole)
        runs = b.icmp_signed("<", start, stop)
        with when(scope, runs) as before:
            streams = self._streams(before, start, tile)
            if streams is None:
                self._tiles(scope, before, (start, stop), tile)
            else:
                with when(before, streams) as past_caches:
                    self._tiles(scope, past_caches, (start, stop), tile, streaming=True)
                with when(before, before.b.not_(streams)) as ordinary:
                    self._tiles(scope, ordinary, (start, stop), tile)
        return stop

    def _tiles(
        self,
        loads: Scope,
        before: Scope,
        bounds: tuple[Value, Value],
        tile: Tile,
        *,
        streaming: bool = False,
    ) -> None:
        whole = tile is self.tile
        steps = self.cascade if whole else Cascade(tile.lanes * tile.parts)
        with steps.repeat(before, *bounds, self._facts) as (body, index):
            _define_lanes(body, tile, index)
            self._body(loads, body, tile, self.partial, None, streaming=streaming)

    def _streams(self, before: Scope, start: Value, tile: Tile) -> Value | None:
        """Whether results go past the caches; None is never."""
        flag, stores = self.frame.unit.streams, plan.stores_of_loop(self.loop)
        if flag is None or not stores or tile is not self.tile:
            return None
        _define_lanes(before, tile, start)
        frame = replace(self.frame, scope=before, tile=tile)
        return before.b.and_(flag, access.are_aligned(frame, stores))

    def _tail(self, scope: Scope, start: Value) -> None:
        stop = self.segment.stop
        with when(scope, scope.b.icmp_signed("<", start, stop), self._facts) as tail:
            if plan.can_mask(self.loop, self.frame.unit.isa):
                tile = replace(self.tile, parts=1)
                _define_lanes(tail, tile, start)
                present = first_lanes(tail.b, tile.lanes, tail.b.sub(stop, start))
                mask = Lanes((present,), False, tail)
                self._body(scope, tail, tile, self.partial, mask)
            else:
                with repeat(tail, start, stop, 1) as (body, index):
                    body.indices[self.loop.index] = index
                    self._body(scope, body, None, self.totals, None)

    def _body(
        self,
        loads: Scope,
        scope: Scope,
        tile: Tile | None,
        slots: Mapping[str, Slot],
        mask: Lanes | None,
        *,
        streaming: bool = False,
    ) -> None:
        inner = self.frame.inside(scope, loads, walk.stored_buffers(self.loop.body))
        known = {**self.frame.known, **self.segment.known}
        slots = {**self.frame.slots, **slots}
        frame = replace(inner, tile=tile, slots=slots, mask=mask, known=known, streaming=streaming)
        self.write(frame, self.loop.body)

    @property
    def _facts(self) -> tuple[Predicate, ...]:
        return in_range(self.loop.index, self.loop.extent)

    def _is_multiple_of(self, count: int) -> bool:
        prover = self.frame.scope.prover
        test = Divisible(self.loop.extent, Dim.of(count))
        return self.is_whole and prover.proves(test) is Answer.TRUE

    def _may_have(self, count: int) -> bool:
        """Whether the range can be that long."""
        most = self.frame.scope.prover.bounds(self.loop.extent)[1]
        return most is None or most >= count


def _define_lanes(scope: Scope, tile: Tile, first: Value) -> None:
    """Gives the loop's index its values: the first as a scalar, all of them as vectors."""

    def part_of(part: int) -> Value:
        lanes = lane_numbers(I64, tile.lanes, part * tile.lanes)
        return scope.b.add(spread(scope, first, tile.lanes), lanes)

    scope.indices[tile.index] = first
    scope.varying[tile.index] = part_of
