"""Long sums of floats in levels: each adds up a few sums of the level below.

    level 0     the terms of a block of steps: what the loop itself updates
    level 1     the sums of blocks
    level 2, …  the sums of `FAN` sums of the level before

A running sum loses a little with each term. With levels the error grows with the logarithm of the
number of terms while they suffice, and no running sum of the lower levels is longer than `FAN`. A
loop that cannot have more than one block is written as it is, and one that turns out to have one
block pays for comparisons alone: level 0 then has all of it.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from anyshape.codegen.llvm.emit import accumulate
from anyshape.codegen.llvm.emit.frame import Frame, Slot
from anyshape.codegen.llvm.emit.index import scalar_index
from anyshape.codegen.llvm.emit.scope import Scope, repeat, when
from anyshape.codegen.llvm.emit.types import number
from anyshape.codegen.llvm.math.boundary import Value
from anyshape.loop import For, walk
from anyshape.sym import Dim, Predicate

BLOCK = FAN = 16
MOST_LEVELS = 4  # above level 0: 16**5 terms until a running sum is longer than `FAN`


@dataclass(frozen=True, slots=True)
class Cascade:
    """The levels of some accumulators; slots of level 0 are those that the loop updates.

    Slots of the other levels have one place for each of level 0, or one place for all of them.
    """

    steps: int  # iterations of the loop that are one step
    levels: tuple[tuple[Slot, ...], ...] = ()

    def clear(self, scope: Scope) -> None:
        for level in self.levels[1:]:
            for slot in level:
                accumulate.clear(scope, slot)

    @contextmanager
    def repeat(
        self, outer: Scope, start: Value, stop: Value, facts: Sequence[Predicate] = ()
    ) -> Generator[tuple[Scope, Value]]:
        """A loop from start in steps while below stop, in blocks if there are levels."""
        if not self.levels:
            with repeat(outer, start, stop, self.steps, facts) as inner:
                yield inner
            return
        with repeat(outer, start, stop, self.length) as (block, first):
            end, is_last = self._end(block, first, stop)
            with repeat(block, first, end, self.steps, facts) as inner:
                yield inner
            with when(block, block.b.not_(is_last)) as before_another:
                self._move_up(before_another, 0, before_another.b.sub(first, start))

    @property
    def length(self) -> int:
        """Of a block, in iterations of the loop."""
        return BLOCK * self.steps

    def _end(self, block: Scope, first: Value, stop: Value) -> tuple[Value, Value]:
        """Where a block ends, and whether it is the last one."""
        end = block.b.add(first, number(self.length))
        is_last = block.b.icmp_signed("<=", stop, end)
        return block.b.select(is_last, stop, end), is_last

    def _move_up(self, scope: Scope, level: int, done: Value) -> None:
        """Sums of a level become terms of the next; those of that, if there are enough of them.

        `done` counts the iterations before this block.
        """
        for slot, above in zip(*self.levels[level : level + 2], strict=True):
            accumulate.add(scope, above, slot)
            accumulate.clear(scope, slot)
        if level + 2 == len(self.levels):
            return
        last = self.length * (FAN ** (level + 1) - 1)  # of the blocks that are one term above
        is_last = scope.b.icmp_signed("==", scope.b.and_(done, number(last)), number(last))
        with when(scope, is_last) as inside:
            self._move_up(inside, level + 1, done)

    def collapse(self, scope: Scope, extent: Dim) -> None:
        """Adds the upper levels to level 0, if the loop was longer than a block."""
        if not self.levels:
            return
        is_long = scope.b.icmp_signed("<", number(self.length), scalar_index(scope, extent))
        with when(scope, is_long) as inside:
            for level in range(len(self.levels) - 1, 0, -1):
                for slot, above in zip(*self.levels[level - 1 : level + 1], strict=True):
                    accumulate.add(inside, _first_places(slot, len(above.places)), above)


def cascade_of(
    frame: Frame, loop: For, slots: Mapping[str, Slot], steps: int, *, joined: bool
) -> Cascade:
    """Levels for those of the loop's slots that add up floats, unless the loop is short.

    A prefix that the body reads is in one slot. `joined` levels have one place for all parts.
    """
    most = frame.scope.prover.bounds(loop.extent)[1]
    read = walk.read_locals(loop.body)
    long = [slot for name, slot in slots.items() if _is_float_sum(slot) and name not in read]
    if not long or (most is not None and most <= BLOCK * steps):
        return Cascade(steps)
    levels = [tuple(long)]
    for _ in range(_level_count(most, BLOCK * steps)):
        levels.append(tuple(_slot_above(frame, slot, joined) for slot in long))
    made = Cascade(steps, tuple(levels))
    made.clear(frame.scope)
    return made


def _first_places(slot: Slot, count: int) -> Slot:
    return replace(slot, places=slot.places[:count])


def _level_count(most: int | None, block: int) -> int:
    needed = (n for n in range(1, MOST_LEVELS) if most is not None and most <= block * FAN**n)
    return next(needed, MOST_LEVELS)


def _slot_above(frame: Frame, slot: Slot, joined: bool) -> Slot:
    kind, parts = accumulate.kind_of(slot), 1 if joined else len(slot.places)
    return replace(slot, places=tuple(frame.unit.reserve(kind) for _ in range(parts)))


def _is_float_sum(slot: Slot) -> bool:
    return slot.op == "add" and slot.dtype.is_float
