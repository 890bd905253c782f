"""`Hot`: which bindings get kernels with their sizes as constants, and how much they may hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from anyshape.base.errors import OptionError
from anyshape.base.options import byte_count, check_count

DEFAULT_BYTES: Final = 256 << 20


@dataclass(frozen=True, slots=True)
class Hot:
    """Level 3, as an option of `compile`: a binding that `after` calls have had is compiled again,
    in the background, with its sizes as constants. At most `count` bindings have such code, and it
    holds at most `bytes` beside the weights that all share: code, numbers, arenas. The least
    recently used one goes first."""

    after: int = 200
    count: int = 8
    bytes: int | str = DEFAULT_BYTES

    def __post_init__(self) -> None:
        for name in ("after", "count"):
            value = getattr(self, name)
            check_count(f"hot.{name}", value, "a number of at least 1")
            if value < 1:
                raise OptionError(f"hot.{name}", str(value), "a number of at least 1")
        object.__setattr__(self, "bytes", byte_count("hot.bytes", self.bytes))


def hot_option(value: object) -> Hot | None:
    """What `hot=` says: None and False are none, True the defaults."""
    if value is None or isinstance(value, Hot):
        return value
    if isinstance(value, bool):
        return Hot() if value else None
    raise OptionError("hot", repr(value), "True, False or an ash.Hot")
