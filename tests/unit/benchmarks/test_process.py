"""An engine's process computes when it is asked, and is stopped at all other times."""

import os
import sys
import time
import venv
from pathlib import Path

import numpy as np
import pytest
from benchmarks.harness.process import EngineError, EngineProcess, in_fresh_process, time_calls
from benchmarks.workloads import Add, Encoder

BINDING = {"rows": 2, "columns": 3}


def state(pid: int) -> str:
    """The letter of Linux: R runs, S sleeps, T is stopped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.fixture(scope="module")
def numpy_process():
    process = EngineProcess("numpy", 1)
    yield process
    process.close()


def test_results(numpy_process):
    (found,) = numpy_process.outputs(Add(), BINDING)
    a, b = Add().inputs(BINDING)
    assert np.array_equal(found, a + b)


def test_stopped_between_turns(numpy_process):
    timing = numpy_process.time(Add(), BINDING, 0.2)
    assert 0 < timing.best <= timing.median < 0.2
    assert timing.calls > 1
    assert state(numpy_process.pid) == "T"


def test_failures_come_back_as_errors(numpy_process):
    with pytest.raises(EngineError, match=r"TypeError: Encoder.* is not written for NumPy"):
        numpy_process.outputs(Encoder(1, 8, 2), {"batch": 1, "seq": 1})


def test_a_dead_process_is_an_error():
    process = EngineProcess("numpy", 1)
    process.close()
    with pytest.raises(EngineError, match="the process ended"):
        process.time(Add(), BINDING, 0.01)


def test_cpus_follow_threads():
    before = os.sched_getaffinity(0)
    assert in_fresh_process(os.sched_getaffinity, 0, threads=1) == {max(before)}
    assert os.sched_getaffinity(0) == before


def which_python() -> str:
    return sys.executable


def test_a_function_may_run_in_another_environment(tmp_path: Path):
    venv.create(tmp_path / "other", symlinks=True)
    other = str(tmp_path / "other/bin/python")
    assert in_fresh_process(which_python, python=other) == other
    assert in_fresh_process(which_python) == sys.executable


def test_a_call_longer_than_its_slice_is_timed_once():
    timing = time_calls(lambda: time.sleep(0.01), 0.001)
    assert timing.calls == 1
    assert timing.best >= 0.01


def test_a_slice_of_no_time_is_one_call():
    calls: list[int] = []
    assert time_calls(lambda: calls.append(1), 0.0).calls == len(calls) == 1


def test_a_process_that_dies_is_an_error_and_no_endless_wait():
    with pytest.raises(EngineError, match=r"^the process ended with 7$"):
        in_fresh_process(os._exit, 7, threads=1)


def test_every_wait_has_a_limit():
    with pytest.raises(TimeoutError, match=r"^no answer after 0.1 s$"):
        in_fresh_process(time.sleep, 60, threads=1, limit=0.1)
    process = EngineProcess("numpy", 1, limit=0.0)
    try:
        with pytest.raises(EngineError, match=r"^no answer after 0 s, ended$"):
            process.outputs(Add(), BINDING)
        with pytest.raises(EngineError, match="the process ended"):
            process.outputs(Add(), BINDING)
    finally:
        process.close()


def test_what_is_raised_comes_back():
    with pytest.raises(EngineError, match=r"^ValueError: invalid literal"):
        in_fresh_process(int, "x", threads=1)
