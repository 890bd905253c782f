"""Decisions: what was done or refused, where, and why. `explain` prints them."""

from __future__ import annotations

from dataclasses import dataclass, field

from anyshape.base.location import Location
from anyshape.ir.node import Node


@dataclass(frozen=True)
class Decision:
    """One rule (or pass) at one node. `why` is the law that was applied, or the objection."""

    rule: str
    taken: bool
    why: str
    node: Node
    location: Location | None = field(default=None, compare=False)

    def __str__(self) -> str:
        place = f" ({self.location})" if self.location else ""
        verb = "applied" if self.taken else "refused"
        return f"{self.rule} {verb} at {self.node}{place}: {self.why}"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why not: the one answer of whoever is asked for something and does not do it."""

    reason: str

    def __str__(self) -> str:
        return self.reason


class DecisionLog:
    """Decisions in the order they were first made; the same one is kept once."""

    def __init__(self) -> None:
        self._decisions: dict[Decision, None] = {}

    def record(self, decision: Decision) -> None:
        self._decisions.setdefault(decision)

    def take(self) -> tuple[Decision, ...]:
        """What was recorded since the last call."""
        taken = tuple(self._decisions)
        self._decisions = {}
        return taken
