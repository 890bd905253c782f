"""What all errors have in common."""

from __future__ import annotations

from anyshape.base.location import Location


class AnyshapeError(Exception):
    """Base of all errors."""

    def __str__(self) -> str:
        return "\n".join(map(shortened, self.message().split("\n")))

    def message(self) -> str:
        """The whole text; subclasses compose it from their fields."""
        return "anyshape error"


LONGEST_LINE = 2_000
"""Characters of one line of a message: a name or a number in it may come from anywhere."""


def shortened(line: str, longest: int = LONGEST_LINE) -> str:
    """The line, without its middle if it is too long to read."""
    if len(line) <= longest:
        return line
    half = (longest - 30) // 2
    return f"{line[:half]} … {len(line) - 2 * half:,} characters … {line[-half:]}"


def joined(*parts: str | None) -> str:
    """The lines of a message that there are."""
    return "\n".join(part for part in parts if part)


def at(location: Location | None) -> str:
    """A place, to stand behind what is there."""
    return f" ({location})" if location is not None else ""
