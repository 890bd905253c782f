"""Static axes: memory for the greatest sizes is taken once, and no call asks for any."""

import gc
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.errors.messages import message_of

import anyshape as ash
from anyshape.base.errors import MemoryLimitError, StaticAxisError
from anyshape.ir.types import Array
from anyshape.runtime.program import output_pool, trim_process

OF_PYTHON = 8
"""Page faults of 1,500 calls that are not ours: objects on a page of Python's heap that is new."""

ROWS = ash.Axis("rows", max=96, static=True)


@ash.jit(axes=[ROWS])
def layer(x: ash.f32["rows", 16], w: ash.f32[16, 32]) -> Any:
    hidden = ash.softmax(x @ w, axis=-1)
    return hidden @ w.T + x, (x @ x.T).sum(axis=0)


def expected(x: Array, w: Array) -> tuple[Array, Array]:
    scores = np.exp((x @ w) - (x @ w).max(-1, keepdims=True))
    return (scores / scores.sum(-1, keepdims=True)) @ w.T + x, (x @ x.T).sum(axis=0)


def arrays(rows: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(rows)
    return rng.normal(size=(rows, 16)).astype("f4"), rng.normal(size=(16, 32)).astype("f4")


def called(executable: Any, rows: int) -> None:
    given = arrays(rows)
    for result, value in zip(executable(*given), expected(*given), strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-4, atol=1e-4)


# --- no system call -------------------------------------------------------------------------------


def _child(*mode: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.unit.execute.static_calls", *mode]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.skipif(sys.platform != "linux", reason="filters system calls by Linux's own means")
@pytest.mark.parametrize("mode", ["plain", "out", "few_specializations"])
def test_1500_calls_of_random_sizes_ask_for_no_memory_and_fault_no_page(mode: str) -> None:
    child = _child("static", mode)
    assert child.returncode == 0, child.stderr
    assert int(child.stdout) <= OF_PYTHON


@pytest.mark.skipif(sys.platform != "linux", reason="filters system calls by Linux's own means")
def test_the_same_calls_without_static_do() -> None:
    assert _child("exact", "plain").returncode == -signal.SIGSYS
    assert int(_child("exact", "plain", "free").stdout) > 10 * OF_PYTHON


# --- results and memory ---------------------------------------------------------------------------


def test_results_at_every_size() -> None:
    executable = ash.compile(layer)
    for rows in range(97):
        called(executable, rows)
    assert executable.metrics().misses == 97  # all of them before the first call


def test_level_2_is_made_in_the_memory_of_other_bindings() -> None:
    executable = ash.compile(layer, options=ash.Options(specializations=3))
    held = executable.memory().specializations
    for rows in (*range(97), *range(96, -1, -5)):
        called(executable, rows)
    metrics = executable.metrics()
    assert (metrics.entries, metrics.bytes) == (3, held)
    assert metrics.evictions > 90


@pytest.mark.parametrize("static", [False, True])
def test_many_threads_share_a_cache_of_two(static: bool) -> None:
    """Whoever uses a specialization keeps it, whoever else makes another in its place."""
    axis = ash.Axis("rows", max=96, static=static)
    function = ash.jit(axes=[axis])(layer.__wrapped__)
    executable = ash.compile(function, options=ash.Options(specializations=2))

    def run(seed: int) -> None:
        for rows in np.random.default_rng(seed).integers(0, 97, 150):
            called(executable, int(rows))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run, range(4)))
    assert executable.metrics().entries == 2


def test_buffers_that_live_together_are_disjoint_at_every_size() -> None:
    executable = ash.compile(layer)
    arenas = set[int]()
    for rows in range(97):
        made = executable.specialize(rows=rows)
        arenas.add(made.memory().arena)
        for a, b in combinations(made.arena_buffers(), 2):
            together = a.first <= b.last and b.first <= a.last
            shared = a.offset < b.offset + b.bytes and b.offset < a.offset + a.bytes
            assert not (together and shared)
            assert max(a.offset + a.bytes, b.offset + b.bytes) <= made.memory().arena
    assert len(arenas) == 1
    assert executable.memory().idle_arenas >= arenas.pop()


def test_two_static_axes_and_a_divisor() -> None:
    axes = [ash.Axis("a", max=6, static=True), ash.Axis("b", max=24, multiple_of=8, static=True)]

    @ash.jit(axes=axes)
    def outer(x: ash.f32["a"], y: ash.f32["b"]) -> Any:
        return x.reshape(-1, 1) * y

    executable = ash.compile(outer)
    assert executable.metrics().misses == 7 * 4
    for a, b in ((0, 0), (6, 24), (1, 8), (5, 16)):
        x, y = np.arange(a, dtype="f4"), np.arange(b, dtype="f4")
        np.testing.assert_array_equal(executable(x, y)[0], np.outer(x, y))


def test_static_memory_stays_when_other_memory_is_given_back() -> None:
    executable = ash.compile(layer)
    held, idle = executable.memory(), output_pool().idle
    ash.compile(layer).trim()
    executable.trim()
    assert executable.memory() == held
    assert 0 < output_pool().idle <= idle
    called(executable, 96)


