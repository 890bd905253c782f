"""Locks that a fork never leaves locked.

Only the thread that forks lives on in the child. A lock that another thread held at that moment
would stay locked there for ever, and what it guards might be half changed. Whoever forks therefore
takes all locks made here first, and parent and child give them back.

Such a lock is held for moments, never two at a time, and never while waiting for anything.
"""

from __future__ import annotations

import os
from threading import Lock
from weakref import WeakSet

_registry = Lock()  # held during a fork, so that no lock is made that nobody takes
_locks: WeakSet[Lock] = WeakSet()
_taken: list[Lock] = []


def fork_lock() -> Lock:
    """A new lock, taken by every fork."""
    lock = Lock()
    with _registry:
        _locks.add(lock)
    return lock


def _take_all() -> None:
    _registry.acquire()
    _taken.extend(_locks)
    for lock in _taken:
        lock.acquire()


def _give_all() -> None:
    for lock in _taken:
        lock.release()
    _taken.clear()
    _registry.release()


os.register_at_fork(before=_take_all, after_in_parent=_give_all, after_in_child=_give_all)
