"""Where results go, program by program: arrays of the caller, donated inputs, orders of axes."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.unit.runtime.handmade import GRAIN, Handmade, add_kernel, double_kernel, matrices

from anyshape.program import AliasStore
from anyshape.runtime.failures import (
    ImpossibleSizeError,
    OutputCountError,
    OutputKindError,
    OutputUnfitError,
)
from anyshape.runtime.limits import UNLIMITED
from anyshape.runtime.program import Program


def adding(start: int | None = None, order: tuple[int, ...] = ()) -> Program:
    """a + b, written over an input if it has a start."""
    made = Handmade()
    sizes = matrices(made, ["a", "b"])
    out = made.output([sizes.m, sizes.n], sizes.nbytes)
    made.outputs = [replace(made.outputs[0], start=start, order=order)]
    made.inputs = [replace(each, order=order) for each in made.inputs]
    made.step(add_kernel(), [0, 1, out], sizes.count, sizes.tasks)
    return made.program()


def appending() -> Program:
    """`a` with 2·b behind it, for a: [p] and b: [s]."""
    made = Handmade(symbols=2)
    sizes = [made.shape.read(number) for number in range(2)]
    nbytes = [made.word(made.shape.op("mul", size, 4)) for size in sizes]
    for number, name in enumerate("ab"):
        made.input(name, 1, nbytes[number])
        made.bind.store(made.bind.read(number))
    p, s = sizes
    total = made.shape.op("add", p, s)
    out = made.output([made.word(total)], made.word(made.shape.op("mul", total, 4)))
    made.outputs = [replace(made.outputs[0], start=0)]
    behind = made.buffer(AliasStore(out, nbytes[0]), nbytes[1])
    made.step(double_kernel(), [1, behind], made.word(s), made.word(made.shape.ceil_div(s, GRAIN)))
    return made.program()


def floats(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).random(shape, np.float32)


# ---- given -------------------------------------------------------------------------------------


def test_a_given_array_is_the_output_if_it_can_be_written_as_it_is():
    program = adding()
    a, b = floats(5, 7), floats(5, 7)
    out = np.empty((5, 7), np.float32)
    assert program.run_within((a, b), UNLIMITED, (out,))[0] is out
    np.testing.assert_array_equal(out, a + b)
    for other in (np.empty((7, 5), np.float32).T, a, b):
        before = other.copy()
        (found,) = program.run_within((a, b), UNLIMITED, (other,))
        assert found is not other
        np.testing.assert_array_equal(found, a + b)
        np.testing.assert_array_equal(other, before)


def test_given_arrays_that_do_not_fit():
    program = adding()
    a = floats(2, 3)

    def refused(kind: type[Exception], out: Any) -> str:
        with pytest.raises(kind) as caught:
            program.run_within((a, a), UNLIMITED, out)
        return str(caught.value)

    expected = "output 0 is float32[2, 3], and cannot be written into "
    assert refused(OutputUnfitError, [floats(3, 2)]) == expected + "float32[3, 2]"
    assert refused(OutputUnfitError, [floats(2)]) == expected + "float32[2]"
    assert refused(OutputUnfitError, [np.zeros((2, 3))]) == expected + "float64[2, 3]"
    fixed = floats(2, 3)
    fixed.flags.writeable = False
    assert refused(OutputUnfitError, [fixed]) == expected + "read-only float32[2, 3]"
    assert refused(OutputKindError, ["text"]) == "output 0 cannot be written into a str"
    assert refused(OutputCountError, []) == "expected 1 arrays to write into, got 0"


# ---- donated -----------------------------------------------------------------------------------


def test_an_output_over_an_input():
    program = adding(start=0)
    a, b = floats(5, 7), floats(5, 7)
    expected = a + b
    assert program.run((a, b))[0] is a
    np.testing.assert_array_equal(a, expected)


def test_an_output_behind_an_input():
    program = appending()
    past = np.ones(3, np.float32)
    places = set()
    for number in range(100):
        expected = np.concatenate([past, np.full(2, 2 * number)])
        (past,) = program.run((past, np.full(2, number, np.float32)))
        np.testing.assert_array_equal(past, expected)
        places.add(past.ctypes.data)
    assert len(places) <= 6


def test_a_stepper_may_keep_what_is_donated():
    program = adding(start=0)
    a, b = floats(3, 3), floats(3, 3)
    before = a.copy()
    stepper = program.stepwise((a, b), keep_donated=True)
    stepper.step()
    np.testing.assert_array_equal(a, before)
    np.testing.assert_array_equal(stepper.outputs[0], before + b)
    assert program.stepwise((a, b)).outputs[0] is a


def test_an_output_smaller_than_its_beginning():
    made = Handmade(symbols=1)
    made.input("a", 1, made.word(made.shape.op("mul", made.shape.read(0), 4)))
    made.bind.store(made.bind.read(0))
    half = made.shape.op("sdiv", made.shape.read(0), 2)
    made.output([made.word(half)], made.word(made.shape.op("mul", half, 4)))
    made.outputs = [replace(made.outputs[0], start=0)]
    with pytest.raises(ImpossibleSizeError) as caught:
        made.program().run((floats(8),))
    assert (caught.value.subject, caught.value.value) == ("bytes of output 0", 16)


# ---- orders ------------------------------------------------------------------------------------


def test_axes_in_another_order_than_in_memory():
    program = adding(order=(1, 0))
    a, b = floats(4, 6), floats(6, 4).T
    (found,) = program.run((a, b))
    np.testing.assert_array_equal(found, a + b)
    assert found.shape == (4, 6)
    assert found.strides == (4, 16)
    copies = program.run_within((b, b), UNLIMITED, (np.empty((6, 4), np.float32).T,))
    np.testing.assert_array_equal(copies[0], b + b)
