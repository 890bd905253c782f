"""Whoever waits for another process is told when it dies or hangs."""

import subprocess
import sys

import pytest
from benchmarks.harness.answers import NoAnswerError, answer_of


def process(code: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


def test_answers() -> None:
    with process("print('one')") as speaking:
        assert answer_of(speaking) == "one\n"


def test_silence_and_death_are_told() -> None:
    with process("import time; time.sleep(60)") as silent:
        with pytest.raises(NoAnswerError, match=r"said nothing for 0.1 s"):
            answer_of(silent, 0.1)
        assert silent.wait(10) != 0
    with process("raise SystemExit(3)") as dead, pytest.raises(NoAnswerError, match="code 3"):
        answer_of(dead)
