"""Where in the user's program something came from.

Locations are kept in side tables, never inside IR values: two nodes written on different lines
but meaning the same thing are the same node.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from types import FrameType

_PACKAGE = __name__.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Location:
    """A line of a file, or a named place in a model (`file` is then the model's name)."""

    file: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


def _shown(file: str) -> str:
    """Paths below the working directory without it: shorter, and the same on every machine."""
    return file.removeprefix(os.getcwd() + os.sep)


def caller_location() -> Location | None:
    """The nearest frame that is not anyshape's own code."""
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module != _PACKAGE and not module.startswith(_PACKAGE + "."):
            return Location(_shown(frame.f_code.co_filename), frame.f_lineno)
        frame = frame.f_back
    return None
