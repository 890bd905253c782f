"""Runs of a fork server are those of a process of one's own."""

import os
import signal
import sys
from collections.abc import Iterator

import pytest
from tests.fork_server import ForkServer


def main() -> None:
    """What the server runs here: says what it was given, then ends as it was told."""
    how, *rest = sys.argv[1:]
    print(os.environ.get("ANYSHAPE_ISA"), os.getpid(), *rest, flush=True)
    match how:
        case "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "raise":
            raise ValueError("as it was told")
        case "exit":
            sys.exit(3)
        case _:
            pass


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    server = ForkServer("tests.unit.test_fork_server")
    yield server
    server.close()


def test_arguments_environment_and_output_are_those_of_a_run(server: ForkServer) -> None:
    first, second = server.run("", "a b", ANYSHAPE_ISA="sse2"), server.run("", "c")
    assert (first.returncode, second.returncode) == (0, 0)
    isa, process, *rest = first.stdout.split()
    assert (isa, rest) == ("sse2", ["a", "b"])
    other_isa, other_process, *rest = second.stdout.split()
    assert (other_isa, rest) == (str(os.environ.get("ANYSHAPE_ISA")), ["c"])
    assert process != other_process


def test_a_crash_ends_one_run(server: ForkServer) -> None:
    assert server.run("crash").returncode == -signal.SIGSEGV
    assert server.run("").returncode == 0


def test_what_is_raised_is_told(server: ForkServer) -> None:
    done = server.run("raise")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "ValueError: as it was told"


def test_an_exit_code_is_told(server: ForkServer) -> None:
    assert server.run("exit").returncode == 3
