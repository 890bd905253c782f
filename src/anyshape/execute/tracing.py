"""One call as a trace that ui.perfetto.dev and chrome://tracing show.

Native programs say which thread did which tasks when: an event for each range of tasks. Executors
without such programs go a step at a time: an event for each step.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from anyshape.execute.executor import StepRun
from anyshape.runtime.tracing import TaskRun


def task_events(tasks: Sequence[TaskRun], binding: Mapping[str, int]) -> dict[str, Any]:
    """Chrome's JSON; times are microseconds since the first task began."""
    start = min((task.begin_ns for task in tasks), default=0)
    events = [
        _event(
            task.name,
            task.begin_ns - start,
            task.end_ns - task.begin_ns,
            task.worker,
            {"step": task.step, "tasks": [task.first, task.last], "run": task.run},
            binding,
        )
        for task in tasks
    ]
    return {"traceEvents": events, "displayTimeUnit": "ns"}


def step_events(steps: Iterable[StepRun], binding: Mapping[str, int]) -> dict[str, Any]:
    """The same of a call that was made a step at a time."""
    events: list[dict[str, Any]] = []
    start = 0
    for step in steps:
        what = {"step": step.number}
        events.append(_event(step.name, start, step.nanoseconds, 0, what, binding))
        start += step.nanoseconds
    return {"traceEvents": events, "displayTimeUnit": "ns"}


def _event(
    name: str,
    begin_ns: int,
    nanoseconds: int,
    thread: int,
    what: Mapping[str, Any],
    binding: Mapping[str, int],
) -> dict[str, Any]:
    return {
        "name": name,
        "cat": "tasks" if "tasks" in what else "step",
        "ph": "X",
        "ts": begin_ns / 1000,
        "dur": nanoseconds / 1000,
        "pid": os.getpid(),
        "tid": thread,
        "args": {**what, "kernel": name, "binding": dict(binding)},
    }


def write_trace(path: str | os.PathLike[str], trace: Mapping[str, Any]) -> None:
    with open(path, "w", encoding="utf-8") as file:
        json.dump(trace, file)
