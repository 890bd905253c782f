"""Lines that other processes say, within a time: nothing waits forever for one that hangs."""

from __future__ import annotations

import select
import subprocess

from benchmarks.harness.waiting import LIMIT_SECONDS


class NoAnswerError(Exception):
    """A process has died, or is silent for too long."""


def answer_of(process: subprocess.Popen[str], seconds: float = LIMIT_SECONDS) -> str:
    """The next line of a process that says one line for each question. A silent one is ended."""
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], seconds)
    if not ready:
        process.kill()
        raise NoAnswerError(f"{process.args} said nothing for {seconds:g} s, and was ended")
    line = process.stdout.readline()
    if not line:
        raise NoAnswerError(f"{process.args} ended with code {process.wait(seconds)}")
    return line
