"""Calls that are ended: deadlines and cancellations, on every executor; then they run as before."""

import ctypes
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.unit.runtime.graphs import chain_program, chain_reference
from tests.unit.runtime.handmade import Handmade

import anyshape as ash
from anyshape.base.errors import AnyshapeError, CancelledError, DeadlineError, OptionError
from anyshape.execute import EXECUTORS, Executable
from anyshape.runtime.limits import Cancellation, RunLimits
from anyshape.runtime.program import Program, RunOptions


@ash.jit
def layers(x: ash.f32["n", 256], w: ash.f32[256, 256]):
    for _ in range(12):
        x = ash.tanh(x @ w)
    return x


@ash.jit
def endless(x: ash.f32["n"], done: ash.f32[()]):
    return ash.while_loop(lambda value: (done < 1).all(), lambda value: value * 0.5, x)


LONG = 2_000
"""Rows that take a while on every executor, and on the slowest of them no eternity."""


def inputs(n: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(n)
    return rng.random((n, 256), np.float32), rng.random((256, 256), np.float32) / 50


def seconds_of(action: Callable[[], object]) -> float:
    start = time.monotonic()
    action()
    return time.monotonic() - start


@pytest.fixture(scope="module", params=list(EXECUTORS))
def executable(request: pytest.FixtureRequest) -> Executable:
    return ash.compile(layers, executor=request.param)


def test_with_enough_time_results_are_the_same(executable: Executable):
    arrays = inputs(100)
    (expected,) = executable(*arrays)
    for options in ({"deadline": 1000.0}, {"deadline": float("inf")}, {"cancellation": stop()}):
        np.testing.assert_array_equal(executable.run(arrays, **options)[0], expected)


def stop(*, at_once: bool = False) -> Cancellation:
    cancellation = Cancellation()
    if at_once:
        cancellation.cancel()
    assert cancellation.cancelled is at_once
    return cancellation


TRIES = 50
"""A busy machine may be late, but not so many times in a row."""


def ends_early(executable: Executable, arrays: tuple[Any, Any], share: float = 0.1) -> bool:
    """Whether a deadline after that share of what a call took just now ends the next one soon."""
    whole = seconds_of(lambda: executable(*arrays))
    try:
        executable.run(arrays, deadline=share * whole)
    except DeadlineError as error:
        return share * whole == error.limit <= error.elapsed < 0.7 * whole
    return False  # the machine has become faster


def test_a_deadline_ends_a_call_early(executable: Executable):
    arrays = inputs(LONG)
    expected = executable(*arrays)[0]
    assert any(ends_early(executable, arrays) for _ in range(TRIES))
    np.testing.assert_array_equal(executable(*arrays)[0], expected)


def test_a_cancellation_ends_a_call_early(executable: Executable):
    arrays = inputs(LONG)
    expected = executable(*arrays)[0]

    def cancelled_early() -> bool:
        whole, cancellation = seconds_of(lambda: executable(*arrays)), Cancellation()
        threading.Timer(whole / 10, cancellation.cancel).start()
        try:
            executable.run(arrays, cancellation=cancellation)
        except CancelledError as error:
            return error.elapsed < 0.7 * whole
        return False  # the timer was late

    assert any(cancelled_early() for _ in range(TRIES))
    np.testing.assert_array_equal(executable(*arrays)[0], expected)


def test_nothing_begins_after_the_end(executable: Executable):
    runs = executable.metrics().runs
    for options in ({"deadline": 0}, {"cancellation": stop(at_once=True)}):
        with pytest.raises((DeadlineError, CancelledError)):
            executable.run(inputs(10), **options)
    assert executable.metrics().runs == runs


@pytest.mark.parametrize("executor", EXECUTORS)
def test_an_endless_loop_can_be_ended(executor: Any):
    executable = ash.compile(endless, executor=executor)
    arrays = np.ones(5, np.float32), np.zeros((), np.float32)
    with pytest.raises(DeadlineError):
        executable.run(arrays, deadline=0.05)
    cancellation = Cancellation()
    threading.Timer(0.05, cancellation.cancel).start()
    with pytest.raises(CancelledError):
        executable.run(arrays, cancellation=cancellation)
    over = np.ones((), np.float32)
    np.testing.assert_array_equal(executable(arrays[0], over)[0], arrays[0])


def test_all_contexts_come_back():
    program = chain_program()
    a = np.ones((900, 900), np.float32)
    for number in range(50):
        limits = RunLimits.from_now(number * 1e-5, None)
        try:
            result = program.run_within([a, a], limits)[0]
        except DeadlineError:
            continue
        np.testing.assert_array_equal(result, chain_reference(a, a))
    assert program.metrics().idle_contexts == 1


def test_errors_of_inputs_are_those_of_calls(executable: Executable):
    x, w = inputs(3)
    given = x[:, :5], w
    messages: list[str] = []
    for call in (lambda: executable(*given), lambda: executable.run(given, deadline=9)):
        with pytest.raises(AnyshapeError) as caught:
            call()
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def message_of(error: type[AnyshapeError], action: Callable[[], object]) -> str:
    with pytest.raises(error) as caught:
        action()
    return str(caught.value)


def test_messages():
    assert str(CancelledError(0.25)) == (
        "the call was cancelled after 0.250 s\nfix: call again, with another Cancellation"
    )
    assert str(DeadlineError(0.0312, 0.03)) == (
        "the call was not complete after 0.031 s; its deadline: 0.03 s\n"
        "fix: allow more time, or call with smaller shapes"
    )
    assert isinstance(DeadlineError(1, 1), TimeoutError)


@pytest.mark.parametrize("deadline", [-1, float("nan")])
def test_deadlines_that_are_none(executable: Executable, deadline: float):
    found = message_of(OptionError, lambda: executable.run(inputs(1), deadline=deadline))
    assert found.startswith(f"deadline='{deadline}' is not a number of seconds, at least 0\n")


# ---- inside a step -----------------------------------------------------------------------------


@ash.jit
def product(x: ash.f32["n", 512], w: ash.f32[512, 512]):
    return x @ w


@pytest.mark.parametrize("threads", [1, 0])
def test_a_long_step_is_broken_off(threads: int):
    executable = ash.compile(product, threads=threads)
    x, w = np.ones((30_000, 512), np.float32), np.ones((512, 512), np.float32)
    assert len(executable.specialize(n=30_000).steps) == 1
    executable(x, w)
    assert any(ends_early(executable, (x, w), 0.2) for _ in range(TRIES))
    assert (executable(x, w)[0] == 512).all()


# --- late completion ----------------------------------------------------------------------------

KernelFunction = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *(ctypes.c_int64,) * 3)


