"""Who runs the programs of a course. A team is woken once: what counts is all that they share."""

import numpy as np
import pytest

import anyshape as ash
from anyshape import Executable, Options
from anyshape.runtime.machine import machine

ROWS, WIDTH = 192, 512
WEIGHTS = np.random.default_rng(0).standard_normal((ROWS, WIDTH), np.float32) / 16

pytestmark = pytest.mark.skipif(machine().cpus < 2, reason="needs two CPUs")


@ash.jit
def repeated(x: ash.f32[1, ROWS], often: ash.i64[()]):
    """A product of some four microseconds, as the usual costs have it, in each iteration."""

    def step(i, y):
        return i + 1, ash.tanh(y @ WEIGHTS)[:, :ROWS]

    return ash.while_loop(lambda i, y: i < often, step, (often * 0, x))[1]


def expected(x: np.ndarray, often: int) -> np.ndarray:
    for _ in range(often):
        x = np.tanh(x.astype(np.float64) @ WEIGHTS)[:, :ROWS]
    return x


@pytest.fixture
def executable() -> Executable:
    return ash.compile(repeated, threads=2, options=Options(calibrate=False))


@pytest.mark.parametrize("often", [1, 2])
def test_a_few_short_programs_are_not_worth_a_team(executable: Executable, often: int) -> None:
    x = np.ones((1, ROWS), np.float32)
    np.testing.assert_allclose(executable(x, np.array(often))[0], expected(x, often), atol=1e-5)
    assert executable.metrics().team_runs == 0


def test_many_of_them_are(executable: Executable) -> None:
    x = np.ones((1, ROWS), np.float32)
    np.testing.assert_allclose(executable(x, np.array(20))[0], expected(x, 20), atol=1e-4)
    assert executable.metrics().team_runs >= 16


def test_each_call_begins_anew(executable: Executable) -> None:
    for _ in range(20):
        executable(np.ones((1, ROWS), np.float32), np.array(2))
    assert executable.metrics().team_runs == 0
