"""Small models for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx
from onnx import TensorProto, helper

F32, I64 = TensorProto.FLOAT, TensorProto.INT64


def value(name: str, shape: Sequence[Any] | None, kind: int = F32) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def model(
    nodes: Sequence[Any],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    initializers: Sequence[Any] = (),
    opset: int = 18,
    **named: Any,
) -> Any:
    graph = helper.make_graph(list(nodes), "small", list(inputs), list(outputs), list(initializers))
    opsets = [helper.make_opsetid("", opset), *named.pop("opsets", [])]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9, **named)


def node(op: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any) -> Any:
    return helper.make_node(op, list(inputs), list(outputs), **attributes)


def tensor(name: str, array: Any) -> Any:
    return onnx.numpy_helper.from_array(array, name)


ADD = (node("Add", "xy", "z"),)


def add_model(x: Sequence[Any], y: Sequence[Any]) -> Any:
    return model(ADD, [value("x", x), value("y", y)], [value("z", None)])
