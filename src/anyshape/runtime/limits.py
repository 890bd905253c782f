"""What may end a run before it is complete: a deadline, and a cancellation by another thread.

A run looks at them between steps and between the parts of long steps, so it ends within about a
millisecond, or one task where that takes longer. Its memory goes back where it came from, and the
next run is as good as any.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from time import monotonic_ns
from typing import Final, Literal

from anyshape.base.errors import CancelledError, DeadlineError, OptionError
from anyshape.base.options import byte_count
from anyshape.runtime import _native

ANY_MEMORY: Final = 1 << 62
"""Bytes: as a limit, none."""

_NANOSECONDS: Final = 1e9
_LONGEST: Final = 1e9
"""Seconds, about thirty years: more fits into no clock."""


class Cancellation:
    """A way to end calls from another thread.

    stop = Cancellation()
    Thread(target=lambda: executable.run((x,), cancellation=stop)).start()
    stop.cancel()  # the call raises CancelledError

    Any number of calls may share one. What was cancelled stays cancelled.
    """

    __slots__ = ("native",)

    def __init__(self) -> None:
        self.native: Final = _native.Cancellation()

    def cancel(self) -> None:
        """End all calls that have this cancellation, those running and those to come."""
        self.native.cancel()

    @property
    def cancelled(self) -> bool:
        return self.native.cancelled


def _is_duration(seconds: object) -> bool:
    """A number that is not negative; NaN is none."""
    return not isinstance(seconds, bool) and isinstance(seconds, Real) and float(seconds) >= 0


@dataclass(frozen=True, slots=True)
class RunLimits:
    """What may end one call. `deadline` is in seconds from `started_ns`, on the monotonic clock."""

    started_ns: int
    deadline: float | None = None
    cancellation: Cancellation | None = None
    memory_limit: int | None = None  # None: that of the program

    @staticmethod
    def from_now(
        deadline: float | None,
        cancellation: Cancellation | None,
        memory_limit: int | str | None = None,
    ) -> RunLimits:
        if deadline is not None and not _is_duration(deadline):
            raise OptionError("deadline", str(deadline), "a number of seconds, at least 0")
        limit = None if memory_limit is None else byte_count("memory_limit", memory_limit)
        if cancellation is not None and not isinstance(cancellation, Cancellation):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise OptionError("cancellation", str(cancellation), "an ash.Cancellation")
        return RunLimits(monotonic_ns(), deadline, cancellation, limit)

    @property
    def deadline_ns(self) -> int | None:
        """When time is over, on the monotonic clock."""
        if self.deadline is None:
            return None
        return self.started_ns + int(min(self.deadline, _LONGEST) * _NANOSECONDS)

    @property
    def native_cancellation(self) -> _native.Cancellation | None:
        return self.cancellation.native if self.cancellation else None

    def check(self) -> None:
        """Between two parts of a call: raises if it is to end."""
        if self.cancellation is not None and self.cancellation.cancelled:
            raise self.error("cancelled")
        deadline_ns = self.deadline_ns
        if deadline_ns is not None and monotonic_ns() >= deadline_ns:
            raise self.error("deadline")

    def error(self, reason: Literal["cancelled", "deadline"]) -> CancelledError | DeadlineError:
        """What the caller is told."""
        elapsed = (monotonic_ns() - self.started_ns) / _NANOSECONDS
        if reason == "cancelled":
            return CancelledError(elapsed)
        return DeadlineError(elapsed, self.deadline or 0.0)


UNLIMITED: Final = RunLimits(0)
