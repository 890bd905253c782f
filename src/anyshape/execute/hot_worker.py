"""The one thread of the process that compiles for hot bindings.

It has the lowest priority that the system knows, and is polite: a thread that runs Python keeps
others from it for 5 ms at a time, so this one pauses after each `TURN` of work, for long enough
that whoever waits gets the lock. LLVM runs without the lock anyway.

Jobs are done one after the other. Whoever ends the process stops the one that runs at its next
stage. A forked child has no such thread: the next job starts one there, which begins with what the
fork left undone.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter, sleep
from typing import Any, Final

from anyshape.base.fork_lock import fork_lock
from anyshape.observe.progress import ProgressLine

TURN: Final = 0.0002
"""Seconds of Python at a time."""

PAUSE: Final = 0.0001
"""Seconds between them: a shorter one ends before another thread has woken up."""

PATIENCE: Final = 10.0
"""Seconds that the end of the process waits for the stage in which the thread is."""

LOWEST_PRIORITY: Final = 19

Job = Callable[[ProgressLine], None]


class Stopped(BaseException):
    """Ends a job whose process ends; nothing that handles errors keeps it."""


class _Stage(ProgressLine):
    """Shows nothing; between two stages a job may be stopped."""

    def __init__(self, worker: HotWorker) -> None:
        super().__init__("hot", None)
        self._worker = worker

    def say(self, stage: str) -> None:
        if self._worker.stopped:
            raise Stopped(stage)


class HotWorker:
    """Jobs in the background. Safe to use from many threads; no method waits for a job."""

    def __init__(self) -> None:
        self._lock = fork_lock()
        self._jobs: deque[Job] = deque()  # the first is the one that is done
        self._thread: threading.Thread | None = None
        self.stopped = False

    def add(self, job: Job) -> None:
        """To be done when those before it are. A job handles its own errors."""
        with self._lock:
            self._jobs.append(job)
            if self.stopped or (self._thread is not None and self._thread.is_alive()):
                return
            self._thread = threading.Thread(target=self._work, name="anyshape-hot", daemon=True)
            with suppress(RuntimeError):  # no more threads: the next job tries again
                self._thread.start()

    @property
    def idle(self) -> bool:
        return not self._jobs

    def stop(self) -> None:
        """Ends what runs at its next stage, and begins nothing more."""
        self.stopped = True
        thread = self._thread
        if thread is not None and thread.is_alive():
            thread.join(PATIENCE)

    def _work(self) -> None:
        with suppress(OSError, AttributeError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWEST_PRIORITY)
        sys.setprofile(_polite())
        with suppress(Stopped):
            while (job := self._next()) is not None:
                job(_Stage(self))
                self._done()

    def _next(self) -> Job | None:
        """None ends the thread, which nobody may count on from then on."""
        with self._lock:
            if self._jobs and not self.stopped:
                return self._jobs[0]
            self._thread = None
            return None

    def _done(self) -> None:
        with self._lock:
            self._jobs.popleft()


def _polite() -> Callable[[Any, str, Any], None]:
    """Is called wherever a function begins and ends, and pauses now and then."""
    until = perf_counter() + TURN

    def pause(frame: Any, event: str, argument: Any) -> None:
        nonlocal until
        del frame, event, argument
        if perf_counter() > until:
            sleep(PAUSE)
            until = perf_counter() + TURN

    return pause


WORKER: Final = HotWorker()
atexit.register(WORKER.stop)
