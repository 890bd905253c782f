"""Who stated what is known of sizes."""

from __future__ import annotations

from enum import Enum


class Origin(Enum):
    """Who stated a fact, or which sizes are likely."""

    USER = "user"  # in an annotation, in `axes=` or `where=`, or in text without provenance
    OP = "op"  # what an op requires of its sizes: checked by each call
    FRONTEND = "frontend"  # what a captured program holds for: its code's conditions, its sizes
    MODEL = "model"  # the case that a model's code was captured for: other sizes are another case
    OBSERVED = "observed"  # sizes that calls have had: likely ones, and nothing rests on them

    @property
    def is_required(self) -> bool:
        """Whether it is about what the graph does, and goes with it; else somebody promised it."""
        return self in (Origin.OP, Origin.FRONTEND)
