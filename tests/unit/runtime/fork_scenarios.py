"""Forks while other threads compile or call: children do the same, and their parent goes on.

`scenarios.py` says how these are run.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable

import numpy as np
from numpy.testing import assert_allclose  # now: a child may find its import half done
from tests.unit.codegen import kernels
from tests.watchdog import HANGS_AFTER

import anyshape as ash
from anyshape.base.options import Options
from anyshape.codegen.llvm import workers
from anyshape.codegen.llvm.workers import compile_many

OPTIONS = Options(cache_dir=None)  # so that everything is compiled, every time
ROUNDS, FORKS = 5, 4  # the first round meets the emitter and LLVM while they are being loaded
X = np.random.default_rng(1).standard_normal((5, 8)).astype(np.float32)


def same(x: ash.f32["n", 8]):
    return ash.softmax(ash.tanh(x))


def other(x: ash.f32["n", "m"]):
    return ash.exp(x) * 2 + x


def check_same(jitted: Callable[..., np.ndarray]) -> None:
    scores = np.exp(np.tanh(X))
    assert_allclose(jitted(X), scores / scores.sum(1, keepdims=True), rtol=1e-4)


def repeat_in_thread(action: Callable[[], None]) -> None:
    """A daemon that does it over and over; if it fails, so does the process."""

    def body() -> None:
        try:
            while True:
                action()
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(3)

    threading.Thread(target=body, daemon=True).start()


def fork_during_compiles() -> None:
    """The functions are those that the parent was compiling at that moment, and another one."""
    current = [ash.jit(options=OPTIONS)(same)]

    def compile_anew() -> None:
        current[0] = ash.jit(options=OPTIONS)(same)
        check_same(current[0])

    repeat_in_thread(compile_anew)
    for number in range(ROUNDS):
        pause = 0.02 + 0.01 * number
        children = [child_after(pause, lambda: compile_both(current[0])) for _ in range(FORKS)]
        assert [os.waitpid(child, 0)[1] for child in children] == [0] * FORKS


def child_after(seconds: float, action: Callable[[], None]) -> int:
    time.sleep(seconds)
    child = os.fork()
    if child == 0:
        signal.alarm(HANGS_AFTER)  # a child that hangs is killed, and its parent sees that
        action()
        os._exit(0)
    return child


def compile_both(begun: Callable[..., np.ndarray]) -> None:
    assert_allclose(ash.jit(options=OPTIONS)(other)(X), np.exp(X) * 2 + X, rtol=1e-5)
    check_same(begun)


@ash.jit(options=OPTIONS)
def spectrum(x: ash.f32["lines", "n"]):
    return ash.fft.rfft(x)


def fork_during_transforms() -> None:
    """Tables of transforms belong to all threads of a process, some of which look for theirs."""
    lines = np.ones((64, 2048), np.float32)

    def transform() -> None:
        assert_allclose(spectrum(lines)[:, 0, 0], 2048, rtol=1e-5)

    transform()
    for _ in range(3):
        repeat_in_thread(transform)
    for _ in range(10 * ROUNDS):
        child = child_after(0.002, transform)
        assert os.waitpid(child, 0)[1] == 0


def compile_while_children_live() -> None:
    """Children inherit the pipes of worker processes; those end all the same."""
    workers.SOURCES_PER_WORKER = 1
    texts = kernels.many(4)
    expected = compile_many(texts, kernels.HOST, cpus=1)
    children: list[int] = []

    def fork_often() -> None:
        children.extend(child_after(0.02, time_out) for _ in range(40))

    forking = threading.Thread(target=fork_often)
    forking.start()
    while forking.is_alive():
        assert compile_many(texts, kernels.HOST, cpus=3) == expected
    for child in children:
        os.kill(child, signal.SIGKILL)
        assert os.waitpid(child, 0)[1] == signal.SIGKILL


def time_out() -> None:
    signal.pause()
