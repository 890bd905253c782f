"""Locks and forks: a child finds them free, and what they guard complete."""

import gc
import os
import threading
import time

import pytest

from anyshape.base import fork_lock as module
from anyshape.base.fork_lock import fork_lock


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # fork and threads: the point
def test_a_fork_waits_for_whoever_holds_one():
    lock, held = fork_lock(), threading.Event()
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
    child = os.fork()
    if child == 0:
        os._exit(0 if lock.acquire(timeout=5) and guarded == [1, 1] else 1)
    assert os.waitpid(child, 0)[1] == 0
    thread.join()
    with lock:
        assert guarded == [1, 1]


def test_a_lock_that_nobody_uses_is_forgotten():
    gc.collect()
    before = len(module._locks)
    lock = fork_lock()
    assert len(module._locks) == before + 1
    del lock
    assert len(module._locks) == before
