"""Signals that come into long calls: they end them, and their handlers may call and fork.

`scenarios.py` says how these are run.
"""

import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import default_rng

import anyshape as ash
from anyshape.base.errors import ForkedCallError


@ash.jit
def slow(x: ash.f32["n", 512], w: ash.f32[512, 512]):
    for _ in range(8):
        x = ash.tanh(x @ w)
    return x


def interrupted_early(executable: Any, x: Any, w: Any) -> bool:
    """Whether a call ends long before the one before it did, when it is interrupted."""
    start = time.monotonic()
    executable(x, w)
    whole = time.monotonic() - start
    timer = threading.Timer(whole / 10, os.kill, (os.getpid(), signal.SIGINT))
    start = time.monotonic()
    timer.start()
    try:
        executable(x, w)
        while True:  # the interrupt comes here at the latest, perhaps after the timer has ended
            time.sleep(0.001)
    except KeyboardInterrupt:
        return time.monotonic() - start < 0.7 * whole


def long_call(**options: Any) -> tuple[Any, tuple[Any, Any]]:
    rng = default_rng(0)
    w = rng.random((512, 512), np.float32) / 100
    return ash.compile(slow, **options), (rng.random((16384, 512), np.float32), w)


def with_handler(handler: Callable[[], None], call: Callable[[], Any]) -> Any:
    """The result of a call that a signal comes into."""
    signal.signal(signal.SIGUSR1, lambda *_: handler())
    timer = threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGUSR1))
    timer.start()
    try:
        return call()
    finally:
        timer.join()


def calls_in_handlers() -> None:
    """A handler that calls meets the team that its own thread has: it does not wait for it."""
    executable, arrays = long_call(wait_for_team=True)
    x, w = arrays[0][:1000], arrays[1]
    expected, few = executable(*arrays)[0], executable(x, w)[0]
    found: list[Any] = []
    result = with_handler(lambda: found.append(executable(x, w)[0]), lambda: executable(*arrays)[0])
    assert np.array_equal(result, expected)
    assert np.array_equal(found, [few])


TRIES = 50
"""A signal may come late on a busy machine, but not so many times in a row."""
TOO_LATE = 2


def forks_in_handlers() -> None:
    """The parent's call goes on; the child has no threads for its own, and says so."""
    executable, arrays = long_call()
    expected = executable(*arrays)[0]
    codes = (fork_in_a_handler(executable, arrays, expected) for _ in range(TRIES))
    assert next(code for code in codes if code != TOO_LATE) == 0


def fork_in_a_handler(executable: Any, arrays: tuple[Any, Any], expected: Any) -> int:
    """How the child ended."""
    children: list[int] = []

    def call() -> Any:
        try:
            return executable(*arrays)[0]
        except ForkedCallError:
            os._exit(0 if np.array_equal(executable(*arrays)[0], expected) else 1)

    result = with_handler(lambda: children.append(os.fork()), call)
    if children == [0]:
        os._exit(TOO_LATE)  # the call was complete: the handler ran after it
    assert np.array_equal(result, expected)
    return os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1])


def interrupt_of_a_long_call() -> None:
    """Ctrl-C during a call that takes long: it ends soon, and the next one is complete."""
    executable, (x, w) = long_call()
    expected = executable(x, w)[0]
    calls = (interrupted_early(executable, x, w) for _ in range(TRIES))
    assert any(calls), "no call ended soon"
    assert np.array_equal(executable(x, w)[0], expected)
