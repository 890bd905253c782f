"""Specializations in the background: what the handle tells, errors, calls meanwhile, fork, exit."""

import subprocess
import sys
import threading
import time
from collections.abc import Mapping

import numpy as np
import pytest
from tests.forks import in_child
from tests.watchdog import HANGS_AFTER, PROCESS_HANGS_AFTER

import anyshape as ash
from anyshape.base.errors import AxisRangeError, BindingNamesError, CapabilityError, DeadlineError
from anyshape.execute.background import BackgroundSpecialization
from anyshape.execute.specialization import Specialization


@ash.jit(axes=[ash.Axis("n", max=10_000)])
def model(x: ash.f32["n", 8]):
    return ash.softmax(ash.tanh(x @ np.ones((8, 8), np.float32)))


BINDINGS = [{"n": size} for size in range(300)]


def test_all_are_made_and_calls_find_them():
    executable = ash.compile(model)
    work = executable.pre_specialize(iter(BINDINGS), background=True)
    assert [made.binding for made in work.wait(HANGS_AFTER)] == BINDINGS
    assert work.done
    assert work.progress == (300, 300)
    assert work.error is None
    misses = executable.metrics().misses
    executable(np.ones((299, 8), np.float32))
    assert misses == executable.metrics().misses == 300


def test_the_plain_form_returns_them_at_once():
    made = ash.compile(model).pre_specialize(BINDINGS[:3])
    assert [one.binding for one in made] == BINDINGS[:3]


def test_nothing_to_do():
    assert ash.compile(model).pre_specialize([], background=True).wait(HANGS_AFTER) == ()


def test_bad_bindings_are_told_and_the_others_made():
    executable = ash.compile(model)
    work = executable.pre_specialize([{"n": 1}, {"m": 2}, {"n": 20_000}, {"n": 4}], background=True)
    with pytest.raises(BindingNamesError) as caught:
        work.wait(HANGS_AFTER)
    assert caught.value.unknown == ("m",)
    assert caught.value.__notes__ == ["binding 1: m=2"]
    assert work.error is caught.value
    assert work.progress == (4, 4)
    assert executable.metrics().entries == 2
    with pytest.raises(AxisRangeError):
        executable.pre_specialize([{"n": 20_000}], background=True).wait(HANGS_AFTER)


def test_an_executor_without_specializations_says_so():
    executable = ash.compile(model, executor="reference")
    with pytest.raises(CapabilityError, match="has no specializations"):
        executable.pre_specialize([{"n": 1}], background=True).wait(HANGS_AFTER)


class Gate:
    """A way to specialize that waits to be let through."""

    def __init__(self) -> None:
        self.executable = ash.compile(model)
        self.passes = threading.Semaphore(0)
        self.begun = 0

    def __call__(self, binding: Mapping[str, int]) -> Specialization:
        self.begun += 1
        self.passes.acquire()
        return self.executable.specialize(**binding)


def until(condition) -> None:
    end = time.monotonic() + HANGS_AFTER
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def test_progress_and_cancelling():
    gate = Gate()
    work = BackgroundSpecialization(gate, BINDINGS)
    assert (work.progress, work.done) == ((0, 300), False)
    with pytest.raises(DeadlineError) as caught:
        work.wait(0.01)
    assert caught.value.limit == 0.01
    gate.passes.release(2)
    until(lambda: gate.begun == 3)
    assert work.progress == (2, 300)
    work.cancel()
    assert work.done
    gate.passes.release()
    assert [made.binding for made in work.wait(HANGS_AFTER)] == BINDINGS[:3]
    assert work.wait() == work.wait()


def test_calls_do_not_starve_meanwhile():
    """A caller waits for Python's lock no longer than one specialization takes."""
    executable = ash.compile(model)
    x = np.ones((4, 8), np.float32)
    executable(x)
    work = executable.pre_specialize(({"n": size} for size in range(10_000)), background=True)
    times: list[float] = []
    while not work.done and len(times) < 2000:
        start = time.perf_counter()
        executable(x)
        times.append(time.perf_counter() - start)
    work.cancel()
    assert len(times) == 2000  # far more calls than the background could make wait
    assert np.median(times) < 0.001


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # fork and threads: the point
def test_whoever_waits_in_a_child_makes_the_rest():
    gate = Gate()
    work = BackgroundSpecialization(gate, BINDINGS[:5])
    gate.passes.release(2)
    until(lambda: work.progress == (2, 5))

    def makes_the_rest() -> bool:
        gate.passes = threading.Semaphore(5)
        assert not work.done
        return [made.binding for made in work.wait()] == BINDINGS[:5]

    assert in_child(makes_the_rest)
    gate.passes.release(3)
    assert len(work.wait(HANGS_AFTER)) == 5


def test_a_thread_that_cannot_start(monkeypatch: pytest.MonkeyPatch):
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    work = ash.compile(model).pre_specialize(BINDINGS[:3], background=True)
    assert work.progress == (3, 3)
    assert [made.binding for made in work.wait()] == BINDINGS[:3]


LEAVE = """
import time
import numpy as np
import anyshape as ash

@ash.jit
def model(x: ash.f32["n", 8]):
    return ash.softmax(x @ np.ones((8, 8), np.float32))

executable = ash.compile(model)
work = executable.pre_specialize(({"n": n} for n in range(10**6)), background=True)
while work.progress[0] < 100:
    time.sleep(0.001)
"""


def test_the_process_ends_without_waiting():
    done = subprocess.run(
        [sys.executable, "-c", LEAVE],
        capture_output=True,
        text=True,
        timeout=PROCESS_HANGS_AFTER,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
