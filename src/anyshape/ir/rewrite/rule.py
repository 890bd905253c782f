"""Rules: rewrite laws as data.

A rule holds a pattern, what stands in its place, and the conditions under which the law is true,
all of them named module-level functions, so that a rule can be printed, compared and tested by
itself. Where it was written is recorded, so that a decision can be traced to its line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType

from anyshape.base.location import Location
from anyshape.ir.build import Builder
from anyshape.ir.node import Value
from anyshape.ir.rewrite.match import Match, Refusal, match
from anyshape.ir.rewrite.pattern import Bound, Const, OpPattern, Pattern, Var
from anyshape.ir.rewrite.template import instantiate

Condition = Callable[[Match], Refusal | None]
"""None where the law holds, else why it does not."""

Transform = Callable[[Match, Builder], Value | Refusal]
"""Builds the replacement, where a template cannot say it."""


def _written_at() -> Location:
    """The line that makes the rule: the nearest frame outside this file and generated code."""
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame.f_code.co_filename in (__file__, "<string>"):
        frame = frame.f_back
    assert frame is not None
    return Location(frame.f_code.co_filename, frame.f_lineno)


@dataclass(frozen=True)
class Rule:
    """One law. `law` states it in words; the replacement has provably the type of the root."""

    name: str
    law: str
    pattern: OpPattern
    replacement: Pattern | Transform
    conditions: tuple[Condition, ...] = ()
    location: Location = field(default_factory=_written_at, compare=False)

    def match(self, value: Value, builder: Builder) -> Match | Refusal:
        """Where the pattern is found; conditions are not asked."""
        return match(self.pattern, value, builder.scope, builder.weights)

    def apply(self, found: Match, builder: Builder) -> Value | Refusal:
        """The value that stands in place of a match, or the first objection."""
        for condition in self.conditions:
            refusal = condition(found)
            if refusal is not None:
                return refusal
        if isinstance(self.replacement, Var | Const | OpPattern | Bound):
            return instantiate(self.replacement, found, builder)
        return self.replacement(found, builder)

    def __str__(self) -> str:
        return f"{self.name}: {self.law} ({self.location})"
