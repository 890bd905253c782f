"""Long rows of several reductions in parts: the same values at every size, in steps that have no
tasks where rows are short."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.unit.lower.lowering import all_kernels_of, kernel_of

import anyshape as ash
from anyshape.execute import Executable
from anyshape.loop.verify import verify_kernel
from anyshape.passes import PASSES, run_passes
from anyshape.passes.long_tasks import PART

RNG = np.random.default_rng(5)


@ash.jit
def softmax(x: ash.f32["n", "m"]):
    power = ash.exp(x - x.max(-1, keepdims=True))
    return power / power.sum(-1, keepdims=True)


@ash.jit
def scaled(x: ash.f32["n", "m"]):
    return x / ash.sqrt((x * x).sum(-1))[:, None]


@ash.jit
def spread(x: ash.f32["n", "m"]):
    """Of a number for each row, and of several reductions that need each other."""
    mean = x.mean(-1)
    return ash.sqrt(((x - mean[:, None]) ** 2).mean(-1)) / ash.maximum(x.max(-1) - mean, 1.0)


@ash.jit
def whitened(x: ash.f32["n", "m", "k"]):
    """Of two axes, which are walked as one."""
    centred = x - x.mean((1, 2), keepdims=True)
    return centred * ash.rsqrt((centred * centred).mean((1, 2), keepdims=True) + 1e-5)


@ash.jit
def distance_to_greatest(x: ash.f32["n", "m"]):
    return ash.argmax(x, axis=-1).astype(ash.f32) - x.min(-1)


@ash.jit
def columns(x: ash.f32["n", "m"]):
    power = ash.exp(x)
    return power / power.sum(0)


def wide(x: Any) -> Any:
    return x.astype(np.float64)


def expected_softmax(x: Any) -> Any:
    power = np.exp(wide(x) - wide(x).max(-1, keepdims=True, initial=-np.inf))
    return power / power.sum(-1, keepdims=True)


def expected_spread(x: Any) -> Any:
    return wide(x).std(-1) / np.maximum(wide(x).max(-1) - wide(x).mean(-1), 1)


def expected_whitened(x: Any) -> Any:
    centred = wide(x) - wide(x).mean((1, 2), keepdims=True)
    return centred / np.sqrt((centred**2).mean((1, 2), keepdims=True) + 1e-5)


CASES: list[tuple[Any, Callable[[Any], Any]]] = [
    (softmax, expected_softmax),
    (scaled, lambda x: x / np.sqrt((wide(x) ** 2).sum(-1, keepdims=True))),
    (spread, expected_spread),
    (whitened, expected_whitened),
    (distance_to_greatest, lambda x: x.argmax(-1) - wide(x).min(-1)),
    (columns, lambda x: np.exp(wide(x)) / np.exp(wide(x)).sum(0)),
]
LONG = 2 * PART + 3


@pytest.mark.parametrize(("function", "expected"), CASES)
@pytest.mark.parametrize("shape", [(1, LONG), (3, 33 * PART // 8), (5, 7), (LONG, 2), (1, 1)])
def test_values(function: Any, expected: Callable[[Any], Any], shape: tuple[int, ...]) -> None:
    if function is whitened:
        shape = (*shape, 2)
    x = RNG.normal(size=shape).astype(np.float32)
    np.testing.assert_allclose(function(x), expected(x), 2e-4, 1e-5)


@pytest.mark.parametrize("function", [case[0] for case in CASES])
def test_every_access_is_proved(function: Any) -> None:
    for kernel in all_kernels_of(function):
        assert verify_kernel(kernel) == []


def tasks(executable: Executable, **binding: int) -> list[int]:
    return [step.tasks for step in executable.specialize(**binding).cost().steps]


def test_short_rows_are_one_step_with_tasks() -> None:
    *before, last = tasks(softmax.executable, n=40, m=1000)
    assert before == [0] * 4
    assert last == 40


def test_long_rows_are_divided_among_threads() -> None:
    extrema, _, totals, _, _ = tasks(softmax.executable, n=1, m=64 * PART)
    assert extrema == totals == 32


def test_the_kernel_for_whole_rows_has_the_loops_of_the_compound() -> None:
    @ash.jit
    def compound(x: ash.f32["n", "m"]):
        return ash.softmax(x, axis=-1)

    assert kernel_of(softmax).body == kernel_of(compound).body


def test_the_decision_is_recorded() -> None:
    reports = run_passes(softmax.graph, PASSES).reports
    taken = [d.why for r in reports for d in r.decisions if d.rule == "long-tasks"]
    assert len(taken) == 1
    assert taken[0].startswith("rows in ")
