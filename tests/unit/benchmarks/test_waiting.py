"""Every wait has a limit: for processes that are silent, idle, dead, or let go on by others."""

import os
import signal
import subprocess
import sys
import time
from multiprocessing import Pipe

import pytest
from benchmarks.harness.process import EngineError, EngineProcess, in_fresh_process
from benchmarks.harness.session import Session, Told
from benchmarks.harness.waiting import HangsError, cpu_seconds, is_stopped, stop, wait_for_answer
from benchmarks.workloads import Add

BUSY = "while True: pass"
IDLE = "import time; time.sleep(1000)"
BINDING = {"rows": 2, "columns": 3}


def started(code: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", code])


def ended(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait(10)


def sleeps() -> None:
    time.sleep(1000)


def spins() -> None:
    while True:
        pass


def dies() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def test_what_uses_no_cpu_is_given_up_early():
    with pytest.raises(TimeoutError, match=r"the last 2 s without any CPU"):
        in_fresh_process(sleeps, limit=60, idle_limit=2)


def test_what_is_busy_has_longer():
    start = time.monotonic()
    with pytest.raises(TimeoutError, match=r"no answer after 4 s$"):
        in_fresh_process(spins, limit=4, idle_limit=2)
    assert time.monotonic() - start >= 4


def test_what_dies_is_told():
    with pytest.raises(EngineError, match="the process ended with -11"):
        in_fresh_process(dies)


def test_children_count_and_so_does_being_stopped():
    process = started(
        "import os, time\n"
        "if os.fork(): time.sleep(1000)\n"
        "import ctypes, signal; ctypes.CDLL(None).prctl(1, signal.SIGKILL)\n"  # dies with it
        f"{BUSY}"
    )
    try:
        end = time.monotonic() + 30
        while cpu_seconds(process.pid) < 0.5 and time.monotonic() < end:
            time.sleep(0.1)
        assert cpu_seconds(process.pid) >= 0.5
    finally:
        ended(process)
    assert cpu_seconds(process.pid) == 0
    assert is_stopped(process.pid)


def test_a_process_that_others_let_go_on_is_stopped_again():
    process = started(IDLE)
    try:
        stop(process.pid)
        assert is_stopped(process.pid)
        os.kill(process.pid, signal.SIGCONT)  # as a shell does for its whole job
        stop(process.pid)
        assert is_stopped(process.pid)
        ours, theirs = Pipe()
        with pytest.raises(HangsError, match="no answer after 2 s"):  # stopped: it is not idle
            wait_for_answer(ours, process.pid, limit=2, idle_limit=1)
        del theirs
    finally:
        ended(process)


def test_an_engine_that_dies_is_named_by_its_signal():
    process = EngineProcess("numpy", 1)
    process.outputs(Add(), BINDING)
    os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(EngineError, match="the process ended by SIGKILL"):
        process.time(Add(), BINDING, 0.01)
    with pytest.raises(EngineError, match="the process ended"):
        process.outputs(Add(), BINDING)
    process.close()


# --- whole runs -----------------------------------------------------------------------------------


def session(monkeypatch: pytest.MonkeyPatch, tmp_path, *arguments: str) -> Session:
    output = str(tmp_path / "figures.json")
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--json", output, *arguments])
    return Session("test", "")


def test_a_table_that_cannot_be_made_is_left_out(monkeypatch, tmp_path, capsys):
    made: list[str] = []

    def hangs(session: Session, title: str) -> None:
        raise TimeoutError("no answer after 600 s")

    with session(monkeypatch, tmp_path) as running:
        running.run({"first": hangs, "second": lambda _, title: made.append(title)})
        assert running.missed
    assert made == ["second"]
    assert "first: left out: no answer after 600 s" in capsys.readouterr().out


def test_engines_are_left_out_by_names_that_there_are(monkeypatch, tmp_path, capsys):
    running = session(monkeypatch, tmp_path, "--without", "torch.compile", "openvino")
    assert running.taking_part(("anyshape", "openvino")) == ("anyshape",)
    with pytest.raises(SystemExit):
        session(monkeypatch, tmp_path, "--without", "torch_compile")
    assert "torch_compile" in capsys.readouterr().err


def test_progress_is_told_where_there_is_no_terminal(capsys):
    told = Told(seconds=1000)
    told.tell("MiniLM: checking torch")
    told.tell("MiniLM: torch")
    assert capsys.readouterr().err == "  MiniLM: checking torch\n"
