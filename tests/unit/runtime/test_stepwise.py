"""Stepper: the same kernels one at a time, with a look at the buffers in between."""

import gc

import numpy as np
import pytest
from tests.unit.runtime.graphs import chain_program, chain_reference, random_graph

from anyshape.runtime.failures import InputDtypeError


def pair(m: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(m)
    return rng.random((m, n), np.float32), rng.random((m, n), np.float32)


def test_each_temporary():
    program = chain_program()
    a, b = pair(70, 30)
    stepper = program.stepwise([a, b])
    expected = [a + b, 2 * (a + b), 2 * (a + b) * b]
    for number, value in enumerate(expected):
        step = stepper.next_step
        assert step is program.description.steps[number]
        assert stepper.step() > 0
        seen = stepper.buffer(2 + number).view(np.float32).reshape(a.shape)
        np.testing.assert_array_equal(seen, value)
    stepper.step()
    assert stepper.next_step is None
    np.testing.assert_array_equal(stepper.outputs[0], chain_reference(a, b))
    with pytest.raises(IndexError, match="all steps are done"):
        stepper.step()


def test_the_same_as_at_once():
    graph = random_graph(11, 30)
    for shape in [(0, 3), (1, 1), (33, 70)]:
        a, b = pair(*shape)
        stepper = graph.program.stepwise([a.T.copy().T, b])
        while stepper.next_step:
            stepper.step()
        np.testing.assert_array_equal(stepper.outputs[0], graph.program.run([a, b])[0])


def test_a_view_keeps_what_it_shows():
    a, b = pair(40, 40)
    stepper = chain_program().stepwise([a, b])
    stepper.step()
    view = stepper.buffer(2)
    del stepper
    gc.collect()
    np.testing.assert_array_equal(view.view(np.float32).reshape(40, 40), a + b)


def test_runs_and_steppers_at_the_same_time():
    program = chain_program()
    a, b = pair(50, 50)
    steppers = [program.stepwise([a, b]) for _ in range(3)]
    for _ in program.description.steps:
        for stepper in steppers:
            stepper.step()
            np.testing.assert_array_equal(program.run([b, a])[0], chain_reference(b, a))
    for stepper in steppers:
        np.testing.assert_array_equal(stepper.outputs[0], chain_reference(a, b))


def test_bad_buffers_and_inputs():
    program = chain_program()
    a, b = pair(3, 3)
    stepper = program.stepwise([a, b])
    with pytest.raises(IndexError, match="no such buffer"):
        stepper.buffer(6)
    np.testing.assert_array_equal(stepper.buffer(0).view(np.float32), a.ravel())
    with pytest.raises(InputDtypeError):
        program.stepwise([a, b.astype(int)])
