"""The three answers to a symbolic question."""

from __future__ import annotations

from enum import Enum


class Answer(Enum):
    """TRUE: holds for every binding that satisfies the facts. FALSE: for none. Or UNKNOWN."""

    TRUE = "true"
    FALSE = "false"
    UNKNOWN = "unknown"

    def __bool__(self) -> bool:
        raise TypeError(f"{self} has no truth value; compare: 'answer is Answer.TRUE'")

    @staticmethod
    def of(holds: bool) -> Answer:
        return Answer.TRUE if holds else Answer.FALSE
