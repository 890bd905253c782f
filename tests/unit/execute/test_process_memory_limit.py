"""ANYSHAPE_MEMORY_LIMIT: calls that say no limit, and executables that have none, keep it."""

from pathlib import Path

import numpy as np
import pytest

import anyshape as ash
from anyshape.base.errors import MemoryLimitError
from anyshape.execute.compile_options import ExecutorName

X = np.ones((64, 1000), np.float32)  # a result of 256,000 bytes
TABLE = np.ones((300, 1000), np.float32)


@ash.jit
def total(x: ash.f32["n", 1000]):
    return x + ash.sum(ash.asarray(TABLE) * 2.0)  # of constants: no call


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANYSHAPE_MEMORY_LIMIT", "100 kB")


@pytest.mark.parametrize("executor", ["native", "stepwise"])
def test_calls_keep_the_limit_of_the_process(executor: ExecutorName, limited: None) -> None:
    executable = ash.compile(total, executor=executor)
    assert np.all(executable(X[:4])[0] == 600_001)
    with pytest.raises(MemoryLimitError) as caught:
        executable(X)
    assert caught.value.limit == 100_000


def test_what_is_nearer_to_the_call_decides(limited: None) -> None:
    assert ash.compile(total, memory_limit="1 MB")(X)[0].shape == X.shape
    (result,) = ash.compile(total).run((X,), memory_limit="1 MB")
    assert result.shape == X.shape


def test_options_say_the_same() -> None:
    executable = ash.compile(total, options=ash.Options(memory_limit=100_000))
    with pytest.raises(MemoryLimitError):
        executable(X)


def test_loaded_executables_keep_what_the_process_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "total.ash"
    ash.compile(total).save(path)
    monkeypatch.setenv("ANYSHAPE_MEMORY_LIMIT", "100 kB")
    monkeypatch.setenv("ANYSHAPE_THREADS", "1")
    executable = ash.load(path)
    assert "1 thread," in str(executable.explain())
    assert executable(X[:4])[0].shape == (4, 1000)
    with pytest.raises(MemoryLimitError):
        executable(X)
