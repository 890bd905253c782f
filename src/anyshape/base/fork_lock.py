"""Locks that a fork never leaves locked.

Only the thread that forks lives on in the child. A lock that another thread held at that moment
would stay locked there for ever, and what it guards might be half changed. Two answers:

- What must be whole: whoever forks takes all locks of this kind first, and parent and child give
  them back. A `fork_lock` is held for moments and by nobody who waits for another, a `call_lock`
  for one call or import, which may take a `fork_lock`: hence forks take the call locks first.
- Work that may take long and changes nothing that others see before it is done: a fork does not
  wait for a `WorkLock`. In the child nobody does the work, and it may be begun again.

A thread may take a lock that it has: a handler of a signal, which runs anywhere, may fork.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from threading import RLock  # noqa: TID251  the one place that makes locks
from types import TracebackType
from weakref import WeakSet

PATIENCE_SECONDS = 10.0
"""A fork that waits for longer lets go of all that it has taken, and begins again: it may be in the
way of a thread that keeps to no rules, as a handler of a signal may make it."""


def fork_lock() -> RLock:
    """A new lock, taken by every fork."""
    lock = RLock()
    take_at_forks(lock)
    return lock


def take_at_forks(lock: RLock) -> None:
    """For a lock that somebody else made: every fork takes it."""
    with _registry:
        _fork_locks.add(lock)


def call_lock() -> RLock:
    """A new lock for what takes as long as a call. Forks wait for its end."""
    lock = RLock()
    with _registry:
        _call_locks.add(lock)
    return lock


class WorkLock:
    """Lets one thread at a time do some work; in a child it is free.

    `was_lost` is true where a fork left the work of another thread unfinished, or a fork before it.
    """

    __slots__ = ("__weakref__", "_lock", "was_lost")

    def __init__(self) -> None:
        self._lock = RLock()
        self.was_lost = False
        with _registry:
            _work_locks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._lock.release()

    def forget_lost_owner(self) -> None:
        """In a child: whoever holds it, other than this thread, does not exist here."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._lock = RLock()
            self.was_lost = True


# --- forks --------------------------------------------------------------------------------------

_registry = RLock()  # held during a fork, so that no lock is made that nobody takes
_call_locks: WeakSet[RLock] = WeakSet()
_fork_locks: WeakSet[RLock] = WeakSet()
_work_locks: WeakSet[WorkLock] = WeakSet()
_taken: list[RLock] = []  # by the thread that forks


def _take_all() -> None:
    while not _take_all_soon():
        pass


def _take_all_soon() -> bool:
    """Takes all locks; or none, if one is not to be had."""
    taken: list[RLock] = []
    for lock in _all_locks():
        if not lock.acquire(timeout=PATIENCE_SECONDS):
            _give(taken)
            return False
        taken.append(lock)
    _taken.extend(taken)
    return True


def _all_locks() -> Iterator[RLock]:
    """The registry first: the others are listed when it has been taken."""
    yield _registry
    yield from [*_call_locks, *_fork_locks]


def _give(locks: list[RLock]) -> None:
    while locks:
        locks.pop().release()


def _give_all() -> None:
    _give(_taken)


def _begin_child() -> None:
    for lock in list(_work_locks):
        lock.forget_lost_owner()
    _give_all()


LOADING = call_lock()
"""Held while modules are imported that are not imported from the start: a child would wait for ever
for one that another thread was importing."""

os.register_at_fork(before=_take_all, after_in_parent=_give_all, after_in_child=_begin_child)
