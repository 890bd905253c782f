"""Programs run in children of a process that never compiles: a crash or a hang ends one child.

The child says which program it begins, so that whatever ends it has a name.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

HANGS = 600.0
"""Seconds of silence after which a child is ended: far more than any program takes."""


@dataclass(frozen=True)
class Ended:
    """A child that did not come to its end, and the job it was at."""

    job: Any
    how: str


def _child(pipe: Connection, work: Callable[[Any], Any], jobs: list[Any]) -> None:
    for job in jobs:
        pipe.send(("begin", job))
        pipe.send(("done", work(job)))
    pipe.send(("end", None))


class _Batch:
    """A child at work on some jobs."""

    def __init__(self, work: Callable[[Any], Any], jobs: list[Any]) -> None:
        self.work, self.left, self.current = work, list(jobs), None
        self.pipe, end = multiprocessing.Pipe()
        context = multiprocessing.get_context("fork")
        self.process = context.Process(target=_child, args=(end, work, jobs), daemon=False)
        self.process.start()
        end.close()

    def receive(self) -> tuple[str, Any]:
        try:
            kind, item = self.pipe.recv()
        except EOFError:
            return "dead", self.end()
        if kind == "begin":
            self.current = item
            self.left.remove(item)
        elif kind == "end":
            self.end()
        return kind, item

    def end(self, kill: bool = False) -> Ended:
        if kill and self.process.pid is not None:
            os.kill(self.process.pid, signal.SIGKILL)
        self.process.join()
        self.pipe.close()
        code = self.process.exitcode or 0
        named = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return Ended(self.current, "hang" if kill else f"crash {named}")


def each(
    work: Callable[[Any], Any],
    jobs: list[Any],
    processes: int = 1,
    batch: int = 25,
    hangs: float = HANGS,
) -> Iterator[Any]:
    """The result of `work` for each job, as they come; an `Ended` where there is none."""
    waiting = [jobs[start : start + batch] for start in range(0, len(jobs), batch)]
    running: list[_Batch] = []
    while waiting or running:
        while waiting and len(running) < processes:
            running.append(_Batch(work, waiting.pop(0)))
        ready = wait([one.pipe for one in running], hangs)
        silent = [] if ready else running[:1]
        for one in [*silent, *(one for one in running if one.pipe in ready)]:
            kind, item = ("dead", one.end(kill=True)) if one in silent else one.receive()
            if kind in ("dead", "end"):
                running.remove(one)
            if kind == "dead":
                waiting += [one.left] if one.left else []
            if kind in ("dead", "done"):
                yield item


def alone(work: Callable[[Any], Any], job: Any) -> Any:
    """One job in a child of its own."""
    return next(each(work, [job]))
