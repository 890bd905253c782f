"""Locks and forks: a child finds them free, and what they guard complete."""

import gc
import threading
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager

import pytest
from tests.forks import in_child
from tests.watchdog import HANGS_AFTER

from anyshape.base import fork_lock as module
from anyshape.base.fork_lock import WorkLock, call_lock, fork_lock

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # fork and threads: the point

HELD = HANGS_AFTER / 4
"""Seconds after which a lock is held for ever."""


@contextmanager
def thread_inside(lock: AbstractContextManager[object]) -> Generator[None]:
    """Within, another thread holds the lock, and does not give it back before the end."""
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            over.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize("make", [fork_lock, call_lock])
def test_a_fork_waits_for_whoever_holds_one(make: Callable[[], threading.RLock]):
    lock, held = make(), threading.Event()
    guarded = [0, 0]

    def hold() -> None:
        with lock:
            guarded[0] = 1
            held.set()
            time.sleep(0.2)
            guarded[1] = 1

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    assert in_child(lambda: lock.acquire(timeout=HELD) and guarded == [1, 1])
    thread.join()
    with lock:
        assert guarded == [1, 1]


def test_a_call_may_take_the_others(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "PATIENCE_SECONDS", HANGS_AFTER)
    call, moment, over = call_lock(), fork_lock(), threading.Event()

    def make_calls() -> None:
        while not over.is_set():
            with call:
                time.sleep(0.001)
                with moment:
                    pass

    thread = threading.Thread(target=make_calls, daemon=True)
    thread.start()
    started = time.monotonic()
    for _ in range(10):
        assert in_child(lambda: call.acquire(timeout=HELD) and moment.acquire(timeout=HELD))
    over.set()
    thread.join()
    assert time.monotonic() - started < HANGS_AFTER


def test_a_fork_gets_out_of_the_way(monkeypatch: pytest.MonkeyPatch):
    """Of a thread that holds one lock and wants the next, against the rules."""
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 0.1)
    locks = [fork_lock(), fork_lock()]

    def hold(first: int) -> None:
        with locks[first]:
            held.set()
            time.sleep(0.05)
            with locks[1 - first]:
                pass

    for first in (0, 1):  # one of the two is the order in which a fork takes them
        held = threading.Event()
        thread = threading.Thread(target=hold, args=(first,))
        thread.start()
        held.wait()
        assert in_child(lambda: all(lock.acquire(timeout=HELD) for lock in locks))
        thread.join()


@pytest.mark.parametrize("make", [fork_lock, call_lock, WorkLock])
def test_whoever_holds_one_may_fork(make: Callable[[], AbstractContextManager[object]]):
    """As in a handler of a signal that came at that moment."""
    lock = make()

    def finish() -> bool:
        lock.__exit__(None, None, None)
        with lock:
            return True

    with lock:
        assert in_child(finish)


def test_a_fork_does_not_wait_for_work():
    lock = WorkLock()

    def is_free_and_tells() -> bool:
        with lock:
            return lock.was_lost

    with thread_inside(lock):
        assert in_child(is_free_and_tells)
        assert not lock.was_lost  # here it goes on


def test_work_that_nobody_does_is_not_lost():
    lock = WorkLock()
    assert in_child(lambda: not lock.was_lost)
    with lock:
        assert in_child(lambda: not lock.was_lost)  # it is our own, and goes on in the child


def test_one_thread_works_at_a_time():
    lock, found = WorkLock(), list[str]()

    def work() -> None:
        with lock:
            found.append("second")

    thread = threading.Thread(target=work)
    with lock:
        thread.start()
        thread.join(0.1)
        found.append("first")
    thread.join()
    assert found == ["first", "second"]


def test_a_lock_that_nobody_uses_is_forgotten():
    gc.collect()
    before = len(module._fork_locks)
    lock = fork_lock()
    assert len(module._fork_locks) == before + 1
    del lock
    assert len(module._fork_locks) == before
