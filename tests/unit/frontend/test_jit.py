"""`ash.jit`: static parameters, traces, arguments of other libraries, inlining, threads."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import ml_dtypes
import numpy as np
import pytest
import torch
from tests.unit.frontend.tracing import floats

import anyshape as ash
from anyshape.api.jit import TRACE_LIMIT
from anyshape.execute import compile as level_1


def counting() -> tuple[Any, list[Any]]:
    calls: list[Any] = []

    @ash.jit
    def scaled(
        x: ash.f32["n"], scale: int | float = 2, mode: Literal["up", "down"] = "up", *, on=True
    ):
        """Scales."""
        calls.append((scale, mode, on))
        return x * scale if mode == "up" else x / scale

    return scaled, calls


# --- static parameters and traces -----------------------------------------------------------------


def test_one_trace_per_combination_of_static_values() -> None:
    scaled, calls = counting()
    for size in (1, 4, 0):
        np.testing.assert_array_equal(scaled(floats(size)), floats(size) * 2)
    assert len(calls) == 1
    np.testing.assert_array_equal(scaled(floats(3), 4, mode="down"), floats(3) / 4)
    scaled(floats(3), scale=2)
    assert len(calls) == 2


def test_equal_values_of_different_types_are_different_programs() -> None:
    scaled, calls = counting()
    assert scaled(floats(2), 1).dtype == scaled(floats(2), 1.0).dtype
    assert [type(scale) for scale, _, _ in calls] == [int, float]


def test_the_number_of_traces_is_bounded() -> None:
    scaled, calls = counting()
    for scale in range(TRACE_LIMIT + 1):
        scaled(floats(1), scale)
    scaled(floats(1), TRACE_LIMIT)
    assert len(calls) == TRACE_LIMIT + 1
    scaled(floats(1), 0)  # the oldest is gone
    assert len(calls) == TRACE_LIMIT + 2


def test_graph_and_trace() -> None:
    scaled, calls = counting()
    assert scaled.graph is scaled.trace(scale=2)
    assert scaled.trace(scale=3) is not scaled.graph
    assert "f32 3.0" in scaled.trace(scale=3).as_text()
    assert len(calls) == 2


def test_metadata_of_the_function() -> None:
    scaled, _ = counting()
    assert scaled.__name__ == "scaled"
    assert scaled.__doc__ == "Scales."
    assert scaled.__wrapped__.__name__ == "scaled"


def test_many_threads_trace_once() -> None:
    scaled, calls = counting()
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda size: scaled(floats(size)), range(1, 33)))
    assert [len(result) for result in results] == list(range(1, 33))
    assert len(calls) == 1


def test_a_failed_trace_leaves_nothing_behind() -> None:
    @ash.jit
    def broken(x: ash.f32["n"], bad: bool):
        return x[0, 0] if bad else x

    with pytest.raises(ash.errors.TraceError):
        broken(floats(2), True)
    np.testing.assert_array_equal(broken(floats(2), False), floats(2))


# --- calling --------------------------------------------------------------------------------------


@ash.jit
def double(x: ash.f32["n"]):
    return x * 2


def test_inlining_into_another_function() -> None:
    @ash.jit
    def quadruple(x: ash.f32["n"]):
        return double(double(x))

    np.testing.assert_array_equal(quadruple(floats(3)), floats(3) * 4)
    assert [node.op.name for node in quadruple.graph.nodes()].count("mul") == 2


def test_results_own_their_memory() -> None:
    @ash.jit
    def views(x: ash.f32["n"]):
        return x, x[1:], ash.broadcast_to(x, (2, "n"))

    x = floats(3)
    for result in views(x):
        assert result.flags.writeable
        assert not np.shares_memory(result, x)


def test_torch_tensors_give_torch_tensors() -> None:
    x = torch.randn(4)
    assert torch.equal(double(x), x * 2)

    @ash.jit
    def half(x: ash.bf16["n"]):
        return x * 0.5

    given = torch.tensor([1.0, 3.0], dtype=torch.bfloat16)
    for _ in range(2):  # the first call, and the short way of later ones
        assert half(given).dtype == torch.bfloat16
        assert half(given).tolist() == [0.5, 1.5]
    bits = np.array([1.0, 3.0], ml_dtypes.bfloat16)
    assert half(bits).dtype == ml_dtypes.bfloat16


def test_later_calls_take_what_the_first_did() -> None:
    """Calls with nothing but arrays take a shorter way, which must not be seen."""

    @ash.jit
    def scaled(x: ash.f32["n"], k: ash.f32[()]):
        return {"y": x * k}

    x, k = floats(3), np.array(2, np.float32)
    for _ in range(2):
        np.testing.assert_array_equal(scaled(x, k)["y"], x * 2)
        np.testing.assert_array_equal(scaled(x, 2)["y"], x * 2)
        np.testing.assert_array_equal(scaled(k=k, x=x)["y"], x * 2)
        assert torch.equal(scaled(torch.from_numpy(x), k)["y"], torch.from_numpy(x * 2))
        with pytest.raises(ash.errors.DTypeError, match=r"or declare ash\.f64"):
            scaled(x.astype(np.float64), k)
        with pytest.raises(ash.errors.RankMismatchError, match="input 'x' has rank 2"):
            scaled(floats(3, 3), k)
        with pytest.raises(TypeError, match="missing a required argument: 'k'"):
            scaled(x)


# --- executors ------------------------------------------------------------------------------------


def test_calls_run_one_executable() -> None:
    @ash.jit
    def cube(x: ash.f32["n"]):
        return x * x * x

    for size in (1, 5, 1):
        cube(floats(size))
    assert cube.executable is cube.compiled()
    assert cube.executable.capabilities.executor == "native"
    metrics = cube.executable.metrics()
    assert (metrics.runs, metrics.misses) == (3, 2)


def test_many_threads_compile_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    run_passes = level_1.run_passes

    def counted(*args: Any, **options: Any) -> Any:
        made.append(args)
        return run_passes(*args, **options)

    monkeypatch.setattr(level_1, "run_passes", counted)
    scaled, _ = counting()
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda size: scaled(floats(size)), range(1, 33)))
    assert [len(result) for result in results] == list(range(1, 33))
    assert len(made) == 1


@pytest.mark.parametrize("executor", ["native", "stepwise", "reference"])
def test_the_executor_is_a_choice(executor: Any) -> None:
    @ash.jit(executor=executor)
    def f(x: ash.f32["n"]):
        return ash.exp(x), x.sum()

    x = floats(5)
    for one, other in zip(f(x), (np.exp(x), x.sum()), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    assert f.executable.capabilities.executor == executor


def test_strict_refuses_what_would_run_on_the_host() -> None:
    @ash.jit(strict=True)
    def f(x: ash.f32["n"]):
        return x + ash.random.uniform(ash.random.new_key(), ("n",))

    assert f.graph.name == "f"
    with pytest.raises(ash.errors.UnsupportedError, match="no native form of entropy"):
        f(floats(3))


def test_strict_takes_sizes_that_data_decide() -> None:
    @ash.jit(strict=True)
    def f(x: ash.f32["n"]):
        return ash.nonzero(x)

    (found,) = f(floats(3))
    assert found.tolist() == np.nonzero(floats(3))[0].tolist()


def test_objects_with_array_or_dlpack() -> None:
    class HasArray:
        def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
            return floats(3)

    class HasDlpack:
        def __dlpack__(self, **options: Any) -> Any:
            return floats(3).__dlpack__(**options)

        def __dlpack_device__(self) -> Any:
            return floats(3).__dlpack_device__()

    for given in (HasArray(), HasDlpack()):
        np.testing.assert_array_equal(double(given), floats(3) * 2)


def test_numbers_for_tensors_of_rank_0() -> None:
    @ash.jit
    def add(x: ash.f32[()], i: ash.i64[()], b: ash.bool[()]):
        return ash.where(b, x + i, x)

    assert add(1, 2, True) == 3
    assert add(1.5, 2, False) == 1.5
    assert add(np.float32(1.5), np.int64(2), np.bool_(True)) == 3.5


def test_arguments_by_name_and_positional_only() -> None:
    @ash.jit
    def minus(x: ash.f32["n"], /, y: ash.f32["n"], *, z: ash.f32["n"]):
        return x - y * z

    x, y, z = (floats(3, seed=seed) for seed in range(3))
    np.testing.assert_allclose(minus(x, z=z, y=y), x - y * z, rtol=1e-6)


def test_a_callable_object() -> None:
    class Model:
        def __call__(self, x: ash.f32["n"]) -> Any:
            return x + 1

    model = ash.jit(Model())
    np.testing.assert_array_equal(model(floats(3)), floats(3) + 1)
    assert model.graph.name == "Model"


# --- sizes ----------------------------------------------------------------------------------------


def test_sizes_are_checked_before_anything_runs() -> None:
    @ash.jit(axes=[ash.Axis("n", min=2, max=8, multiple_of=2)])
    def f(x: ash.f32["n", 3]):
        return x

    assert f(floats(4, 3)).shape == (4, 3)
    with pytest.raises(
        ash.errors.AxisRangeError, match=r"axis 'n' is 10, outside its range 2\.\.8"
    ):
        f(floats(10, 3))
    with pytest.raises(ash.errors.AxisMultipleError, match="not a multiple of 2"):
        f(floats(3, 3))
    with pytest.raises(ash.errors.DimMismatchError, match="input 'x' has size 4 at axis 1"):
        f(floats(4, 4))
    with pytest.raises(ash.errors.RankMismatchError, match="input 'x' has rank 1, expected rank 2"):
        f(floats(4))


def test_strict_makes_unproved_requirements_errors() -> None:
    def halves(x: ash.f32["n"]) -> Any:
        return ash.split(x, 2)

    assert len(ash.jit(halves)(floats(4))) == 2
    with pytest.raises(ash.errors.UnprovableError, match="declare where='n % 2 == 0'"):
        _ = ash.jit(strict=True)(halves).graph
    assert len(ash.jit(strict=True, where="n % 2 == 0")(halves)(floats(4))) == 2
