"""What the command line of a fuzzer comes to: failures, crashes and what was never made."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from tests.fuzz.against_numpy.isolate import Ended
from tests.fuzz.driver import Fuzzer, Job


@dataclass(frozen=True)
class Failure:
    kind: str
    seed: int


class Tally(Counter[str]):
    def add(self, other: Tally) -> None:
        self.update(other)


def run(job: Job) -> tuple[Tally, Failure | None]:
    """Odd seeds fail."""
    seed, longest = job
    return Tally(made=longest), Failure("odd", seed) if seed % 2 else None


FUZZER = Fuzzer(
    what="things",
    count=4,
    longest=5,
    tally=Tally,
    run=run,
    crashed=lambda job, how: Failure(how, job[0]),
    shrunk=lambda failure: replace(failure, seed=-failure.seed),
    snippet=lambda failure: f"seed {failure.seed}",
    summary=lambda tally: f"made {tally['made']}",
    missing=lambda tally: {"kept"} - set(tally),
    complete=3,
)


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def each(work: Any, jobs: list[Job], processes: int) -> Iterator[Any]:
        """Seed 8 ends its child."""
        assert processes == 1
        return (Ended(job, "crash") if job[0] == 8 else work(job) for job in jobs)

    monkeypatch.setattr("tests.fuzz.driver.each", each)


def outcome(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, str]:
    monkeypatch.setattr(sys, "argv", ["fuzz", *arguments])
    code = FUZZER.main("a fuzzer")
    return code, capsys.readouterr().out


def test_a_run_without_failures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = outcome(monkeypatch, capsys, "--things", "1", "--longest", "7")
    assert code == 0
    assert text.startswith("made 7\n")
    assert text.endswith(" s, 0 failures\n")


def test_failures_and_crashes_are_printed_and_counted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = outcome(monkeypatch, capsys, "--things", "2", "--seed", "7")
    assert code == 1
    assert "\nseed 7\n\n\nseed 8\n\nmade 5\n" in text
    assert text.endswith(" s, 2 failures: odd 1, crash 1\n")


def test_failures_are_made_small(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, text = outcome(monkeypatch, capsys, "--things", "1", "--seed", "3", "--shrink")
    assert "\nseed -3\n" in text


def test_a_long_run_makes_everything(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = outcome(monkeypatch, capsys, "--things", "3", "--seed", "10")
    assert code == 1
    assert text.endswith("never made: kept\n")
