"""The line of progress: on a terminal, after two seconds, and gone when it is over."""

from __future__ import annotations

import io
import os
import pty
import sys
from collections.abc import Callable
from contextlib import suppress
from threading import Timer

import numpy as np
import pytest

from anyshape.base.options import Options, options_from_environment
from anyshape.execute import compile_graph
from anyshape.ir import parse
from anyshape.observe import progress
from anyshape.observe.progress import AFTER, BETWEEN, ERASE, ProgressLine


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Time:
    """A clock that tests move, and what is to be called later."""

    def __init__(self) -> None:
        self.now = 100.0
        self.waiting: list[tuple[float, Callable[[], None]]] = []

    def clock(self) -> float:
        return self.now

    def later(self, seconds: float, call: Callable[[], None]) -> Callable[[], None]:
        entry = (self.now + seconds, call)
        self.waiting.append(entry)
        return lambda: self.waiting.remove(entry) if entry in self.waiting else None

    def pass_by(self, seconds: float) -> None:
        self.now += seconds
        for entry in [each for each in self.waiting if each[0] <= self.now]:
            self.waiting.remove(entry)
            entry[1]()


def line_on(stream: Terminal | None, time: Time, name: str = "Model") -> ProgressLine:
    return ProgressLine(name, stream, time.clock, time.later)


def shown(stream: io.StringIO) -> str:
    """What a terminal shows after all that."""
    return stream.getvalue().split(ERASE)[-1]


def test_nothing_is_written_before_two_seconds() -> None:
    stream, time = Terminal(), Time()
    with line_on(stream, time) as line:
        line.say("passes")
        time.pass_by(AFTER - 0.01)
        line.kernels(1, 2)
    assert stream.getvalue() == ""
    assert not time.waiting, "nothing comes when it is over"


def test_a_stage_that_lasts_is_shown_while_it_lasts() -> None:
    stream, time = Terminal(), Time()
    with line_on(stream, time) as line:
        line.say("capture")
        time.pass_by(AFTER)
        assert shown(stream) == "anyshape: compiling Model: capture"
    assert shown(stream) == ""
    assert "\n" not in stream.getvalue()


def test_the_line_follows_the_stages_and_is_not_hurried() -> None:
    stream, time = Terminal(), Time()
    with line_on(stream, time) as line:
        time.pass_by(AFTER)
        line.kernels(13, 31)
        assert shown(stream) == "anyshape: compiling Model: "
        time.pass_by(BETWEEN)
        line.kernels(14, 31)
        assert shown(stream) == "anyshape: compiling Model: kernels 14/31"


def test_it_makes_room_for_what_else_is_written() -> None:
    stream, time = Terminal(), Time()
    with line_on(stream, time) as line:
        line.say("capture")
        time.pass_by(AFTER)
        line.erase()
        assert shown(stream) == ""
        time.pass_by(BETWEEN)
        line.say("passes")
        assert shown(stream) == "anyshape: compiling Model: passes"


def test_a_line_is_no_longer_than_the_terminal() -> None:
    stream, time = Terminal(), Time()
    with line_on(stream, time, "M" * 500):
        time.pass_by(AFTER)
        assert len(shown(stream)) == 79


def test_one_line_at_a_time() -> None:
    one, two, time = Terminal(), Terminal(), Time()
    with line_on(one, time):
        with line_on(two, time, "Other"):
            time.pass_by(AFTER)
        assert two.getvalue() == ""
    with line_on(two, time, "Other"):
        time.pass_by(AFTER)
        assert shown(two) == "anyshape: compiling Other: "


def test_a_failure_erases_the_line_too() -> None:
    stream, time = Terminal(), Time()
    with suppress(KeyError), line_on(stream, time):
        time.pass_by(AFTER)
        raise KeyError
    assert shown(stream) == ""


def test_a_terminal_that_is_gone_does_no_harm() -> None:
    stream, time = Terminal(), Time()
    with line_on(stream, time) as line:
        stream.close()
        time.pass_by(AFTER)
        line.say("passes")


@pytest.mark.parametrize(
    ("stream", "options", "term", "writes"),
    [
        (Terminal(), Options(), "xterm", True),
        (io.StringIO(), Options(), "xterm", False),
        (None, Options(), "xterm", False),
        (Terminal(), Options(), "dumb", False),
        (Terminal(), Options(progress=False), "xterm", False),
        (Terminal(), Options(debug=1), "xterm", False),
    ],
)
def test_who_sees_it(
    monkeypatch: pytest.MonkeyPatch,
    stream: io.StringIO | None,
    options: Options,
    term: str,
    writes: bool,
) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", term)
    line = ProgressLine.of("Model", options)
    line.show()
    line.erase()
    assert bool(stream and stream.getvalue()) == writes


def test_the_environment_turns_it_off() -> None:
    assert options_from_environment({"ANYSHAPE_PROGRESS": "0"}) == Options(progress=False)
    assert options_from_environment({"HOME": ""}).progress


GRAPH = """
axes { n: 0.. }
graph sums(x: f32[n, 2, 3]) -> (f32[2, 3], f32[n, 3]) {
  %0 = sum(x) {axes=[0]}
  %1 = sum(x) {axes=[1]}
  return %0, %1
}
"""


def _all_written(terminal: int) -> str:
    """To a terminal that nobody has open any more; it hands over what it has bit by bit."""
    parts: list[bytes] = []
    with suppress(OSError):  # that is how it ends
        while part := os.read(terminal, 1 << 16):
            parts.append(part)
    os.close(terminal)
    return b"".join(parts).decode()


class Never(Timer):
    """Stages are what shows the line, in an order that does not depend on time."""

    def run(self) -> None:
        pass


def test_compiling_tells_its_stages_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """On one of the system's own, as if every stage took long."""
    ours, theirs = pty.openpty()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "Timer", Never)
    monkeypatch.setattr(progress, "AFTER", 0.0)
    monkeypatch.setattr(progress, "BETWEEN", 0.0)
    options = Options(cache_dir=None, calibrate=False, compile_jobs=1)
    with os.fdopen(theirs, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        (result, _) = compile_graph(parse(GRAPH), options)(np.ones((4, 2, 3), np.float32))
    text = _all_written(ours)
    assert (result == 4).all()
    stages = [part.rpartition(": ")[2] for part in text.split(ERASE) if part]
    kernels = [stage for stage in stages if stage.startswith("kernels")]
    assert [stage for stage in stages if stage not in kernels] == ["passes", "lowering"]
    assert kernels == [f"kernels {i + 1}/{len(kernels)}" for i in range(len(kernels))]
    assert len(kernels) >= 3
    assert text.endswith(ERASE)
