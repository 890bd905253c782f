"""Compiling with wrong options, and calling with wrong arrays: the whole message, word by word.

Tensors that cannot be read have their messages in tests/unit/execute/test_tensors.py.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.errors.messages import message_of

import anyshape as ash
from anyshape.base.errors import (
    AxisRangeError,
    BindingNamesError,
    DimError,
    DimMismatchError,
    DTypeError,
    ForkedCallError,
    OperandError,
    OptionError,
    RankMismatchError,
    UnsupportedError,
)
from anyshape.execute import EXECUTORS


@ash.jit
def pair(x: ash.f32["n", 3], y: ash.f32["n", 3]):
    return x + y


def call(executor: Any, *arrays: Any) -> Callable[[], object]:
    return lambda: ash.compile(pair, executor=executor)(*arrays)


def ones(*shape: int) -> Any:
    return np.ones(shape, np.float32)


every_executor = pytest.mark.parametrize("executor", EXECUTORS)


@every_executor
def test_number_of_inputs(executor: Any) -> None:
    for arrays in ([], [ones(2, 3)], [ones(2, 3)] * 3):
        assert message_of(OperandError, call(executor, *arrays)) == (
            f"graph 'pair': got {len(arrays)} arrays, expected 2\nfix: call it as pair(x, y)"
        )


@every_executor
def test_dtype(executor: Any) -> None:
    assert message_of(DTypeError, call(executor, ones(2, 3), np.ones((2, 3)))) == (
        "input 'y': expected f32, got f64\nfix: pass y.astype('float32')"
    )


def test_a_dtype_that_graphs_do_not_have() -> None:
    assert message_of(DTypeError, call("native", ones(2, 3), np.ones((2, 3), complex))) == (
        "input 'y': expected f32, got complex128\nfix: pass y.astype('float32')"
    )


@every_executor
def test_rank(executor: Any) -> None:
    assert message_of(RankMismatchError, call(executor, ones(3), ones(2, 3))) == (
        "input 'x' has rank 1, expected rank 2\n"
        "  declared [n, 3], got shape [3]\n"
        "fix: pass an array with 2 axes"
    )


@every_executor
def test_size(executor: Any) -> None:
    assert message_of(DimMismatchError, call(executor, ones(2, 4), ones(2, 3))) == (
        "input 'x' has size 4 at axis 1, expected 3\n"
        "fix: pass size 3 there, or declare the axis dynamic"
    )


def test_sizes_beyond_64_bits() -> None:
    @ash.jit
    def outer(x: ash.i8["n"], y: ash.i8["m"]):
        return x[:, None] * x[:, None] + y

    huge = np.broadcast_to(np.int8(1), (1 << 62,))
    assert message_of(DimError, lambda: ash.compile(outer)(huge, huge)) == (
        "dim 'input 'x' of [4611686018427387904], input 'y' of [4611686018427387904]': "
        "sizes computed from these do not fit 64 bits\nfix: pass smaller sizes"
    )


def test_sizes_beyond_all_memory() -> None:
    @ash.jit
    def wide(x: ash.i8["n"]):
        return x.astype(ash.f64)

    size = (1 << 60) - 1
    executable = ash.compile(wide)
    huge = np.broadcast_to(np.int8(1), (size,))
    problem = f"impossible bytes of buffer 1: {8 * size}\nfix: pass smaller sizes"
    assert message_of(DimError, lambda: executable(huge)) == (
        f"dim 'input 'x' of [{size}]': {problem}"
    )
    assert (
        message_of(DimError, lambda: executable.specialize(n=size)) == f"dim 'n={size}': {problem}"
    )
    assert message_of(DimError, lambda: executable.specialize(n=size + 1)) == (
        f"dim 'n={size + 1}': sizes computed from these do not fit 64 bits\nfix: pass smaller sizes"
    )


def test_a_binding_out_of_range() -> None:
    assert message_of(AxisRangeError, lambda: ash.compile(pair).specialize(n=-3)) == (
        "axis 'n' is -3, outside its range 0..\n"
        "fix: pass a size within 0.., or widen Axis('n', ...)"
    )


@pytest.mark.parametrize(
    ("axes", "problem"),
    [
        ({}, "axis 'm' has no size; axis 'n' has no size"),
        ({"n": 1, "m": 2, "k": 1}, "the graph has no axis 'k'"),
        ({"n": 1, "k": 1}, "axis 'm' has no size; the graph has no axis 'k'"),
    ],
)
def test_names_of_a_binding(axes: dict[str, int], problem: str) -> None:
    @ash.jit
    def two(x: ash.f32["n", "m"]):
        return x + 1

    assert message_of(BindingNamesError, lambda: ash.compile(two).specialize(**axes)) == (
        f"the binding does not fit the graph: {problem}\nfix: specialize(n=..., m=...)"
    )


def test_executor() -> None:
    name: Any = "fast"
    assert message_of(OptionError, lambda: ash.compile(pair, executor=name)) == (
        "executor='fast' is not one of native, stepwise, reference\n"
        "fix: set executor to one of native, stepwise, reference, or unset it"
    )


def test_a_fork_in_the_middle_of_a_call() -> None:
    """When that happens is in tests/unit/runtime/signal_scenarios.py."""

    def fail() -> None:
        raise ForkedCallError

    assert message_of(ForkedCallError, fail) == (
        "this process was forked in the middle of the call, by a handler of a signal, and has "
        "none of the threads that worked on it\n"
        "fix: call again"
    )


def test_threads() -> None:
    assert message_of(OptionError, lambda: ash.compile(pair, threads=-1)) == (
        "threads='-1' is not a number of threads, or 0 for all CPUs\n"
        "fix: set threads to a number of threads, or 0 for all CPUs, or unset it"
    )


def test_strict() -> None:
    @ash.jit
    def f(x: ash.f32["n"]):
        return ash.random.new_key(), ash.cond(x.sum() > 0, lambda v: v, lambda v: -v, x)

    place = f"{__file__.rpartition('/')[2]}:{f.__wrapped__.__code__.co_firstlineno + 2}"
    message = message_of(UnsupportedError, lambda: ash.compile(f, strict=True))
    first, *located, fix = message.splitlines()
    assert first == "no native form of entropy (1)"
    assert all(line.endswith(place) for line in located)
    assert fix == "fix: compile without strict=True, and they run on the host"
    assert len(ash.compile(f)(ones(3))) == 2
