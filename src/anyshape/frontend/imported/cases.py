"""The cases that a model is captured for: predicates on sizes that hold together.

The program of a case has them among its facts (`Origin.MODEL`). A case in which the model itself
raises, or that cannot be captured, has no program: calls with such sizes are refused in its words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anyshape.base.location import Location
from anyshape.sym import Fact, Facts, Origin, Symbol


@dataclass(frozen=True, slots=True)
class RefusedCase:
    """Sizes for which there is no program, and why."""

    conditions: tuple[Fact, ...]
    problem: str  # `ValueError: too long`
    location: Location | None


def case_of(facts: Facts) -> tuple[Fact, ...]:
    """The facts that tell the case of a program from other cases."""
    return tuple(fact for fact in facts.facts if fact.origin is Origin.MODEL)


def is_in(case: Sequence[Fact], sizes: Mapping[Symbol, int]) -> bool:
    """Whether sizes are of a case."""
    return all(fact.holds(sizes) for fact in case)
