"""Runs of chains: the same bits as without, at any size, tile and number of threads, and limits."""

import threading
from typing import Any

import numpy as np
import pytest
from tests.unit.plan.pipelines import (
    eager,
    feed_forward,
    gated,
    normal,
    passed,
    random_chain,
    run_by,
)

import anyshape as ash
from anyshape.base.errors import CancelledError, DeadlineError, MemoryLimitError
from anyshape.ir import evaluate
from anyshape.ir.types import Array
from anyshape.plan import tiles as tiling


@pytest.fixture(autouse=True)
def weights_are_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the costs of `eager`, chains are then taken at any number of rows."""
    monkeypatch.setattr(tiling, "_weights_again", lambda *_: 0)


SIZES = [0, 1, 2, 5, 6, 7, 95, 97, 191, 385, 1000]


def assert_same_bits(first: Array, second: Array) -> None:
    np.testing.assert_array_equal(first.view(np.uint32), second.view(np.uint32))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("tile", [6, 12, 96, 384])
def test_rows_have_the_same_bits_at_any_tile(
    tile: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiling, "LEAST_TILE", tile)
    monkeypatch.setattr(tiling, "MOST_TILE", tile)
    model = feed_forward()
    graph = passed(model)
    on, off = run_by(eager(threads), graph), run_by(eager(threads), graph, chains=False)
    taken: list[int] = []
    for rows in SIZES:
        x = normal(rows, 24)
        assert_same_bits(on.run([x])[0], off.run([x])[0])
        np.testing.assert_allclose(
            on.run([x])[0], evaluate(model.graph, x)[0], rtol=1e-4, atol=1e-5
        )
        tasks = [step.cost.tasks for step in on.specialize({"rows": rows}).steps]
        if tasks[0] == 0 < tasks[-1]:
            taken.append(tasks[-1])
            carrier = on.specialize({"rows": rows})
            assert (carrier.kernels()[-1], carrier.efforts()[-1]) == (None, None)
    assert max(taken) >= 1000 / tile
    assert len(taken) == len(SIZES) - 1 if threads == 1 else len(taken) > 0


@pytest.mark.parametrize("sizes", [(0, 3), (1, 1), (1, 400), (3, 67), (130, 1), (5, 5)])
def test_rows_of_two_axes(sizes: tuple[int, int]) -> None:
    model = gated()
    graph = passed(model)
    on, off = run_by(eager(2), graph), run_by(eager(2), graph, chains=False)
    x = normal(*sizes, 16)
    assert_same_bits(on.run([x])[0], off.run([x])[0])
    np.testing.assert_allclose(on.run([x])[0], evaluate(model.graph, x)[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("seed", range(20))
def test_random_chains(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiling, "LEAST_TILE", 12)
    monkeypatch.setattr(tiling, "MOST_TILE", 24)
    model, width = random_chain(seed)
    graph = passed(model)
    on, off = run_by(eager(2), graph), run_by(eager(2), graph, chains=False)
    rng = np.random.default_rng(seed)
    for _ in range(4):
        x = normal(*(int(n) for n in rng.integers(0, 40, 2)), width)
        assert_same_bits(on.run([x])[0], off.run([x])[0])


def test_half_precision_needs_workspaces_of_its_own() -> None:
    w1, w2 = normal(32, 3000).astype(np.float16), normal(3000, 32).astype(np.float16)

    @ash.jit
    def model(x: ash.f16["rows", 32]):
        return ash.softmax(ash.gelu(x @ w1) @ w2, axis=-1)

    graph = passed(model)
    on, off = run_by(eager(2), graph), run_by(eager(2), graph, chains=False)
    assert any(step.carried is not None for step in on.plan.steps)
    for rows in (1, 100, 1000):
        x = normal(rows, 32).astype(np.float16)
        np.testing.assert_array_equal(on.run([x])[0], off.run([x])[0])


def test_a_result_over_an_operand_that_the_chain_reads_by_rows() -> None:
    """The residual is a temporary of the same size: both ways write the result over it."""
    w1, w2 = normal(16, 48), normal(48, 16)

    @ash.jit
    def model(x: ash.f32["rows", 16]):
        start = ash.cumsum(x, axis=0)
        middle = start + ash.gelu(start @ w1) @ w2
        return ash.cumsum(middle, axis=0)

    graph = passed(model)
    on, off = run_by(eager(2), graph), run_by(eager(2), graph, chains=False)
    for rows in (1, 100, 1000):
        x = normal(rows, 16)
        assert_same_bits(on.run([x])[0], off.run([x])[0])


def test_calls_at_the_same_time_have_rings_of_their_own() -> None:
    executable = ash.compile(feed_forward(64, 256), threads=2)
    arrays = [normal(6000 + 7 * number, 64) for number in range(4)]
    expected = [executable(x)[0] for x in arrays]
    assert executable.specialize(rows=6000).steps[0].cost.tasks == 0
    found: list[list[Array]] = [[] for _ in arrays]

    def call(number: int) -> None:
        found[number] += [executable(arrays[number])[0] for _ in range(5)]

    threads = [threading.Thread(target=call, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for results, wanted in zip(found, expected, strict=True):
        assert len(results) == 5
        for result in results:
            assert_same_bits(result, wanted)


# --- limits ---------------------------------------------------------------------------------------

LARGE = feed_forward(64, 256)


def test_a_chain_is_cancelled_between_tiles() -> None:
    executable = ash.compile(LARGE, threads=1)
    x = normal(20_000, 64)
    stop = ash.Cancellation()
    stop.cancel()
    with pytest.raises(CancelledError):
        executable.run([x], cancellation=stop)
    with pytest.raises(DeadlineError):
        executable.run([x], deadline=1e-4)
    assert executable(x)[0].shape == x.shape


def test_a_limit_that_a_chain_keeps() -> None:
    """Without the chain, the same call has to be made in parts."""
    on, off = ash.compile(LARGE), ash.compile(LARGE, without=["pipeline"])
    x = normal(20_000, 64)
    limit = on.specialize(rows=20_000).memory().arena + x.nbytes
    assert on.specialize(rows=20_000, memory_limit=limit).economy is None
    assert off.specialize(rows=20_000, memory_limit=limit).economy is not None
    whole = off(x)[0]
    for executable in (on, off):
        assert_same_bits(executable.run([x], memory_limit=limit)[0], whole)
        with pytest.raises(MemoryLimitError):
            executable.run([x], memory_limit=x.nbytes)


# --- looking --------------------------------------------------------------------------------------


def test_steps_show_what_is_in_memory() -> None:
    executable = ash.compile(LARGE)
    x = normal(20_000, 64)
    first, second, third = executable.steps(x)
    assert first.values == second.values == ()
    assert_same_bits(third.values[0], executable(x)[0])
    few = x[:10]
    assert [len(step.values) for step in executable.steps(few)] == [1, 1, 1]


def test_executors_agree() -> None:
    x = normal(20_000, 64)
    stepwise = ash.compile(LARGE, executor="stepwise")
    assert_same_bits(stepwise(x)[0], ash.compile(LARGE)(x)[0])


def test_explain_tells_both_costs_and_what_is_left_out() -> None:
    text = str(ash.compile(LARGE).explain(rows=20_000))
    assert "pipeline applied to 1 kernel: 3 steps may take rows through tile by tile" in text
    assert "chain" in text
    assert "(not apart" in text
    assert "pipeline applied" not in str(ash.compile(LARGE, without=["pipeline"]).explain())


def test_donated_rows_are_written_over() -> None:
    w1, w2 = normal(16, 48), normal(48, 16)

    @ash.jit
    def model(x: ash.f32["rows", 16]):
        return x + ash.gelu(x @ w1) @ w2

    plain: Any = ash.compile(model, without=["pipeline"])
    executable = ash.compile(model, donate=["x"])
    for rows in (3, 60_000):
        x = normal(rows, 16)
        (expected,) = plain(x)
        assert_same_bits(executable(np.copy(x))[0], expected)
