"""Who takes part in a case, how long it goes on, and what counts as a wrong result."""

from typing import ClassVar

import numpy as np
import pytest
from benchmarks.harness import turns
from benchmarks.harness.process import EngineError, Timing
from benchmarks.harness.turns import Effort, Turns, race, reference_of, require_close
from benchmarks.workloads import Add
from benchmarks.workloads.onnx_files import PackagedModel

RIGHT = (np.ones((2, 2), np.float32),)
WRONG = (np.full((2, 2), 1.001, np.float32),)
BINDING = {"rows": 2, "columns": 2}


class Scripted:
    """An engine's process whose calls take the times of a script; the last one is repeated."""

    script: ClassVar[dict[str, list[float]]] = {}
    results: ClassVar[dict[str, list[tuple[np.ndarray, ...]]]] = {}

    def __init__(self, name, threads, python):
        self._times = iter(self.script.get(name, [1.0]))
        self._results = iter(self.results.get(name, []))
        self._time = 0.0

    def outputs(self, model, binding):
        return next(self._results, RIGHT)

    def time(self, model, binding, seconds):
        self._time = next(self._times, self._time)
        return Timing(self._time, self._time, 1)


@pytest.fixture
def measure(monkeypatch):
    monkeypatch.setattr(turns, "EngineProcess", Scripted)

    def measure(script, results=None):
        monkeypatch.setattr(Scripted, "script", script)
        monkeypatch.setattr(Scripted, "results", results or {})
        case = race("case", Add(), BINDING, ("anyshape", "torch", "numpy"), 1)
        return Turns(Effort(seconds=0.1, settled=2, most=10)).measure(case, lambda _: None)

    return measure


def test_goes_on_until_nobody_gets_quicker(measure):
    measured = measure({"anyshape": [5.0, 4.0, 3.99, 2.0, 2.0]})
    assert len(measured.timings["anyshape"]) == 6  # the fourth is the last that is clearly quicker
    assert measured.best("anyshape") == 2.0


def test_ends_on_a_machine_that_never_settles(measure):
    measured = measure({"torch": [2.0**-n for n in range(50)]})
    assert len(measured.timings["torch"]) == 10


def test_the_best_peer_is_not_ours(measure):
    measured = measure({"anyshape": [1.0], "torch": [3.0], "numpy": [2.0]})
    assert measured.best_peer == 2.0


def test_a_wrong_result_takes_no_part(measure):
    measured = measure({"numpy": [0.1]}, {"numpy": [WRONG]})
    assert measured.failures == {"numpy": "wrong result: off by 1.0e-03 of the largest value"}
    assert measured.best_peer == 1.0


def test_a_result_that_is_wrong_afterwards_discards_its_timings(measure):
    measured = measure({}, {"numpy": [RIGHT, WRONG]})
    assert set(measured.timings) == {"anyshape", "torch"}
    assert np.isnan(measured.best("numpy"))


@pytest.mark.parametrize(
    "found",
    [np.ones((2, 3), np.float32), np.full((2, 2), np.nan, np.float32), WRONG[0]],
    ids=["shape", "nan", "value"],
)
def test_results_that_differ(found):
    with pytest.raises(EngineError, match="wrong result"):
        require_close((found,), RIGHT)


def test_results_that_agree():
    require_close((RIGHT[0] + np.float32(5e-5),), RIGHT)
    require_close((np.zeros((0, 2), np.float32),), (np.zeros((0, 2), np.float32),))


def test_a_case_may_ask_for_less_effort(monkeypatch):
    monkeypatch.setattr(turns, "EngineProcess", Scripted)
    monkeypatch.setattr(Scripted, "script", {"torch": [2.0**-n for n in range(50)]})
    case = race("case", Add(), BINDING, ("torch",), 1)
    once = Effort(seconds=0.0, settled=1, most=1)
    measured = Turns(Effort(0.1, 2, 10)).measure(case, lambda _: None, once)
    assert len(measured.timings["torch"]) == 1


def test_files_are_compared_with_who_reads_them() -> None:
    assert reference_of(PackagedModel("package", "model.onnx", "x", ("batch",))) == "onnxruntime"
    assert reference_of(Add()) == "torch"
