"""Compiler: each kernel once, from the nearest place."""

from pathlib import Path
from threading import Barrier, Event, Thread, Timer

import pytest
from tests.unit.codegen import kernels
from tests.watchdog import HANGS_AFTER

from anyshape.base.errors import CompileError
from anyshape.codegen.cache import ObjectCache
from anyshape.codegen.llvm import compiler as compiler_module
from anyshape.codegen.llvm.compile import Tuning, compile_object
from anyshape.codegen.llvm.compiler import Compiler
from anyshape.codegen.llvm.object_key import object_key

BROKEN = "define void @broken() { nonsense }"


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that LLVM gets to see."""
    seen: list[str] = []
    original = compiler_module.compile_many

    def spy(texts: list[str], *args: object, **options: object) -> list[bytes]:
        seen.extend(texts)
        return original(texts, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(compiler_module, "compile_many", spy)
    return seen


def test_identical_kernels_are_compiled_once(compiled: list[str]):
    compiler = Compiler(kernels.HOST)
    a, b = kernels.many(2)
    first = compiler.compile([a, b, a, a])
    assert first == [compile_object(text, kernels.HOST) for text in (a, b, a, a)]
    assert compiler.compile([b, a]) == [first[1], first[0]]
    assert compiled == [a, b]


def test_nothing_to_compile(compiled: list[str]):
    assert Compiler(kernels.HOST).compile([]) == []
    assert compiled == []


def test_another_process_finds_them_on_disk(tmp_path: Path, compiled: list[str]):
    cache = ObjectCache(tmp_path / "objects")
    texts = kernels.many(3)
    first = Compiler(kernels.HOST, cache=cache).compile(texts)
    again = Compiler(kernels.HOST, cache=cache)
    assert again.compile(texts) == first
    assert compiled == texts
    assert Compiler(kernels.HOST, cache=cache, tuning=Tuning(False, False)).compile(texts) != first


def test_damaged_entries_are_compiled_again(tmp_path: Path, compiled: list[str]):
    cache = ObjectCache(tmp_path / "objects")
    (first,) = Compiler(kernels.HOST, cache=cache).compile([kernels.ADD])
    path = cache.folder / f"{object_key(kernels.ADD, kernels.HOST, Tuning())}.o"
    path.write_bytes(path.read_bytes()[:-1])
    assert Compiler(kernels.HOST, cache=cache).compile([kernels.ADD]) == [first]
    assert cache.load(path.stem) == first
    assert len(compiled) == 2


def test_an_unusable_cache_costs_only_time(tmp_path: Path):
    (tmp_path / "objects").write_text("a file")
    cache = ObjectCache(tmp_path / "objects")
    assert Compiler(kernels.HOST, cache=cache).compile([kernels.ADD]) == [
        compile_object(kernels.ADD, kernels.HOST)
    ]


def test_progress_counts_what_llvm_compiles(tmp_path: Path):
    cache = ObjectCache(tmp_path / "objects")
    texts = kernels.many(3)
    Compiler(kernels.HOST, cache=cache).compile(texts[:1])
    heard: list[tuple[int, int, str]] = []
    Compiler(kernels.HOST, cache=cache).compile(texts, lambda *step: heard.append(step))
    assert [(done, total) for done, total, _ in heard] == [(1, 2), (2, 2)]
    assert {name for _, _, name in heard} == {"add_1", "add_2"}


def test_threads_that_ask_at_once_share_one_compilation(compiled: list[str]):
    compiler = Compiler(kernels.HOST)
    texts = kernels.many(6)
    barrier = Barrier(8)
    results: list[list[bytes]] = []

    def ask(shift: int) -> None:
        barrier.wait()
        order = texts[shift:] + texts[:shift]
        found = dict(zip(order, compiler.compile(order), strict=True))
        results.append([found[text] for text in texts])

    threads = [Thread(target=ask, args=(shift % 6,)) for shift in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8
    assert all(result == results[0] for result in results)
    assert sorted(compiled) == sorted(texts)


def test_an_error_is_not_remembered_as_a_result(compiled: list[str]):
    compiler = Compiler(kernels.HOST)
    for _ in range(2):
        with pytest.raises(CompileError, match="kernel 'broken' does not compile"):
            compiler.compile([kernels.ADD, BROKEN])
    assert compiler.compile([kernels.ADD]) == [compile_object(kernels.ADD, kernels.HOST)]
    assert compiled.count(BROKEN) == 2


def test_whoever_waits_for_work_that_was_given_up_does_it(monkeypatch: pytest.MonkeyPatch):
    compiler = Compiler(kernels.HOST)
    original = compiler_module.compile_many
    begun, waiting = Event(), Event()

    def interrupted(*_: object, **__: object) -> list[bytes]:
        monkeypatch.setattr(compiler_module, "compile_many", original)
        begun.set()
        assert waiting.wait(HANGS_AFTER)
        raise KeyboardInterrupt

    monkeypatch.setattr(compiler_module, "compile_many", interrupted)
    results: list[bytes] = []

    def ask() -> None:
        assert begun.wait(HANGS_AFTER)
        Timer(0.1, waiting.set).start()
        results.extend(compiler.compile([kernels.ADD]))

    other = Thread(target=ask)
    other.start()
    with pytest.raises(KeyboardInterrupt):
        compiler.compile([kernels.ADD])
    other.join()
    assert results == [compile_object(kernels.ADD, kernels.HOST)]


def test_what_was_compiled_before_an_error_is_kept(tmp_path: Path, compiled: list[str]):
    cache = ObjectCache(tmp_path / "objects")
    long = kernels.ADD + "; " + "long " * 1000  # the longest is compiled first
    with pytest.raises(CompileError):
        Compiler(kernels.HOST, cache=cache).compile([BROKEN, long])
    compiled.clear()
    Compiler(kernels.HOST, cache=cache).compile([long])
    assert compiled == []
