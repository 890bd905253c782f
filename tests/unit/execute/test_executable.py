"""Executables: one compile, any shape, errors in the words of the model."""

import numpy as np
import pytest

import anyshape as ash
from anyshape.base.errors import (
    AxisConflictError,
    AxisMultipleError,
    AxisRangeError,
    FactViolationError,
    RankMismatchError,
)
from anyshape.execute import Executable
from anyshape.ir import evaluate, parse

MLP = """
axes { batch: 0..  }
graph mlp(x: f32[batch, 64], w1: f32[64, 32], b1: f32[32], w2: f32[32, 16], b2: f32[16])
    -> f32[batch, 16] {
  %0 = dense(x, w1, b1) {activation=gelu}
  %1 = dense(%0, w2, b2) {activation=relu}
  %2 = softmax(%1) {axis=1}
  return %2
}
"""


def random_arrays(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(sum(map(sum, shapes)))
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def mlp_arrays(batch: int) -> list[np.ndarray]:
    return random_arrays((batch, 64), (64, 32), (32,), (32, 16), (16,))


@pytest.fixture(scope="module")
def mlp() -> Executable:
    return ash.compile(parse(MLP))


def test_text_to_one_native_call_at_many_bindings(mlp: Executable) -> None:
    for batch in (1, 7, 0, 64, 131, 7):
        arrays = mlp_arrays(batch)
        (found,) = mlp(*arrays)
        (wanted,) = evaluate(mlp.source, *arrays)
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    metrics = mlp.metrics()
    assert (metrics.misses, metrics.hits) == (5, 1)


@pytest.mark.parametrize(
    ("axes", "error", "message"),
    [
        ({"n": 68, "m": 2}, AxisRangeError, "axis 'n' is 68, outside its range 1..64"),
        ({"n": 4, "m": 8}, FactViolationError, "'m <= n' does not hold for m=8, n=4"),
    ],
)
def test_bindings_that_no_call_could_have(
    axes: dict[str, int], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        ash.compile(guarded).specialize(**axes)
    assert message in str(caught.value)


def test_bindings_ahead_of_time(mlp: Executable) -> None:
    before = mlp.metrics()
    made = mlp.pre_specialize([{"batch": 501}, {"batch": 502}])
    assert [specialization.binding for specialization in made] == [{"batch": 501}, {"batch": 502}]
    mlp(*mlp_arrays(502))
    after = mlp.metrics()
    assert (after.misses - before.misses, after.hits - before.hits) == (2, 1)


def test_axes(mlp: Executable) -> None:
    assert [axis.name for axis in mlp.axes] == ["batch"]


def test_what_is_held_between_calls() -> None:
    weights = np.eye(192, k=1, dtype=np.float32)  # whole panels, however wide they are

    @ash.jit
    def layer(x: ash.f32["batch", 192]):
        return ash.exp(x @ weights) @ weights.T

    compiled = ash.compile(layer)
    before = compiled.memory()
    assert before.weights == 2 * weights.nbytes  # in panels, nobody reads it plain
    assert before.code > 0
    assert (before.specializations, before.idle_arenas) == (0, 0)
    compiled(np.ones((5, 192), np.float32))
    after = compiled.memory()
    assert after.specializations > 0
    assert after.idle_arenas >= compiled.specialize(batch=5).memory().arena > 0
    assert (after.weights, after.code) == (before.weights, before.code)


def test_the_text_shows_one_kernel_per_step(mlp: Executable) -> None:
    assert mlp.as_text().count("= kernel(") == 3


def test_a_jitted_function_with_shared_and_direct_results() -> None:
    @ash.jit
    def several(x: ash.f32["n", "m"]):
        y = ash.exp(x)
        return x, y, y, y.reshape(-1), np.float32(3), x

    compiled = ash.compile(several)
    (x,) = random_arrays((3, 5))
    found = compiled(x)
    for one, other in zip(found, evaluate(several.graph, x), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    assert len({array.ctypes.data for array in found}) == len(found)


@ash.jit(axes=[ash.Axis("n", min=1, max=64, multiple_of=4)], where="m <= n")
def guarded(x: ash.f32["n", "m"], y: ash.f32["n", "m"]):
    return x + y


@pytest.mark.parametrize(
    ("shapes", "error", "message"),
    [
        (((4, 2), (8, 2)), AxisConflictError, "input 'x' has 4 (axis 0), input 'y' has 8"),
        (((6, 2), (6, 2)), AxisMultipleError, "axis 'n' is 6, not a multiple of 4"),
        (((4, 5), (4, 5)), FactViolationError, "'m <= n' does not hold for m=5, n=4"),
        (((4,), (4, 2)), RankMismatchError, "input 'x' has rank 1, expected rank 2"),
    ],
)
def test_errors_name_axes_inputs_and_facts(
    shapes: tuple[tuple[int, ...], ...], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        ash.compile(guarded)(*random_arrays(*shapes))
    assert message in str(caught.value)
