"""Three executors, one interface: the same results, and each says what it can do."""

from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.base.errors import CapabilityError
from anyshape.execute import EXECUTORS, Capabilities, CompileOptions, Executable
from anyshape.ir import evaluate, parse
from anyshape.ir.types import ALL_DTYPES, f32

NAMES = tuple(EXECUTORS)


@ash.jit
def layer(x: ash.f32["batch", 8], w: ash.f32[8, 4]):
    h = ash.softmax(x @ w)
    return h, x, h, h.reshape(-1), ash.exp(h).sum(axis=1)


@ash.jit
def positive(x: ash.f32["n"]):
    return ash.exp(x)[ash.nonzero(x > 0)] * 2


def arrays(batch: int) -> list[Any]:
    rng = np.random.default_rng(batch)
    return [rng.standard_normal(shape).astype(np.float32) for shape in ((batch, 8), (8, 4))]


@pytest.fixture(scope="module", params=NAMES)
def executable(request: pytest.FixtureRequest) -> Executable:
    return ash.compile(layer, executor=request.param)


@pytest.mark.parametrize("batch", [0, 1, 7])
def test_all_agree_with_the_definition(executable: Executable, batch: int) -> None:
    found = executable(*arrays(batch))
    for one, other in zip(found, evaluate(layer.graph, *arrays(batch)), strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_results_share_memory_with_nothing(executable: Executable) -> None:
    given = arrays(3)
    found = [*executable(*given), *given]
    for number, array in enumerate(found):
        assert not any(np.shares_memory(array, other) for other in found[:number])


def test_runs_are_counted(executable: Executable) -> None:
    before = executable.metrics().runs
    executable(*arrays(2))
    assert executable.metrics().runs == before + 1


def test_stepwise_is_native_bit_by_bit() -> None:
    native, stepwise = (ash.compile(layer, executor=name) for name in ("native", "stepwise"))
    for one, other in zip(native(*arrays(5)), stepwise(*arrays(5)), strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_every_value_can_be_seen(name: Any) -> None:
    given = arrays(3)
    executable = ash.compile(layer, executor=name)
    wanted = executable(*given)
    steps = list(executable.steps(*given))
    assert [step.number for step in steps] == list(range(len(steps)))
    assert all(step.nanoseconds >= 0 for step in steps)
    seen = {value.tobytes() for step in steps for value in step.values}
    assert {array.tobytes() for array in (wanted[0], wanted[4])} <= seen


@pytest.mark.parametrize("name", NAMES)
def test_host_nodes_are_steps_as_well(name: Any) -> None:
    x = np.array([1, -1, 2], np.float32)
    executable = ash.compile(positive, executor=name)
    np.testing.assert_allclose(executable(x)[0], 2 * np.exp(x[[0, 2]]), rtol=1e-6)
    steps = {step.name: step for step in executable.steps(x)}
    bearer = steps["nonzero" if name == "reference" else "prefix"]
    assert bearer.values[0].ravel().tolist() == [0, 2]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("function", [layer, positive])
def test_steps_end_with_the_results_of_the_call(name: Any, function: Any) -> None:
    given = arrays(3) if function is layer else [np.array([1, -1, 2], np.float32)]
    executable = ash.compile(function, executor=name)
    steps = executable.executor.steps(given)
    while True:
        try:
            next(steps)
        except StopIteration as over:
            results = over.value
            break
    for one, other in zip(results, executable(*given), strict=True):
        np.testing.assert_array_equal(one, other)


def test_looking_at_steps_runs_nothing_twice() -> None:
    executable = ash.compile(positive)
    segments = executable.executor.segments
    assert len(list(executable.steps(np.array([1, -1, 2], np.float32)))) >= 3
    assert [segment.metrics().runs for segment in segments] == [0] * len(segments)


# --- capabilities ---------------------------------------------------------------------------------


def test_what_each_declares() -> None:
    assert [c.executor for c in EXECUTORS.values()] == list(NAMES)
    assert [c.threads for c in EXECUTORS.values()] == [True, False, False]
    assert [c.specializations for c in EXECUTORS.values()] == [True, True, False]
    for declared in EXECUTORS.values():
        flags = (declared.dynamic_axes, declared.named_axes, declared.late_axes, declared.regions)
        assert flags == (True, True, True, True)
        assert declared.dtypes == frozenset(ALL_DTYPES)


def test_an_executor_with_less_refuses_everything_at_once() -> None:
    poor = Capabilities(
        "stepwise",
        dtypes=frozenset({f32}),
        dynamic_axes=False,
        named_axes=False,
        late_axes=False,
        specializations=False,
    )
    with pytest.raises(CapabilityError) as caught:
        poor.check(positive.graph, CompileOptions(threads=2, wait_for_team=True, memory_limit=9))
    assert str(caught.value) == (
        "the stepwise executor does not support element types (bool, i64), dynamic axes (n), "
        "named axes (n), late axes (nonzero: 1), "
        "threads=2 (it runs on the calling thread alone), wait_for_team=True (it has no team), "
        "memory_limit=9 (it plans no memory)\n"
        "fix: compile with executor='reference'; "
        "leave out threads and wait_for_team and memory_limit"
    )


FIXED = "graph f(x: f32[2, 3]) -> f32[2, 3] {\n  %0 = exp(x)\n  return %0\n}"
UNNAMED = "graph f(x: f32[?0, 3]) -> f32[?0, 3] {\n  %0 = exp(x)\n  return %0\n}"


def test_axes_are_looked_at_where_callers_choose_them() -> None:
    without_names = Capabilities("native", named_axes=False)
    without_axes = Capabilities("native", dynamic_axes=False)
    for poor in (without_names, without_axes):
        poor.check(parse(FIXED), CompileOptions())
    without_names.check(parse(UNNAMED), CompileOptions())
    with pytest.raises(CapabilityError, match=r"dynamic axes \(\?0\)"):
        without_axes.check(parse(UNNAMED), CompileOptions())
    with pytest.raises(CapabilityError, match=r"support named axes \(batch\)\n"):
        without_names.check(layer.graph, CompileOptions())


def test_regions_are_looked_into() -> None:
    @ash.jit
    def branch(x: ash.f32["n"]):
        return ash.cond(x.sum() > 0, lambda v: v[ash.nonzero(v)].sum(), lambda v: v.sum(), x)

    with pytest.raises(CapabilityError, match=r"late axes \(nonzero: 1\)"):
        Capabilities("native", late_axes=False).check(branch.graph, CompileOptions())
    with pytest.raises(CapabilityError, match=r"regions \(cond: 1\)"):
        Capabilities("native", regions=False).check(branch.graph, CompileOptions())


@pytest.mark.parametrize("name", ["stepwise", "reference"])
def test_one_thread_is_all_that_some_have(name: Any) -> None:
    assert ash.compile(layer, executor=name, threads=1).executor.threads == 1
    with pytest.raises(CapabilityError) as caught:
        ash.compile(layer, executor=name, threads=4, wait_for_team=True)
    assert str(caught.value) == (
        f"the {name} executor does not support threads=4 (it runs on the calling thread alone), "
        "wait_for_team=True (it has no team)\nfix: leave out threads and wait_for_team"
    )


def test_threads_are_an_upper_bound() -> None:
    assert ash.compile(layer, threads=1).executor.threads == 1
    assert ash.compile(layer).executor.threads >= 1


def test_the_reference_has_no_specializations() -> None:
    with pytest.raises(CapabilityError) as caught:
        ash.compile(layer, executor="reference").specialize(batch=1)
    assert str(caught.value) == (
        "the reference executor has no specializations\nfix: compile with executor='native'"
    )


def test_the_reference_does_not_promise_native_ops() -> None:
    with pytest.raises(CapabilityError) as caught:
        ash.compile(layer, executor="reference", strict=True)
    assert "strict=True (none of its ops is native)" in str(caught.value)


def test_reductions_over_no_axes() -> None:
    """There is nothing to divide into parts: a scalar, or an empty list of axes."""

    @ash.jit
    def f(x: ash.u16[()], y: ash.f32["a"]):
        return ash.mean(x, keepdims=True), x.sum(), y.sum(()), y.max(())

    y = np.array([1.0, -2.0, 3.0], np.float32)
    mean, total, summed, largest = f(np.array(8, np.uint16), y)
    assert (mean, total) == (8, 8)
    np.testing.assert_array_equal(summed, y)
    np.testing.assert_array_equal(largest, y)