def one_task(act: Callable[[], object]) -> Program:
    """A program whose only task does `act`: nobody can look at limits meanwhile."""
    handmade = Handmade()
    handmade.symbols = 1
    handmade.bind.store(handmade.bind.read(0))
    n = handmade.shape.read(0)
    size, tasks = handmade.word(n), handmade.word(1)
    nbytes = handmade.word(handmade.shape.op("mul", n, 4))
    x = handmade.input("x", 1, nbytes)
    result = handmade.output([size], nbytes)
    kernel = KernelFunction(lambda *_: act() and None)
    address = ctypes.cast(kernel, ctypes.c_void_p).value
    assert address
    handmade.step(address, [x, result], size, tasks)
    return Program(handmade.description(), (kernel,), RunOptions(threads=1))


def test_a_call_that_is_complete_too_late_is_an_error():
    program = one_task(lambda: time.sleep(0.05))
    x = np.ones(3, np.float32)
    with pytest.raises(DeadlineError) as caught:
        program.run_within([x], RunLimits.from_now(0.02, None))
    assert caught.value.elapsed >= 0.05
    program.run_within([x], RunLimits.from_now(100, None))
    stepper = program.stepwise([x])
    with pytest.raises(DeadlineError):
        stepper.step(RunLimits.from_now(0.02, None))
    del stepper
    assert program.metrics().idle_contexts == 1


def test_a_call_that_is_cancelled_in_its_last_task_is_an_error():
    cancellation = Cancellation()
    program = one_task(cancellation.cancel)
    with pytest.raises(CancelledError):
        program.run_within([np.ones(3, np.float32)], RunLimits.from_now(None, cancellation))
    program.run_within([np.ones(3, np.float32)], RunLimits.from_now(None, Cancellation()))
