"""compile_many(): the same objects from any number of processes, whatever happens to them."""

import os
import subprocess
import sys
import threading
from io import BytesIO
from pathlib import Path

import pytest
from tests.unit.codegen import kernels
from tests.unit.codegen.emit import examples

from anyshape.base.errors import CompileError, UndefinedSymbolError
from anyshape.codegen.llvm import wire, workers
from anyshape.codegen.llvm.compile import Tuning, compile_object
from anyshape.codegen.llvm.emitting import IntegerModule, llvm_text
from anyshape.codegen.llvm.target import NAMED_TARGETS
from anyshape.codegen.llvm.worker import serve
from anyshape.codegen.llvm.workers import compile_many
from anyshape.ir.types import f32

TEXTS = kernels.many(12)
BROKEN = "define void @broken() { nonsense }"
UNDEFINED = "declare void @f()\ndefine void @calls() {\n  call void @f()\n  ret void\n}"


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start workers for the smallest batch."""
    monkeypatch.setattr(workers, "SOURCES_PER_WORKER", 1)


@pytest.fixture
def only_workers(monkeypatch: pytest.MonkeyPatch, eager: None) -> None:
    """The calling thread compiles nothing until the workers are done."""
    original = workers._Batch.work
    calls: list[object] = []

    def work(self: workers._Batch, compile_source: object, place: int) -> None:
        calls.append(compile_source)
        if isinstance(getattr(compile_source, "__self__", None), workers._Worker) or len(calls) > 2:
            original(self, compile_source, place)  # type: ignore[arg-type]

    monkeypatch.setattr(workers._Batch, "work", work)


def bootstrap(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    monkeypatch.setattr(workers, "_BOOTSTRAP", script)


READ_FOREVER = "import sys; sys.stdin.buffer.read(500);"


# ---- results -----------------------------------------------------------------------------------


@pytest.mark.parametrize("cpus", [1, 2, 4])
def test_any_number_of_processes_gives_the_same(cpus: int, eager: None):
    expected = [compile_object(text, kernels.HOST) for text in TEXTS]
    assert compile_many(TEXTS, kernels.HOST, cpus=cpus) == expected


def test_threads_that_cannot_start(monkeypatch: pytest.MonkeyPatch, eager: None):
    """The calling thread compiles alone."""

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    expected = [compile_object(text, kernels.HOST) for text in TEXTS[:3]]
    assert compile_many(TEXTS[:3], kernels.HOST, cpus=3) == expected


def test_workers_do_the_work(monkeypatch: pytest.MonkeyPatch, only_workers: None):
    target, tuning = NAMED_TARGETS["aarch64-neon"], Tuning(loop_vectorize=False)
    expected = [compile_object(text, target, tuning) for text in TEXTS[:4]]
    monkeypatch.setattr(workers, "compile_source", None)  # all that the calling thread could use
    assert compile_many(TEXTS[:4], target, cpus=2, tuning=tuning) == expected


def test_nothing_to_do():
    assert compile_many([], kernels.HOST, cpus=8) == []


def test_small_batches_start_no_process(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(subprocess, "Popen", None)
    assert len(compile_many(TEXTS[:3], kernels.HOST, cpus=8)) == 3


@pytest.mark.parametrize(
    ("sources", "cpus", "count"),
    [(0, 8, 0), (1, 8, 0), (3, 8, 0), (4, 8, 1), (11, 8, 2), (50, 8, 7), (50, 1, 0)],
)
def test_worker_count(sources: int, cpus: int, count: int):
    assert workers._worker_count(sources, cpus) == count


def test_kernels_are_emitted_by_workers(monkeypatch: pytest.MonkeyPatch, only_workers: None):
    target = NAMED_TARGETS["x86-64-avx2"]
    sources = [examples.softmax_kernel(), kernels.ADD, examples.column_kernel("add", f32)]
    expected = [compile_object(llvm_text(source, target), target) for source in sources]
    monkeypatch.setattr(workers, "compile_source", None)
    assert compile_many(sources, target, cpus=2) == expected


def test_progress(eager: None):
    heard: list[tuple[int, int, str]] = []
    compile_many(TEXTS, kernels.HOST, cpus=3, progress=lambda *step: heard.append(step))
    assert [done for done, _, _ in heard] == list(range(1, 13))
    assert {total for _, total, _ in heard} == {12}
    assert sorted(name for _, _, name in heard) == sorted(f"add_{i}" for i in range(12))


def test_a_program_without_a_main_guard(tmp_path: Path):
    """multiprocessing would run this program again in every worker."""
    program = tmp_path / "program.py"
    program.write_text(
        "print('started')\n"
        "from anyshape.codegen.llvm import workers\n"
        "workers.SOURCES_PER_WORKER = 1\n"
        "from tests.unit.codegen import kernels\n"
        "print(len(workers.compile_many(kernels.many(4), kernels.HOST, cpus=3)))\n"
    )
    root = str(Path(__file__).parents[3])
    run = subprocess.run(
        [sys.executable, str(program)],
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (run.stdout, run.stderr) == ("started\n4\n", "")


# ---- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize("cpus", [1, 3])
def test_errors_name_the_kernel(cpus: int, eager: None):
    with pytest.raises(CompileError) as caught:
        compile_many([*TEXTS, BROKEN], kernels.HOST, cpus=cpus)
    assert caught.value.kernel == "broken"


def test_errors_come_back_from_workers_as_they_are(only_workers: None):
    with pytest.raises(UndefinedSymbolError) as caught:
        compile_many([UNDEFINED, TEXTS[0]], kernels.HOST, cpus=2)
    assert (caught.value.kernel, caught.value.symbols) == ("calls", ("f",))


# ---- workers that go away ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "script",
    [
        "raise SystemExit(1)",
        f"{READ_FOREVER} raise SystemExit(0)",
        f"{READ_FOREVER} import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
        f"{READ_FOREVER} sys.stdout.buffer.write(bytes([200] + [0] * 7)); raise SystemExit",
    ],
    ids=["at-start", "after-a-request", "killed", "mid-answer"],
)
def test_kernels_of_lost_workers_are_compiled_here(
    script: str, monkeypatch: pytest.MonkeyPatch, only_workers: None
):
    bootstrap(monkeypatch, script)
    expected = [compile_object(text, kernels.HOST) for text in TEXTS[:3]]
    assert compile_many(TEXTS[:3], kernels.HOST, cpus=2) == expected


def test_a_crash_of_llvm_is_an_error_of_the_kernel(
    monkeypatch: pytest.MonkeyPatch, only_workers: None
):
    bootstrap(monkeypatch, f"{READ_FOREVER} import os; os.abort()")
    with pytest.raises(
        CompileError, match="kernel 'add_1' does not compile: LLVM crashed: SIGABRT"
    ):
        compile_many([TEXTS[1]] * 2, kernels.HOST, cpus=2)


def test_without_an_interpreter_to_start(monkeypatch: pytest.MonkeyPatch, eager: None):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert len(compile_many(TEXTS[:3], kernels.HOST, cpus=2)) == 3
    monkeypatch.setattr(sys, "executable", "")
    assert len(compile_many(TEXTS[:3], kernels.HOST, cpus=2)) == 3


# ---- the protocol ------------------------------------------------------------------------------


def test_serve():
    requests, answers = BytesIO(), BytesIO()
    wire.send(requests, wire.encode_settings(kernels.HOST, Tuning()))
    for text in (kernels.ADD, BROKEN, UNDEFINED):
        wire.send(requests, wire.encode_source(text))
    requests.seek(0)
    serve(requests, answers)
    answers.seek(0)
    results = [wire.receive(answers) for _ in range(3)]
    assert wire.decode_result(results[0]) == compile_object(kernels.ADD, kernels.HOST)
    with pytest.raises(CompileError, match="broken"):
        wire.decode_result(results[1])
    with pytest.raises(UndefinedSymbolError, match="undefined symbols f"):
        wire.decode_result(results[2])
    with pytest.raises(EOFError):
        wire.receive(answers)


def test_settings_round_trip():
    settings = (NAMED_TARGETS["aarch64-neon"], Tuning(False, True))
    assert wire.decode_settings(wire.encode_settings(*settings)) == settings


def test_kernels_survive_the_wire():
    kernel = examples.column_kernel("add", f32)
    assert wire.decode_source(wire.encode_source(kernel)) == kernel
    assert wire.decode_source(wire.encode_source("text")) == "text"
    module = IntegerModule("text")
    assert wire.decode_source(wire.encode_source(module)) == module
