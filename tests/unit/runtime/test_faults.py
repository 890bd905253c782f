"""Forks, signals, disks, threads that cannot start, shutdown: right results, no hangs.

Each scenario has a process of its own, and this one is its watchdog. What can go wrong with
memory is in test_memory*.py.
"""

import subprocess
import sys

import pytest
from tests.unit.runtime.scenarios import SCENARIOS
from tests.watchdog import PROCESS_HANGS_AFTER


def run_process(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=PROCESS_HANGS_AFTER,
        check=False,
    )


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenario(scenario: str):
    done = run_process("-m", "tests.unit.runtime.scenarios", scenario)
    assert (done.returncode, unexpected(done.stderr)) == (0, [])


def unexpected(stderr: str) -> list[str]:
    """Lines that are no warning of the cache of kernels."""
    lines = stderr.splitlines()
    return [line for line in lines if not line.startswith(("kernels are comp", "cached kernel "))]


def test_the_interpreter_ends_at_any_time():
    for _ in range(3):
        done = run_process("-m", "tests.unit.runtime.scenarios", "exit_with_running_threads")
        assert (done.returncode, done.stderr) == (0, "")


SUBINTERPRETER = """
import _xxsubinterpreters as interpreters
try:
    interpreters.run_string(interpreters.create(), "import anyshape.runtime")
except interpreters.RunFailedError as error:
    print(error)
"""


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="the private module has another name")
def test_other_interpreters_are_refused():
    done = run_process("-W", "ignore", "-c", SUBINTERPRETER)
    assert "ImportError" in done.stdout
    assert "anyshape runs in the main interpreter only" in done.stdout
