"""Specializations made in the background, while calls go on.

A daemon thread makes them one after the other. Between two of them it sleeps for as long as the
last one took, so callers, who need Python's lock for an instant, wait for one at most. The process
ends without it. A forked child has no such thread: whoever waits there makes the rest himself. A
thread that cannot start is no error either: all are made before the handle is returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from threading import Thread
from time import perf_counter, sleep

from anyshape.base.errors import DeadlineError
from anyshape.execute.specialization import Specialization

Specialize = Callable[[Mapping[str, int]], Specialization]

LONGEST_SLEEP = 0.01
"""Seconds, so that a stutter of the machine does not hold up the rest."""


class BackgroundSpecialization:
    """Bindings that are being specialized. Safe to use from many threads.

    work = executable.pre_specialize(bindings, background=True)
    work.progress  # (40, 100)
    work.wait()    # what pre_specialize(bindings) would have returned
    """

    def __init__(self, specialize: Specialize, bindings: Iterable[Mapping[str, int]]) -> None:
        self._specialize = specialize
        self._bindings = tuple(dict(binding) for binding in bindings)
        self._made: dict[int, Specialization | Exception] = {}  # by the number of the binding
        self._cancelled = False
        self._started = perf_counter()
        self._thread = Thread(target=self._work, name="pre-specialize", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:  # the system has no more threads
            self._work()

    @property
    def progress(self) -> tuple[int, int]:
        """How many bindings are over with, and how many there are."""
        return len(self._made), len(self._bindings)

    @property
    def done(self) -> bool:
        """Whether there is nothing more to come."""
        return self._cancelled or len(self._made) == len(self._bindings)

    @property
    def error(self) -> Exception | None:
        """What was wrong with the first binding that was refused; the others are made all the
        same. Its notes say which one it was."""
        return next((one for one in self._in_order() if isinstance(one, Exception)), None)

    def cancel(self) -> None:
        """Makes no more. What has been made stays in the cache, and `wait` returns it."""
        self._cancelled = True

    def wait(self, timeout: float | None = None) -> tuple[Specialization, ...]:
        """The specializations, when all are made. Raises `error` if there is one, and
        `DeadlineError` if they are not made within `timeout` seconds."""
        if self._thread.is_alive():
            self._thread.join(timeout)
        if self._thread.is_alive():
            raise DeadlineError(perf_counter() - self._started, timeout or 0.0)
        self._work()  # what a fork left behind
        if self.error is not None:
            raise self.error
        return tuple(one for one in self._in_order() if isinstance(one, Specialization))

    def _in_order(self) -> list[Specialization | Exception]:
        return [made for _, made in sorted(self._made.copy().items(), key=lambda item: item[0])]

    def _work(self) -> None:
        for number, binding in enumerate(self._bindings):
            if self._cancelled:
                return
            if number not in self._made:
                began = perf_counter()
                self._made[number] = self._one(number, binding)
                sleep(min(perf_counter() - began, LONGEST_SLEEP))

    def _one(self, number: int, binding: Mapping[str, int]) -> Specialization | Exception:
        try:
            return self._specialize(binding)
        except Exception as error:  # the thread has nobody to tell: it is kept for `wait`
            sizes = ", ".join(f"{axis}={size}" for axis, size in binding.items())
            error.add_note(f"binding {number}: {sizes}")
            return error
