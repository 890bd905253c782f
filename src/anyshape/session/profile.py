"""What a session with `enable_profiling` writes: the events that onnxruntime's file has, a list of
them, for loading, for each call, and for each step of it. chrome://tracing and ui.perfetto.dev show
it.

Calls are then made a step at a time on the calling thread: times are those of single steps.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import datetime
from time import perf_counter_ns, time_ns
from typing import TYPE_CHECKING, Any

from anyshape.base.fork_lock import fork_lock

if TYPE_CHECKING:
    from anyshape.execute import Executable
    from anyshape.loaded import LoadedExecutable

MOST_EVENTS = 1_000_000
"""As many as onnxruntime keeps; what happens later is not written."""


class SessionProfile:
    """Events since it was made, and the file that they go to when it ends."""

    def __init__(self, prefix: str) -> None:
        self.start_ns = time_ns()
        now = datetime.now()
        self.path = f"{prefix}_{now:%Y-%m-%d_%H-%M-%S}_{now.microsecond // 1000:03d}.json"
        self._begun = perf_counter_ns()
        self._events: list[dict[str, Any]] = []
        self._open = True
        self._one_by_one = fork_lock()

    @contextmanager
    def event(self, category: str, name: str) -> Generator[None]:
        started = perf_counter_ns()
        try:
            yield
        finally:
            self._add(category, name, started, perf_counter_ns() - started, {})

    def run(
        self, executable: Executable | LoadedExecutable, arrays: Sequence[Any]
    ) -> tuple[Any, ...]:
        """The results of a call, with an event for each of its steps."""
        steps = executable.steps(*arrays)
        while True:
            try:
                step = next(steps)
            except StopIteration as end:
                return end.value
            started = perf_counter_ns() - step.nanoseconds
            args = {"op_name": step.name, "step": step.number}
            self._add("Node", f"{step.name}_kernel_time", started, step.nanoseconds, args)

    def end(self) -> str:
        """Writes the file. Afterwards nothing is recorded, and there is no path to tell."""
        with self._one_by_one:
            if not self._open:
                return ""
            self._open = False
            with open(self.path, "w", encoding="utf-8") as file:
                json.dump(self._events, file)
            self._events = []
            return self.path

    @property
    def is_open(self) -> bool:
        return self._open

    def _add(
        self, category: str, name: str, started: int, spent: int, args: dict[str, Any]
    ) -> None:
        event = {
            "cat": category, "pid": os.getpid(), "tid": threading.get_native_id(),
            "dur": spent // 1000, "ts": (started - self._begun) // 1000, "ph": "X", "name": name,
            "args": args,
        }  # fmt: skip
        with self._one_by_one:
            if self._open and len(self._events) < MOST_EVENTS:
                self._events.append(event)
