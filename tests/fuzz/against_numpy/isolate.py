"""Programs run in children of a process that never compiles: a crash or a hang ends one child.

The child says which program it begins, so that whatever ends it has a name. What a program may
take is counted in seconds of CPU: on a busy machine it takes long, and is no hang. Only a child
that waits for something needs a clock, and a patient one.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

HANGS = 600
"""Seconds of CPU after which a program is ended: far more than any takes."""

LOOKS, INTERVAL = 60, 60.0
"""How often, and after how many seconds each, a child is silent before it is ended. Looks are
counted, and no time: a parent that was stopped with its child has looked once."""


@dataclass(frozen=True)
class Ended:
    """A child that did not come to its end, and the job it was at."""

    job: Any
    how: str


@dataclass(frozen=True)
class Limits:
    """What a job may take."""

    cpu: int = HANGS
    looks: int = LOOKS
    interval: float = INTERVAL


def _child(pipe: Connection, work: Callable[[Any], Any], jobs: list[Any], limits: Limits) -> None:
    for job in jobs:
        pipe.send(("begin", job))
        most = math.ceil(time.process_time()) + limits.cpu
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))
        pipe.send(("done", work(job)))
    pipe.send(("end", None))


class _Batch:
    """A child at work on some jobs."""

    def __init__(self, work: Callable[[Any], Any], jobs: list[Any], limits: Limits) -> None:
        self.work, self.current, self.left = work, jobs[0], jobs[1:]
        self.pipe, end = multiprocessing.Pipe()
        context = multiprocessing.get_context("fork")
        self.process = context.Process(target=_child, args=(end, work, jobs, limits), daemon=False)
        self.process.start()
        end.close()

    def receive(self) -> tuple[str, Any]:
        try:
            kind, item = self.pipe.recv()
        except EOFError:
            return "dead", self.end()
        if kind == "begin":
            self.current = item
            self.left = [job for job in self.left if job != item]
        elif kind == "end":
            self.end()
        return kind, item

    def end(self, kill: bool = False) -> Ended:
        if kill and self.process.pid is not None:
            os.kill(self.process.pid, signal.SIGKILL)
        self.process.join()
        self.pipe.close()
        code = self.process.exitcode or 0
        if kill or code == -signal.SIGXCPU:
            return Ended(self.current, "hang")
        named = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return Ended(self.current, f"crash {named}")


def each(
    work: Callable[[Any], Any],
    jobs: list[Any],
    processes: int = 1,
    batch: int = 25,
    limits: Limits = Limits(),  # noqa: B008 - frozen
) -> Iterator[Any]:
    """The result of `work` for each job, as they come; an `Ended` where there is none."""
    waiting = [jobs[start : start + batch] for start in range(0, len(jobs), batch)]
    running: list[_Batch] = []
    while waiting or running:
        while waiting and len(running) < processes:
            running.append(_Batch(work, waiting.pop(0), limits))
        ready = _ready(running, limits)
        silent = [] if ready else running[:1]
        for one in [*silent, *(one for one in running if one.pipe in ready)]:
            kind, item = ("dead", one.end(kill=True)) if one in silent else one.receive()
            if kind in ("dead", "end"):
                running.remove(one)
            if kind == "dead":
                waiting += [one.left] if one.left else []
            if kind in ("dead", "done"):
                yield item


def _ready(running: list[_Batch], limits: Limits) -> list[object]:
    """The pipes of children that have something to say; none after long silence."""
    for _ in range(limits.looks):
        ready = wait([one.pipe for one in running], limits.interval)
        if ready:
            return list(ready)
    return []


def alone(work: Callable[[Any], Any], job: Any) -> Any:
    """One job in a child of its own."""
    return next(each(work, [job]))
