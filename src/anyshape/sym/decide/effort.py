"""Effort: how much work one question may take, counted in steps.

A step is about one term of a dim that is looked at. Counting instead of measuring time makes
answers the same on every machine and at every load. What is remembered costs what it cost when it
was computed, so that answers do not depend on which questions came before.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from math import inf


class Exhausted(Exception):  # noqa: N818 - not an error: the answer is UNKNOWN
    """All steps are used up."""


class Effort:
    """Steps that are left, and those that were used."""

    __slots__ = ("left", "used")

    def __init__(self, steps: float = inf) -> None:
        self.left = steps
        self.used = 0

    def spend(self, steps: int) -> None:
        """Raises Exhausted when there are not as many left."""
        self.used += steps
        self.left -= steps
        if self.left < 0:
            raise Exhausted

    @contextmanager
    def part(self, steps: int) -> Generator[Effort]:
        """A part of it for one attempt, which may end with nothing when that is used up."""
        inner = Effort(steps)
        try:
            yield inner
        except Exhausted:
            if inner.left >= 0:  # not this attempt's own steps
                raise
        finally:
            self.used += inner.used
            self.left -= inner.used
