"""What Python functions raise that native code calls: kept, until whoever called that code asks.

A native frame cannot pass an exception on. The first one of a call is kept for the thread, which
has all of a call to itself; functions that are called after it do nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import local
from typing import Any, Final

FAILED: Final = 0
"""What a function answers that raised. Nobody reads it: the exception is raised first."""


class _Kept(local):
    error: BaseException | None = None


_KEPT: Final = _Kept()


def keeping(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, in such a way that native code may call it."""

    def call(*args: Any) -> Any:
        if _KEPT.error is not None:
            return FAILED
        try:
            return function(*args)
        except BaseException as error:  # also an interrupt, which Python raises wherever it is
            _KEPT.error = error
            return FAILED

    return call


@contextmanager
def raising() -> Generator[None]:
    """Around a native call: raises what was kept in it, in place of what the call makes of that."""
    _KEPT.error = None
    try:
        yield
    finally:
        error, _KEPT.error = _KEPT.error, None
        if error is not None:
            raise error
