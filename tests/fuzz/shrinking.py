"""What makes failures small: the first candidate that fails in the same way, again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar


class Failed(Protocol):
    """Failures are alike if they are of one kind."""

    @property
    def kind(self) -> str: ...


F = TypeVar("F", bound=Failed)
P = TypeVar("P")


def made_small(
    failure: F,
    candidates: Callable[[F], Iterable[P]],
    fails: Callable[[P, str], F | None],
    attempts: int,
) -> F:
    """The smallest that so many attempts find. `fails` gives a candidate's failure of that kind."""
    best, left = failure, attempts
    while left > 0:
        for candidate in candidates(best):
            left -= 1
            found = fails(candidate, best.kind)
            if found is not None:
                best = found
                break
            if left <= 0:
                return best
        else:
            return best
    return best
