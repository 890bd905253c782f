"""A line of progress, for what takes longer than people wait without a word.

    anyshape: compiling GPT2Model: kernels 14/31

It appears on stderr after two seconds, tells the stage that compiling is in, and is erased when
that is over. Only a terminal shows it: nothing of it gets into a pipe, a file or a notebook, and
nothing where `Options(progress=False)` or `ANYSHAPE_PROGRESS=0` says so, or where the debug dial
shows more. A process shows one line at a time.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Timer
from types import TracebackType
from typing import Final, TextIO

from anyshape.base.fork_lock import fork_lock
from anyshape.base.options import Options

AFTER: Final = 2.0
"""Seconds without a word."""

BETWEEN: Final = 0.1
"""Seconds that a stage stays to be read: the next ones before that are not shown."""

ERASE: Final = "\r\x1b[2K"

_LOCK = fork_lock()
_on_terminal: list[ProgressLine] = []
"""The line that is shown, if one is; under the lock."""

Cancel = Callable[[], None]
Later = Callable[[float, Callable[[], None]], Cancel]
"""Calls a function after so many seconds, unless that is cancelled."""


def _later(seconds: float, call: Callable[[], None]) -> Cancel:
    timer = Timer(seconds, call)
    timer.daemon = True
    timer.start()
    return timer.cancel


class ProgressLine:
    """What is being compiled, and how far that is. Without a stream it shows nothing."""

    def __init__(
        self,
        name: str,
        stream: TextIO | None,
        clock: Callable[[], float] = time.monotonic,
        later: Later = _later,
    ) -> None:
        self._name = name
        self._stream = stream
        self._clock = clock
        self._later = later
        self._stage = ""
        self._next = 0.0  # when the line may change
        self._cancel: Cancel | None = None

    @staticmethod
    def of(name: str, options: Options) -> ProgressLine:
        """On stderr, if that is a terminal and nobody minds."""
        wanted = options.progress and not options.debug and _is_terminal(sys.stderr)
        return ProgressLine(name, sys.stderr if wanted else None)

    def __enter__(self) -> ProgressLine:
        if self._stream is not None:
            self._next = self._clock() + AFTER
            self._cancel = self._later(AFTER, self.show)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._cancel is not None:
            self._cancel()
        with _LOCK:
            self.erase()
            self._stream = None

    def say(self, stage: str) -> None:
        """The stage that compiling is in now."""
        self._stage = stage
        if self._stream is not None and self._clock() >= self._next:
            self.show()

    def kernels(self, done: int, total: int) -> None:
        self.say(f"kernels {done}/{total}")

    def show(self) -> None:
        """Writes the line, unless another one is there."""
        with _LOCK:
            if self._stream is None or _on_terminal not in ([], [self]):
                return
            _on_terminal[:] = [self]
            self._next = self._clock() + BETWEEN
            text = f"anyshape: compiling {self._name}: {self._stage}"
            self._write(ERASE + text[: _columns(self._stream) - 1])

    def erase(self) -> None:
        """Until the next stage: before something else is written."""
        with _LOCK:
            if self in _on_terminal:
                self._write(ERASE)
                _on_terminal.clear()

    def _write(self, text: str) -> None:
        assert self._stream is not None
        with suppress(OSError, ValueError):  # a terminal that is gone, or cannot write a name
            self._stream.write(text)
            self._stream.flush()


def _is_terminal(stream: TextIO | None) -> bool:
    """A program without a console has no stderr; one without a terminal's abilities is `dumb`."""
    if stream is None or os.environ.get("TERM") == "dumb":
        return False
    with suppress(OSError, ValueError, AttributeError):
        return stream.isatty()
    return False


def _columns(stream: TextIO) -> int:
    with suppress(OSError, ValueError, AttributeError):
        return os.get_terminal_size(stream.fileno()).columns or 80
    return 80
