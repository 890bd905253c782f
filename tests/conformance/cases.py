"""The node tests, made in this process, with their inputs and outputs as arrays."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any

import onnx
from onnx import numpy_helper

Array = Any


@dataclass(frozen=True)
class NodeCase:
    """One test: a model, and inputs by name with the outputs that they give."""

    name: str
    model: Any
    data: tuple[tuple[dict[str, Array], list[Array]], ...]
    rtol: float
    atol: float

    @property
    def op(self) -> str:
        """Of the first node: mostly the one that the test is about."""
        node = self.model.graph.node[0]
        return f"{node.domain}::{node.op_type}" if node.domain else node.op_type


@cache
def cases() -> dict[str, NodeCase]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's, about what the tests compute
        from onnx.backend.test.case.node import collect_testcases

        return {each.name: _case(each) for each in collect_testcases(None)}


def _case(test: Any) -> NodeCase:
    names = [each.name for each in test.model.graph.input]
    data = tuple(
        (dict(zip(names, map(_array, inputs), strict=False)), [_array(each) for each in outputs])
        for inputs, outputs in test.data_sets
    )
    return NodeCase(test.name, test.model, data, test.rtol, test.atol)


def _array(value: Any) -> Any:
    """An array, a list of them, or None."""
    if isinstance(value, onnx.SequenceProto):
        return [_array(each) for each in numpy_helper.to_list(value)]
    if isinstance(value, onnx.OptionalProto):
        return numpy_helper.to_optional(value)
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value
