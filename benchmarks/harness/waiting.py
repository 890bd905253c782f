"""Waits for other processes, each with a limit: nothing waits forever for one that hangs.

A process that is busy may take long. One that has used no CPU for a while, nor any process below
it, waits for something that does not come: a lock, a network, a process that was stopped. Time in
which we are stopped ourselves does not count, nor time in which somebody else has stopped it.
"""

from __future__ import annotations

import os
import signal
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

LIMIT_SECONDS = 600.0
"""The longest wait for anything: building a model of a peer is the slowest of it."""

IDLE_SECONDS = 60.0
"""The longest wait for what uses no CPU."""

STOP_SECONDS = 10.0
"""The longest wait for all threads of a process to stop."""

LOOK_SECONDS = 1.0
_TICKS = os.sysconf("SC_CLK_TCK")


class HangsError(Exception):
    """A process that gives no answer; it says for how long."""


class _State(NamedTuple):
    letter: str
    parent: int
    ticks: int


def _states() -> dict[int, _State]:
    found: dict[int, _State] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                text = (folder / "stat").read_text()
            except OSError:  # it has just ended
                continue
            fields = text.rpartition(")")[2].split()
            ticks = sum(map(int, fields[11:15]))
            found[int(folder.name)] = _State(fields[0], int(fields[1]), ticks)
    return found


def cpu_seconds(pid: int) -> float:
    """What a process and all below it have used; 0 when it has ended."""
    states = _states()
    family, todo = set[int](), [pid]
    while todo:
        one = todo.pop()
        family.add(one)
        todo += [each for each, state in states.items() if state.parent == one]
    return sum(states[each].ticks for each in family if each in states) / _TICKS


def is_stopped(pid: int) -> bool:
    """Whether somebody has stopped it, or it has ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
    return text.rpartition(")")[2].split()[0] in "TtZX"


def wait_for_answer(
    connection: Connection, pid: int, limit: float = LIMIT_SECONDS, idle_limit: float = IDLE_SECONDS
) -> None:
    """Returns when there is something to receive; HangsError if it takes too long."""
    waited = idle = 0.0
    used = cpu_seconds(pid)
    while waited < limit:
        look = min(LOOK_SECONDS, limit - waited, idle_limit)
        if connection.poll(look):
            return
        waited += look
        now = cpu_seconds(pid)
        idle = 0.0 if now > used or is_stopped(pid) else idle + look
        used = now
        if idle >= idle_limit:
            raise HangsError(f"no answer after {waited:g} s, the last {idle:g} s without any CPU")
    raise HangsError(f"no answer after {limit:g} s")


def stop(pid: int, limit: float = STOP_SECONDS) -> None:
    """Stops a child; returns when all its threads have stopped, which takes a while on a busy
    machine. Somebody may let it go on meanwhile, as a shell does: it is told again."""
    stopped = os.WSTOPPED | os.WEXITED | os.WNOWAIT | os.WNOHANG
    end = time.monotonic() + limit
    while time.monotonic() < end:
        os.kill(pid, signal.SIGSTOP)
        again = time.monotonic() + 0.2
        while time.monotonic() < again:
            if os.waitid(os.P_PID, pid, stopped) is not None:
                return
            time.sleep(0.0002)
    raise HangsError(f"it did not stop within {limit:g} s")
