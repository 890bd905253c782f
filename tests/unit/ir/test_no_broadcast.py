"""Axes that do not broadcast: what they meet in an op is equal, and 1 is an error of the call."""

from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.base.errors import (
    AxisDeclarationError,
    AxisNameConflictError,
    FactViolationError,
    RequirementError,
)
from anyshape.ir.text.parser import parse
from anyshape.ir.verify import verify
from anyshape.sym import Axis

FIXED = [Axis("a", broadcasts=False), Axis("b", broadcasts=False)]


@ash.jit(axes=FIXED)
def total(x: ash.f32["a", 10], y: ash.f32[10, "b"]):
    return x + y


def ones(*shape: int) -> Any:
    return np.ones(shape, np.float32)


def test_both_inputs_are_refined() -> None:
    assert [str(type_) for type_ in total.executable.graph.body.params] == ["f32[10, 10]"] * 2
    np.testing.assert_array_equal(total(ones(10, 10), ones(10, 10)), 2 * ones(10, 10))


def test_1_is_an_error_that_names_axis_op_and_place() -> None:
    with pytest.raises(FactViolationError) as caught:
        total(ones(1, 10), ones(10, 10))
    message = str(caught.value)
    assert "'a == 10' does not hold for a=1" in message
    assert "add: axis 'a' does not broadcast: sizes at axis 0 must be equal @ " in message
    assert "test_no_broadcast.py:" in message
    assert "input 'x' has 1 (axis 0)" in message
    assert "fix: " in message


def test_a_size_that_is_known_to_be_1_is_repeated() -> None:
    @ash.jit(axes=[*FIXED[:1], Axis("one", min=1, max=1)])
    def centred(x: ash.f32["a", 4], row: ash.f32["one", 4]):
        return x - x.mean(axis=0, keepdims=True) + row

    assert not centred.graph.facts.facts
    np.testing.assert_array_equal(centred(ones(3, 4), ones(1, 4)), ones(3, 4))
    np.testing.assert_array_equal(centred(ones(1, 4), ones(1, 4)), ones(1, 4))


def test_sizes_of_0_and_1_are_compared_too() -> None:
    @ash.jit(axes=[Axis("a", max=1, broadcasts=False)])
    def small(x: ash.f32["a"], y: ash.f32["n"]):
        return x * y[:1]

    with pytest.raises(FactViolationError, match="does not broadcast"):
        small(ones(1), ones(0))
    assert small(ones(0), ones(0)).shape == (0,)


def test_expanding_is_broadcasting() -> None:
    @ash.jit(axes=FIXED[:1])
    def wide(x: ash.f32["a"]):
        return ash.broadcast_to(x, (10,))

    assert [str(fact) for fact in wide.graph.facts.facts] == ["a == 10"]
    with pytest.raises(FactViolationError, match="axis 'a' does not broadcast: it must be 10"):
        wide(ones(1))


def test_other_names_are_refused() -> None:
    @ash.jit(axes=FIXED[:1])
    def mixed(x: ash.f32["a"], y: ash.f32["n"]):
        return x + y

    with pytest.raises(AxisNameConflictError, match=r"(?s)does not broadcast.*fix: "):
        _ = mixed.graph


def test_a_size_that_cannot_be_equal_is_refused() -> None:
    @ash.jit(axes=[Axis("a", max=4, broadcasts=False)])
    def never(x: ash.f32["a"], y: ash.f32[10]):
        return x + y

    with pytest.raises(RequirementError, match="does not broadcast"):
        _ = never.graph


def test_text_is_read_back() -> None:
    graph = total.graph
    assert "a: 0.. no_broadcast" in graph.as_text()
    assert verify(parse(graph.as_text())) == graph


def test_declared_by_a_truth_value() -> None:
    with pytest.raises(AxisDeclarationError, match=r"broadcasts=0"):
        Axis("a", broadcasts=0)  # type: ignore[arg-type]
