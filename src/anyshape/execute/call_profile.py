"""Which bindings calls have had, how often, and how long they took: a sketch of bounded size.

    executable.profile_calls()      from now on; a call then takes about a microsecond more
    executable.profile()            what was seen: bindings, the most frequent first

At most `MOST` shapes of arrays are told apart. When there are more, a new one takes the place of
the rarest and its count as well (Space-Saving, Metwally et al. 2005): no count is too low, none is
too high by more than calls / MOST, and what is frequent is never lost. Shapes are turned into
bindings when somebody asks, not at a call.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, cast

from anyshape.base.errors import OptionError
from anyshape.base.fork_lock import fork_lock
from anyshape.execute.tensors import shape_of
from anyshape.sym import BindingPlan

MOST: Final = 256
Shapes = tuple[tuple[int, ...], ...]


class SeenBinding(NamedTuple):
    """A binding, how many calls had it, and the seconds of the quickest."""

    binding: Mapping[str, int]
    calls: int
    seconds: float


@dataclass(frozen=True, slots=True)
class CallProfile:
    """What calls have had, the most frequent first. It is kept as text between processes."""

    seen: tuple[SeenBinding, ...] = ()

    @property
    def calls(self) -> int:
        return sum(each.calls for each in self.seen)

    def sizes(self, axis: str) -> dict[int, int]:
        """How many calls had each size of an axis."""
        counts: dict[int, int] = {}
        for each in self.seen:
            if axis in each.binding:
                size = each.binding[axis]
                counts[size] = counts.get(size, 0) + each.calls
        return counts

    def merged(self, other: CallProfile) -> CallProfile:
        """Both together, as far as there is room."""
        found: dict[tuple[tuple[str, int], ...], SeenBinding] = {}
        for each in (*self.seen, *other.seen):
            key = tuple(sorted(each.binding.items()))
            known = found.get(key, SeenBinding(each.binding, 0, each.seconds))
            seconds = min(known.seconds, each.seconds)
            found[key] = SeenBinding(each.binding, known.calls + each.calls, seconds)
        return CallProfile(tuple(sorted(found.values(), key=lambda each: -each.calls)[:MOST]))

    def as_json(self) -> str:
        return json.dumps([[dict(each.binding), each.calls, each.seconds] for each in self.seen])

    @staticmethod
    def from_json(text: str) -> CallProfile:
        """What `as_json` gave; anything else is refused."""
        try:
            rows: object = json.loads(text)
        except ValueError:
            rows = None
        if not isinstance(rows, list) or not all(map(_is_row, cast(list[object], rows))):
            raise OptionError("profile", text, 'rows of [{"seq": 128}, calls, seconds]')
        return CallProfile(tuple(SeenBinding(*row) for row in cast(list[Any], rows)))


def _is_row(row: object) -> bool:
    if not isinstance(row, list) or len(cast(list[object], row)) != 3:
        return False
    binding, calls, seconds = cast(list[object], row)
    if not isinstance(binding, dict) or not isinstance(calls, int):
        return False
    sizes = cast(dict[object, object], binding).values()
    legal = all(isinstance(size, int) and size >= 0 for size in sizes)
    return legal and calls > 0 and isinstance(seconds, float) and seconds >= 0


class CallRecorder:
    """Counts calls. Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = fork_lock()
        self._seen: dict[Shapes, list[Any]] = {}  # calls, nanoseconds of the quickest

    def add(self, arrays: Iterable[Any], nanoseconds: int) -> None:
        shapes = tuple(map(shape_of, arrays))
        with self._lock:
            known = self._seen.get(shapes)
            if known is None:
                self._seen[shapes] = [self._room() + 1, nanoseconds]
            else:
                known[0] += 1
                known[1] = min(known[1], nanoseconds)

    def _room(self) -> int:
        """The calls that a new shape takes over from the one that goes; 0 while there is room."""
        if len(self._seen) < MOST:
            return 0
        rarest = min(self._seen, key=lambda shapes: self._seen[shapes][0])
        return self._seen.pop(rarest)[0]

    def profile(self, plan: BindingPlan) -> CallProfile:
        """In sizes of axes."""
        with self._lock:
            seen = [(shapes, *numbers) for shapes, numbers in self._seen.items()]
        found = (
            SeenBinding(_named(plan, shapes), calls, nanoseconds / 1e9)
            for shapes, calls, nanoseconds in seen
        )
        return CallProfile().merged(CallProfile(tuple(found)))


def _named(plan: BindingPlan, shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
    return {symbol.name: size for symbol, size in plan.solve(shapes).items()}