def test_static_memory_ends_with_its_program() -> None:
    executable = ash.compile(layer)
    executable.trim()
    held = output_pool().idle
    del executable
    ash.compile(lambda_free()).trim()
    assert output_pool().idle < held


def lambda_free() -> Any:
    @ash.jit
    def nothing(x: ash.f32["n"]) -> Any:
        return x + 1

    return nothing


def test_a_loaded_executable_has_its_memory_too(tmp_path: Path) -> None:
    ash.compile(layer).save(tmp_path / "layer.ash")
    loaded = ash.load(tmp_path / "layer.ash")
    assert loaded.metrics().misses == 97
    assert loaded.memory().idle_arenas > 0
    called(loaded, 31)


def test_memory_of_a_loaded_executable_ends_with_it(tmp_path: Path) -> None:
    ash.compile(layer).save(tmp_path / "layer.ash")

    def held() -> int:
        gc.collect()
        trim_process()
        return output_pool().idle

    before = held()
    loaded = ash.load(tmp_path / "layer.ash")
    assert held() > before
    del loaded
    assert held() == before


def test_a_limit_is_compared_with_the_greatest_binding() -> None:
    message = message_of(MemoryLimitError, lambda: ash.compile(layer, memory_limit=4096))
    assert message.startswith("graph 'layer' at rows=96 needs ")
    assert "the limit is 4,096\n" in message


# --- what cannot be static ------------------------------------------------------------------------


def refused(function: Any, **chosen: Any) -> str:
    return message_of(StaticAxisError, lambda: ash.compile(function, **chosen))


def test_another_axis_without_a_greatest_size() -> None:
    @ash.jit(axes=[ash.Axis("image", max=640, static=True)])
    def scaled(x: ash.f32["batch", "image"]) -> Any:
        return x * 2

    assert refused(scaled) == (
        "axis 'image' of 'scaled' is static, but axis 'batch' is not, so that no size is the "
        "greatest\n"
        "fix: declare Axis('batch', max=..., static=True) too, or give it one size"
    )


def test_a_size_that_the_graph_computes() -> None:
    @ash.jit(axes=[ROWS])
    def found(x: ash.f32["rows"]) -> Any:
        return ash.nonzero(x)

    assert refused(found) == (
        "axis 'rows' of 'found' is static, but it loops, branches, computes sizes itself, or has "
        "ops that Python computes\n"
        "fix: drop static; reserve(...) takes what can be foreseen of such a model"
    )


def test_tables_for_each_length() -> None:
    @ash.jit(axes=[ROWS])
    def spectrum(x: ash.f32["rows", 2]) -> Any:
        return ash.fft.rfft(x[:, 0])

    assert refused(spectrum) == (
        "axis 'rows' of 'spectrum' is static, but op 'rfft' makes a table for each length that it "
        "meets\n"
        "fix: drop static, or rfft"
    )


@pytest.mark.parametrize("executor", ["reference", "stepwise"])
def test_executors_that_make_arrays(executor: str) -> None:
    assert refused(layer, executor=executor) == (
        f"axis 'rows' of 'layer' is static, but the {executor} executor makes new arrays as it "
        "goes\n"
        "fix: compile with executor='native'"
    )


def test_results_that_are_kept() -> None:
    assert refused(layer, result_cache="1 MB") == (
        "axis 'rows' of 'layer' is static, but results are kept, and take memory at each new call\n"
        "fix: leave out result_cache"
    )


def test_arrays_that_are_padded() -> None:
    @ash.jit(axes=[ash.Axis("n", min=1, max=64, buckets="pow2", static=True)])
    def doubled(x: ash.f32["n"]) -> Any:
        return x * 2

    assert refused(doubled) == (
        "axis 'n' of 'doubled' is static, but axis 'n' has buckets, and calls are padded in new "
        "arrays\n"
        "fix: drop the buckets: a static axis runs at its exact sizes, in memory for the greatest"
    )


def test_more_bindings_than_can_be_looked_at() -> None:
    axes = [ash.Axis(name, max=4096, static=True) for name in "ab"]

    @ash.jit(axes=axes)
    def outer(x: ash.f32["a"], y: ash.f32["b"]) -> Any:
        return x.sum() + y.sum()

    assert refused(outer) == (
        "axis 'a' of 'outer' is static, but there are 16,785,409 bindings to look at, more than "
        "1,048,576\n"
        "fix: give the axes smaller ranges, or a multiple_of"
    )


def test_code_that_branches_on_sizes() -> None:
    torch = pytest.importorskip("torch")

    class Branching(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2 if x.shape[0] > 4 else x + 1

    axes = {"x": (ash.Axis("n", min=2, max=64, static=True),)}
    compile_it = lambda: ash.compile(Branching(), (torch.ones(8),), axes=axes)  # noqa: E731
    assert message_of(StaticAxisError, compile_it).splitlines() == [
        "axis 'n' of 'Branching' is static, but the model's code branches on sizes",
        "fix: drop static, or compile with branches=1",
    ]
