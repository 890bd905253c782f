"""What all errors have in common."""

from __future__ import annotations

from anyshape.base.location import Location


class AnyshapeError(Exception):
    """Base of all errors."""

    def __str__(self) -> str:
        return self.message()

    def message(self) -> str:
        """The whole text; subclasses compose it from their fields."""
        return "anyshape error"


def joined(*parts: str | None) -> str:
    """The lines of a message that there are."""
    return "\n".join(part for part in parts if part)


def at(location: Location | None) -> str:
    """A place, to stand behind what is there."""
    return f" ({location})" if location is not None else ""
