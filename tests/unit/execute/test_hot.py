"""Hot bindings: code whose sizes are constants, made in the background (docs/design/0073)."""

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from time import monotonic, sleep
from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.base.errors import HotError, OptionError
from anyshape.execute.hot_executor import HotExecutor
from anyshape.execute.hot_worker import HotWorker

WEIGHT = np.random.default_rng(0).standard_normal((32, 48), np.float32)
LONG = 60.0  # seconds that a test waits for what has no reason not to come


@ash.jit
def layer(x: ash.f32["batch", "seq", 32]) -> ash.Tensor:
    return ash.softmax(ash.tanh(x @ WEIGHT), axis=-1)


def expected(x: np.ndarray) -> np.ndarray:
    values = np.tanh(x @ WEIGHT)
    powers = np.exp(values - values.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def array(batch: int, seq: int) -> np.ndarray:
    shape = (batch, seq, 32)
    return np.random.default_rng(seq).standard_normal(shape).astype(np.float32)


def eventually(holds: Callable[[], bool]) -> None:
    end = monotonic() + LONG
    while not holds():
        assert monotonic() < end, "it did not come to pass"
        sleep(0.01)


def heated(made: Any, *arrays: np.ndarray, calls: int = 3) -> None:
    """Calls until the binding is hot, and the background is done."""
    metrics = made.metrics()
    over = metrics.hot_made + metrics.hot_failures
    for _ in range(calls):
        made(*arrays)

    def done() -> bool:
        now = made.metrics()
        return now.hot_made + now.hot_failures > over

    eventually(done)


def compiled(function: Any = layer, *, after: int = 3, **chosen: Any) -> Any:
    limits = {name: chosen.pop(name) for name in ("count", "bytes") if name in chosen}
    return ash.compile(function, hot=ash.Hot(after=after, **limits), threads=1, **chosen)


def executor_of(made: Any) -> HotExecutor:
    assert isinstance(made.executor, HotExecutor)
    return made.executor


# --- results --------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(1, 1), (2, 7), (3, 16)])
def test_results_are_those_of_the_program_for_all_shapes(sizes: tuple[int, int]) -> None:
    made, x = compiled(), array(*sizes)
    (cold,) = made(x)
    heated(made, x)
    (hot,) = made(x)
    assert made.metrics().hot_runs == 1
    np.testing.assert_allclose(hot, cold, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(hot, expected(x), rtol=1e-5, atol=1e-6)


def test_it_is_off_unless_asked_for() -> None:
    for chosen in ({}, {"hot": False}):
        made = ash.compile(layer, **chosen)
        assert not isinstance(made.executor, HotExecutor)


def test_other_sizes_go_on_as_before() -> None:
    made = compiled()
    heated(made, array(2, 5))
    (result,) = made(array(2, 6))
    np.testing.assert_allclose(result, expected(array(2, 6)), rtol=1e-5, atol=1e-6)
    assert made.metrics().hot_runs == 0
    assert made.metrics().runs == 4


def test_weights_are_held_once() -> None:
    made = compiled()
    before = made.memory().weights
    heated(made, array(2, 5))
    assert made.metrics().hot_bindings == 1
    assert made.memory().weights == before


def test_out_deadlines_and_memory_limits() -> None:
    made, x = compiled(), array(2, 5)
    heated(made, x)
    out = np.empty((2, 5, 48), np.float32)
    (result,) = made.run((x,), out=[out], deadline=LONG)
    assert result is out
    np.testing.assert_allclose(out, expected(x), rtol=1e-5, atol=1e-6)
    assert made.metrics().hot_runs == 1
    made.run((x,), memory_limit="1 GB")
    assert made.metrics().hot_runs == 1, "a call with a limit may be divided along its axes"


def test_a_wrong_array_of_a_hot_shape_is_refused_as_ever() -> None:
    made = compiled()
    with pytest.raises(ash.AnyshapeError) as cold:
        made(array(2, 5).astype(np.float64))
    heated(made, array(2, 5))
    with pytest.raises(ash.AnyshapeError) as hot:
        made(array(2, 5).astype(np.float64))
    assert str(hot.value) == str(cold.value)


def test_late_axes_and_results_kept() -> None:
    @ash.jit
    def places(x: ash.f32["n"]) -> ash.Tensor:
        return ash.nonzero(x)

    made, x = compiled(places), np.array([0, 1, 0, 2, 3], np.float32)
    heated(made, x)
    np.testing.assert_array_equal(np.asarray(made(x)[0]).ravel(), [1, 3, 4])
    remembering = compiled(layer, result_cache="1 MB")
    remembering(array(1, 2))
    (again,) = remembering(array(1, 2))
    np.testing.assert_allclose(again, expected(array(1, 2)), rtol=1e-5, atol=1e-6)


def test_branches_and_loops_of_a_hot_shape() -> None:
    @ash.jit
    def halved(x: ash.f32["n"]) -> ash.Tensor:
        small = ash.while_loop(lambda y: ash.max(y) > 1, lambda y: y * 0.5, x)
        return ash.cond(ash.sum(x) > 0, lambda: small, lambda: -small)

    made = compiled(halved)
    heated(made, np.array([8, 3, -2], np.float32))
    (positive,) = made(np.array([8, 3, -2], np.float32))
    (negative,) = made(np.array([1, -3, -2], np.float32))
    np.testing.assert_array_equal(positive, np.array([1, 0.375, -0.25], np.float32))
    np.testing.assert_array_equal(negative, np.array([-1, 3, 2], np.float32))
    assert made.metrics().hot_runs > 0


def test_a_late_size_that_is_refused_in_hot_code_is_told_as_ever() -> None:
    @ash.jit
    def added(x: ash.f32["n"], y: ash.f32["m"]) -> ash.Tensor:
        return ash.masked_select(x, x > 0) + y

    made = compiled(added)
    x, y = np.array([1, -1, 2], np.float32), np.array([3, 4], np.float32)
    with pytest.raises(ash.AnyshapeError) as cold:
        made(np.array([1, 1, 2], np.float32), y)
    heated(made, x, y)
    np.testing.assert_array_equal(made(x, y)[0], np.array([4, 6], np.float32))
    with pytest.raises(ash.AnyshapeError) as hot:
        made(np.array([1, 1, 2], np.float32), y)
    assert str(hot.value) == str(cold.value)


def test_indices_are_checked_in_hot_code_too() -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    table, ids = torch.nn.Embedding(5, 4), torch.tensor([[0, 4, 2]])
    made = compiled(table, args=(ids,), axes={"input": ("batch", "seq")})
    with pytest.raises(ash.errors.IndexRangeError) as cold:
        made(torch.tensor([[0, 7, 1]]))
    heated(made, ids)
    with pytest.raises(ash.errors.IndexRangeError) as hot:
        made(torch.tensor([[0, 7, 1]]))
    assert str(hot.value) == str(cold.value)
    assert made.metrics().hot_runs == 1
    assert torch.equal(made(ids), table(ids))


# --- bounds ---------------------------------------------------------------------------------------


def test_the_least_recently_used_goes() -> None:
    made = compiled(count=2)
    heated(made, array(1, 2))
    heated(made, array(1, 3))
    made(array(1, 2))
    heated(made, array(1, 4))
    assert made.metrics().hot_evictions == 1
    assert made.metrics().hot_bindings == 2
    lines = made.strategies().hot
    assert [line.partition(":")[0] for line in lines] == ["batch=1, seq=2", "batch=1, seq=4"]


def test_what_holds_more_bytes_than_allowed_is_not_kept() -> None:
    made = compiled(bytes=1)
    heated(made, array(1, 2))
    metrics = made.metrics()
    assert (metrics.hot_bindings, metrics.hot_failures, metrics.hot_bytes) == (0, 1, 0)
    assert "more than 1 B" in str(made.explain())


def test_bytes_are_those_that_are_told() -> None:
    made = compiled()
    heated(made, array(1, 2))
    assert 0 < made.metrics().hot_bytes <= executor_of(made).hot.bytes
    assert "anyshape_hot_bindings 1" in made.metrics().as_prometheus()


# --- the background -------------------------------------------------------------------------------


def test_a_failure_reaches_no_call() -> None:
    made, x = compiled(), array(2, 5)

    def fails(*_: object) -> Any:
        raise ValueError("no code today\nfor anybody")

    executor_of(made)._compile_fixed = fails
    heated(made, x)
    for _ in range(5):
        np.testing.assert_allclose(made(x)[0], expected(x), rtol=1e-5, atol=1e-6)
    assert made.metrics().hot_failures == 1, "it is not tried again"
    assert "not compiled: ValueError: no code today" in str(made.explain())


def test_no_call_waits_for_the_background() -> None:
    made, x, go, begun = compiled(), array(2, 5), Event(), Event()
    hot, compile_fixed = executor_of(made), executor_of(made)._compile_fixed
    hot._worker = HotWorker()

    def held(*given: Any) -> Any:
        begun.set()
        assert go.wait(LONG)
        return compile_fixed(*given)

    hot._compile_fixed = held
    for _ in range(50):
        made(x)
    assert begun.wait(LONG)
    for _ in range(50):
        made(x)
    assert made.metrics().hot_made == 0
    go.set()
    eventually(lambda: made.metrics().hot_made == 1)


def test_calls_of_many_threads_while_code_comes_and_goes() -> None:
    made = compiled(count=2)
    arrays = [array(1, seq) for seq in range(1, 7)]
    right = [expected(x) for x in arrays]

    def call(number: int) -> None:
        for turn in range(120):
            at = (number + turn // 20) % len(arrays)
            np.testing.assert_allclose(made(arrays[at])[0], right[at], rtol=1e-5, atol=1e-6)
            sleep(0.002)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(call, range(4)))
    eventually(lambda: made.metrics().hot_made >= 1)
    assert made.metrics().hot_bindings <= 2
    assert made.metrics().hot_failures == 0


def test_stopping_ends_a_job_at_its_next_stage() -> None:
    worker, begun, ended = HotWorker(), Event(), Event()

    def job(line: Any) -> None:
        begun.set()
        try:
            while True:
                line.say("passes")
                sleep(0.001)
        finally:
            ended.set()

    worker.add(job)
    assert begun.wait(LONG)
    worker.stop()
    assert ended.is_set()
    worker.add(lambda _: pytest.fail("nothing is begun any more"))


def test_a_process_ends_while_code_is_made() -> None:
    script = (
        "import numpy as np, anyshape as ash\n"
        "@ash.jit\n"
        "def f(x: ash.f32['n', 'm']): return ash.softmax(ash.tanh(x) @ x.T, axis=-1)\n"
        "made = ash.compile(f, hot=ash.Hot(after=1), options=ash.Options(cache_dir=None))\n"
        "for n in range(1, 9): made(np.ones((n, 3), np.float32))\n"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, timeout=LONG, check=False)
    assert (done.returncode, done.stderr.decode()) == (0, "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_child_finishes_what_a_fork_left_undone() -> None:
    worker, go = HotWorker(), Event()
    done: list[int] = []

    def first(_: object) -> None:
        if not done and os.getpid() == parent:
            go.wait(LONG)
        done.append(1)

    parent = os.getpid()
    worker.add(first)
    child = os.fork()
    if child == 0:
        worker.add(lambda _: done.append(2))
        end = monotonic() + LONG
        while done != [1, 2] and monotonic() < end:
            sleep(0.01)
        os._exit(0 if done == [1, 2] else 1)
    go.set()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chosen", "problem"),
    [
        ({"executor": "stepwise"}, "the stepwise executor compiles nothing"),
        ({"deterministic": True}, "deterministic results do not depend on earlier calls"),
        ({"memory_limit": "1 GB"}, "memory_limit divides calls along axes"),
        ({"donate": ("x",)}, "a donated input that code has overwritten cannot be run again"),
    ],
)
def test_choices_that_exclude_it_are_refused(chosen: dict[str, Any], problem: str) -> None:
    with pytest.raises(HotError) as refused:
        ash.compile(layer, hot=True, **chosen)
    assert str(refused.value).startswith(
        f"'layer' cannot have code for its hot bindings: {problem}\nfix: "
    )


@pytest.mark.parametrize(
    ("axis", "problem"),
    [
        (ash.Axis("n", max=8, static=True), "a static axis"),
        (ash.Axis("n", max=8, buckets="pow2"), "an axis has buckets"),
    ],
)
def test_axes_that_exclude_it_are_refused(axis: ash.Axis, problem: str) -> None:
    @ash.jit(axes=[axis])
    def one(x: ash.f32["n"]) -> ash.Tensor:
        return ash.exp(x)

    with pytest.raises(HotError, match=problem):
        ash.compile(one, hot=True)


@pytest.mark.parametrize("wrong", [3, "yes", 0])
def test_what_is_no_choice_is_refused(wrong: Any) -> None:
    with pytest.raises(OptionError, match="hot"):
        ash.compile(layer, hot=wrong)


@pytest.mark.parametrize("wrong", [{"after": 0}, {"count": -1}, {"bytes": "much"}])
def test_limits_that_are_none_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=f"hot.{next(iter(wrong))}"):
        ash.Hot(**wrong)
