"""Late axes, control flow and effects in compiled graphs, against the interpreter and NumPy."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch

import anyshape as ash
from anyshape.base.errors import AxisConflictError, DTypeError, FactViolationError
from anyshape.execute import Executable
from anyshape.execute.host import HostExecutor
from anyshape.execute.regions import HostStep, RegionPlan
from anyshape.ir import evaluate

Array = np.ndarray[Any, Any]


def floats(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def check(executable: Executable, *arrays: Any) -> tuple[Array, ...]:
    """The results, which are those of the interpreter."""
    found = executable(*arrays)
    for one, other in zip(found, evaluate(executable.source, *arrays), strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)
    return found


def host_step(executable: Executable, op: str) -> HostStep:
    (found,) = (step for step in host_steps(plan_of(executable)) if step.node.op.name == op)
    return found


def plan_of(executable: Executable) -> RegionPlan:
    assert isinstance(executable.executor, HostExecutor)
    return executable.executor.plan


def host_steps(plan: RegionPlan) -> Iterator[HostStep]:
    for step in plan.steps:
        if isinstance(step, HostStep):
            yield step
            for inner in step.regions:
                yield from host_steps(inner)


def runs(plan: RegionPlan) -> int:
    """How often the segments of a region have run."""
    return sum(segment.executor.metrics().runs for segment in plan.segments)


# --- cond -----------------------------------------------------------------------------------------

WIDE = floats(8, 8, seed=1)
HEAD = floats(8, 3, seed=2)


@ash.jit
def early_exit(x: ash.f32["batch", 8], threshold: ash.f32[()]):
    """Confident batches skip the second layer."""
    first = ash.relu(x @ WIDE)
    logits = first @ HEAD
    confident = ash.softmax(logits, axis=-1).max(axis=-1).min() > threshold
    return ash.cond(confident, lambda: logits, lambda: ash.gelu(first @ WIDE) @ HEAD)


def test_only_the_branch_taken_runs() -> None:
    executable = ash.compile(early_exit)
    for batch in (1, 7, 64):
        check(executable, floats(batch, 8), np.float32(0.0).reshape(()))
    then, other = host_step(executable, "cond").regions
    assert runs(other) == 0
    check(executable, floats(5, 8), np.float32(2.0).reshape(()))
    assert runs(other) == 1
    assert not list(then.segments), "the early exit computes nothing more"


def test_a_branch_may_give_back_what_it_was_given() -> None:
    @ash.jit
    def pick(p: ash.bool[()], x: ash.f32["n"], y: ash.f32["n"]):
        chosen = ash.cond(p, lambda: x, lambda: y)
        return chosen, chosen, x

    executable = ash.compile(pick)
    x, y = floats(4), floats(4, seed=1)
    results = check(executable, np.array(True), x, y)
    for number, result in enumerate(results):
        result[:] = number
    assert [result[0] for result in results] == [0, 1, 2]
    np.testing.assert_array_equal(x, floats(4))


def test_sizes_that_differ_between_branches() -> None:
    @ash.jit
    def trimmed(p: ash.bool[()], x: ash.f32["n", 3]):
        y = ash.cond(p, lambda: x[: x.shape[0] // 2] * 2, lambda: x - 1)
        return y.sum(axis=0), y @ y.mT

    executable = ash.compile(trimmed)
    for n in (0, 1, 2, 9, 70):
        for taken in (True, False):
            check(executable, np.array(taken), floats(n, 3))


# --- late axes ------------------------------------------------------------------------------------


@ash.jit
def selected(x: ash.f32["n", 4], score: ash.f32["n"]):
    (rows,) = ash.nonzero(score > 0)
    chosen = x[rows]
    return chosen.sum(axis=0), ash.softmax(chosen, axis=-1), chosen.shape[0] + rows


@pytest.mark.parametrize("n", [0, 1, 2, 7, 64, 131])
def test_none_some_and_all_rows(n: int) -> None:
    executable = ash.compile(selected)
    for score in (floats(n), np.ones(n, np.float32), -np.ones(n, np.float32)):
        total, rows, _ = check(executable, floats(n, 4, seed=3), score)
        np.testing.assert_allclose(
            total, floats(n, 4, seed=3)[score > 0].sum(axis=0), rtol=1e-5, atol=1e-5
        )
        assert len(rows) == (score > 0).sum()


def test_a_late_size_without_its_tensor() -> None:
    """What is left of the rows is their number: no tensor carries it across the cut."""

    @ash.jit
    def counted(x: ash.f32["n"]):
        count = ash.argwhere(x > 0).shape[0]
        return ash.arange(count) * 2, ash.zeros((count, 3)) + 1, x * count

    executable = ash.compile(counted)
    for n in (0, 1, 33):
        check(executable, floats(n))


def test_facts_on_late_sizes_are_checked_when_they_are_born() -> None:
    @ash.jit
    def pairs(x: ash.f32["n"]):
        (rows,) = ash.nonzero(x > 0)
        return x[rows].reshape(-1, 2).sum(axis=1)

    executable = ash.compile(pairs)
    check(executable, np.array([1, -1, 2, 0], np.float32))
    odd = np.array([1, -1, 2, 3], np.float32)
    with pytest.raises(FactViolationError) as found:
        executable(odd)
    with pytest.raises(FactViolationError) as wanted:
        evaluate(pairs.graph, odd)
    assert str(found.value) == str(wanted.value)


# --- loops ----------------------------------------------------------------------------------------


def test_a_size_that_grows_in_a_loop() -> None:
    @ash.jit
    def generate(prompt: ash.f32["n", 4], stop: ash.f32[()]):
        """Appends the mean of what is there until there is enough of it."""

        def more(rows: Any, total: Any) -> Any:
            return total < stop

        def append(rows: Any, total: Any) -> Any:
            row = ash.tanh(rows.sum(axis=0, keepdims=True)) + 1
            return ash.concat([rows, row], axis=0), total + row.sum()

        return ash.while_loop(more, append, prompt, prompt.sum())

    executable = ash.compile(generate)
    for n in (0, 1, 5):
        for stop in (-100.0, 0.0, 30.0):
            check(executable, floats(n, 4), np.float32(stop).reshape(()))
    metrics = executable.metrics()
    assert metrics.hits > 0, "a size that was met before is not planned again"


def test_a_recurrent_network() -> None:
    w, u = floats(6, 5, seed=1) / 3, floats(5, 5, seed=2) / 3

    @ash.jit
    def rnn(xs: ash.f32["seq", "batch", 6], h: ash.f32["batch", 5]):
        def step(h: Any, x: Any) -> Any:
            following = ash.tanh(x @ w + h @ u)
            return following, following

        return ash.scan(step, h, xs)

    executable = ash.compile(rnn)
    for seq, batch in ((0, 2), (1, 1), (5, 3), (40, 0), (33, 17)):
        xs, h = floats(seq, batch, 6), floats(batch, 5, seed=4)
        last, states = check(executable, xs, h)
        for x in xs:
            h = np.tanh(x @ w + h @ u)
        np.testing.assert_allclose(last, h, rtol=1e-4, atol=1e-5)
        assert states.shape == (seq, batch, 5)
    body = host_step(executable, "scan").regions[0]
    assert runs(body) == 0 + 1 + 5 + 40 + 33
    assert len(list(body.segments)) == 1, "an iteration is one native call"


def test_regions_inside_regions() -> None:
    @ash.jit
    def nested(x: ash.f32["n"], rounds: ash.i64[()]):
        def more(x: Any, left: Any) -> Any:
            return left > 0

        def round_(x: Any, left: Any) -> Any:
            def found(x: Any) -> Any:
                (places,) = ash.nonzero(x > 0)
                total, _ = ash.scan(lambda t, v: (t * 0.5 + v, t), x.sum(), x[places])
                return x - total

            return ash.cond(left % 2 == 0, found, lambda x: ash.exp(-ash.abs(x)), x), left - 1

        return ash.while_loop(more, round_, x, rounds)

    executable = ash.compile(nested)
    for n in (0, 1, 9):
        for rounds in (0, 1, 5):
            check(executable, floats(n), np.int64(rounds).reshape(()))


# --- effects --------------------------------------------------------------------------------------


def test_keys_from_the_system_differ_and_draws_follow_from_them() -> None:
    @ash.jit
    def draws(x: ash.f32["n"]):
        first, second = ash.random.new_key(), ash.random.new_key()
        return first, second, ash.random.bits(first, x.shape), ash.random.uniform(second, x.shape)

    executable = ash.compile(draws)
    one, other = (executable(floats(9)) for _ in range(2))
    assert len({tuple(key) for results in (one, other) for key in results[:2]}) == 4

    @ash.jit
    def again(first: ash.u32[2], second: ash.u32[2], x: ash.f32["n"]):
        return ash.random.bits(first, x.shape), ash.random.uniform(second, x.shape)

    for results in (one, other):
        for found, wanted in zip(
            results[2:], evaluate(again.graph, *results[:2], floats(9)), strict=True
        ):
            np.testing.assert_array_equal(found, wanted)


# --- as any other executable ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arrays", "error", "message"),
    [
        ((floats(4, 4), floats(5)), AxisConflictError, "input 'x' has 4 (axis 0), input 'score'"),
        ((floats(4, 4), np.zeros(4)), DTypeError, "input 'score': expected f32, got f64"),
    ],
)
def test_inputs_are_checked_before_anything_runs(
    arrays: Sequence[Any], error: type[Exception], message: str
) -> None:
    executable = ash.compile(selected)
    with pytest.raises(error) as caught:
        executable(*arrays)
    assert message in str(caught.value)


def test_awkward_and_foreign_arrays() -> None:
    executable = ash.compile(selected)
    x, score = floats(12, 8)[::-2, ::2], floats(12)[::2]
    check(executable, x, score)
    given = torch.from_numpy(x.copy()), torch.from_numpy(score.copy())
    results = executable(*given)
    for found, wanted in zip(results, executable(x, score), strict=True):
        assert isinstance(found, torch.Tensor)
        np.testing.assert_array_equal(found.numpy(), wanted)


def test_many_threads_at_once() -> None:
    executable = ash.compile(selected)

    def call(seed: int) -> None:
        check(executable, floats(40 + seed % 3, 4, seed=seed), floats(40 + seed % 3, seed=seed + 1))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(call, range(40)))


def test_one_step_at_a_time() -> None:
    arrays = floats(6, 4), floats(6, seed=1)
    stepwise = ash.compile(selected, executor="stepwise")
    check(stepwise, *arrays)
    native = ash.compile(selected)
    for executable in (stepwise, native):
        seen = list(executable.steps(*arrays))
        assert [step.number for step in seen] == list(range(len(seen)))
        (places,) = (step.values[0] for step in seen if step.name == "prefix")
        np.testing.assert_array_equal(places, np.argwhere(arrays[1] > 0))
        assert len(seen) > 3, "the kernels of segments are steps too"


def test_explain_names_what_runs_on_the_host() -> None:
    @ash.jit
    def noisy(x: ash.f32["n"]):
        return x + ash.random.uniform(ash.random.new_key(), x.shape)

    explained = ash.compile(noisy).explain()
    assert explained.host_ops == (("entropy", 1),)
    assert "segments refused for 1 entropy: it has no native form" in str(explained)
    assert ash.compile(selected).explain().host_ops == (), "late sizes are the runtime's own"
