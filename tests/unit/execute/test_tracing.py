"""Traces: every task of a call once, with its thread and its time, and only of that call."""

import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import anyshape as ash
from anyshape.base.errors import AnyshapeError
from anyshape.runtime.tracing import traced

WEIGHTS = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)


@ash.jit
def layers(x: ash.f32["n", 64]):
    return ash.softmax(ash.gelu(x @ WEIGHTS) @ WEIGHTS)


@ash.jit
def loop(x: ash.f32["n", 64]):
    def step(carry, row):
        return ash.exp(carry - row), row * carry

    return ash.scan(step, x[0], x)


def rows(count: int) -> np.ndarray:
    return np.random.default_rng(count).standard_normal((count, 64)).astype(np.float32)


@pytest.mark.parametrize("count", [1, 7, 300])
def test_every_task_is_there_once(count: int) -> None:
    executable = ash.compile(layers)
    x = rows(count)
    (result,), tasks = traced(lambda: executable(x))
    np.testing.assert_array_equal(result, executable(x)[0])
    steps = executable.specialize(n=count).steps
    ranges: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for task in tasks:
        assert task.name == steps[task.step].cost.name
        assert 0 <= task.worker < executable.executor.threads
        assert task.begin_ns <= task.end_ns
        ranges[task.step].append((task.first, task.last))
    for step in steps:
        done = [number for first, last in ranges[step.number] for number in range(first, last)]
        assert sorted(done) == list(range(step.cost.tasks))


def test_runs_of_loops_are_told_apart() -> None:
    executable = ash.compile(loop)
    _, tasks = traced(lambda: executable(rows(5)))
    assert len({task.run for task in tasks}) >= 5
    assert [task.begin_ns for task in tasks] == sorted(task.begin_ns for task in tasks)


def test_nothing_else_is_recorded() -> None:
    executable = ash.compile(layers)
    _, inner = traced(lambda: traced(lambda: executable(rows(3))))
    assert inner == []  # the inner trace has it
    with pytest.raises(AnyshapeError):
        traced(lambda: executable(rows(3)[:, :5]))
    executable(rows(3))
    assert traced(lambda: None) == (None, [])


@pytest.mark.parametrize("executor", ["native", "stepwise", "reference"])
def test_files(executor: str, tmp_path: Path) -> None:
    executable = ash.compile(layers, executor=executor)
    executable.trace(tmp_path / "trace.json", rows(9))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert events
    assert all(event["args"]["binding"] == {"n": 9} and event["ph"] == "X" for event in events)
    assert {event["cat"] for event in events} == {"tasks" if executor == "native" else "step"}
