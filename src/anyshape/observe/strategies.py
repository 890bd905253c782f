"""How each axis of an executable varies, what else could be done, and what that would cost.

This is the report; `execute/strategies.py` finds what stands in it. Times are expected ones of a
call, by level 2's own costs, brought to the measured ones where calls were profiled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from anyshape.observe.table import amount, byte_text, time_text

Technique = Literal["exact", "buckets", "static", "ragged", "late"]


@dataclass(frozen=True, slots=True)
class Alternative:
    """A technique for an axis: seconds of a call and bytes that it needs, None if unknown."""

    technique: Technique
    why: str  # what it does here, or what forbids it
    seconds: float | None = None
    memory: int | None = None
    possible: bool = True

    def __str__(self) -> str:
        if not self.possible:
            return f"{self.technique}: not here: {self.why}"
        return f"{self.technique}: {_numbers(self.seconds, self.memory)}{self.why}"


@dataclass(frozen=True, slots=True)
class AxisStrategy:
    """One axis: what is done, why, what else there is, and what would change the choice."""

    axis: str
    used: Alternative
    reasons: tuple[str, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    changes: tuple[str, ...] = ()

    @property
    def technique(self) -> Technique:
        return self.used.technique

    @property
    def best(self) -> Technique:
        """The quickest that is possible; the one in use where the difference is within 5 %."""
        timed = [a for a in self.alternatives if a.possible and a.seconds is not None]
        quickest = min(timed, key=lambda each: each.seconds or 0.0, default=self.used)
        if self.used.seconds is None or quickest.seconds is None:
            return self.technique
        return quickest.technique if quickest.seconds < 0.95 * self.used.seconds else self.technique

    def lines(self) -> list[str]:
        return [
            f"{self.axis}: {self.used}",
            *(f"  because {reason}" for reason in self.reasons),
            *(f"  or {each}" for each in self.alternatives),
            *(f"  it would change if {change}" for change in self.changes),
        ]


@dataclass(frozen=True, slots=True)
class Strategies:
    """Of all axes of an executable. `str()` is the text for people."""

    graph: str
    axes: tuple[AxisStrategy, ...]
    calls: int  # that the sizes are from; 0 if sizes are assumed
    level_2: float | None  # seconds that a new binding takes
    hot: tuple[str, ...] = ()  # bindings that have code of their own, or could not get it

    def __getitem__(self, axis: str) -> AxisStrategy:
        return next(each for each in self.axes if each.axis == axis)

    def __str__(self) -> str:
        sizes = f"of {amount(self.calls, 'call')}" if self.calls else "assumed, none was profiled"
        nanoseconds = None if self.level_2 is None else 1e9 * self.level_2
        head = f"sizes {sizes}; a new binding takes {time_text(nanoseconds)}"
        axes = (line for axis in self.axes for line in axis.lines())
        return "\n".join([head, *axes, *(f"hot: {line}" for line in self.hot)])


def _numbers(seconds: float | None, memory: int | None) -> str:
    time = "" if seconds is None else f"{time_text(1e9 * seconds)} a call, "
    return time + ("" if memory is None else f"{byte_text(memory)}, ")
