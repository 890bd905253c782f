"""Annotations that are text because of the future import below."""

# ruff: noqa: UP037 - names of axes are no forward references

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float32

import anyshape as ash


@dataclass
class Linear:
    weight: ash.f32["width", "out"]
    bias: ash.f32["out"]


class Both(NamedTuple):
    first: Linear
    second: Linear


@ash.jit
def apply(x: ash.f32["batch", "width"], p: Linear, scale: float = 1.0):
    return (x @ p.weight + p.bias) * scale


@ash.jit
def nested(x: Float32[np.ndarray, "batch width"], p: Both):
    return x @ p.first.weight + x @ p.second.weight + p.second.bias


X, W, B = np.ones((2, 3), np.float32), np.ones((3, 4), np.float32), np.ones(4, np.float32)


def test_dataclass_and_static_parameters() -> None:
    np.testing.assert_array_equal(apply(X, Linear(W, B), scale=2.0), np.full((2, 4), 8))
    assert apply.graph.inputs == ("x", "p.weight", "p.bias")


def test_nested_named_tuple() -> None:
    linear = Linear(W, B)
    np.testing.assert_array_equal(nested(X, Both(linear, linear)), np.full((2, 4), 7))
    assert nested.graph.inputs[-1] == "p.second.bias"


def test_names_of_enclosing_functions() -> None:
    width = 3
    element = ash.f32

    @ash.jit
    def local(x: element["batch", width]):
        return x + width + np.zeros(1, element.numpy)

    np.testing.assert_array_equal(local(X), X + 3)
