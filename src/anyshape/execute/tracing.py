"""One call as a trace that ui.perfetto.dev and chrome://tracing show: an event for each step.

The call is made a step at a time on the calling thread, so that calls that are not traced pay
nothing, and the times are those of single steps without their neighbours.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from anyshape.execute.executor import StepRun


def trace_events(steps: Iterable[StepRun], binding: Mapping[str, int]) -> dict[str, Any]:
    """Chrome's JSON; times are microseconds."""
    events: list[dict[str, Any]] = []
    start = 0
    for step in steps:
        events.append(
            {
                "name": step.name,
                "cat": "step",
                "ph": "X",
                "ts": start / 1000,
                "dur": step.nanoseconds / 1000,
                "pid": os.getpid(),
                "tid": 0,
                "args": {"step": step.number, "kernel": step.name, "binding": dict(binding)},
            }
        )
        start += step.nanoseconds
    return {"traceEvents": events, "displayTimeUnit": "ns"}


def write_trace(path: str | os.PathLike[str], trace: Mapping[str, Any]) -> None:
    with open(path, "w", encoding="utf-8") as file:
        json.dump(trace, file)
