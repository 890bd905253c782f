"""Models as ONNX bytes, in the form an expert would write: no node computes a shape."""

from __future__ import annotations

from benchmarks.harness.engines import library
from benchmarks.harness.model import Shape, WrittenModel

HEADER = '<ir_version: 9, opset_import: ["" : 20]>'


def onnx_bytes(model: WrittenModel) -> bytes:
    """The model with its weights as initializers."""
    inputs = ", ".join(f"{_type(shape)} {name}" for name, shape in model.signature.items())
    statements = "\n".join(model.onnx())
    text = f"{HEADER}\nmodel ({inputs}) => ({_type(model.result)} y) {{\n{statements}\n}}"
    made = library("onnx.parser").parse_model(text)
    from_array = library("onnx.numpy_helper").from_array
    for name, array in model.weights().items():
        made.graph.initializer.append(from_array(array, name))
    library("onnx.checker").check_model(made)
    return made.SerializeToString()


def _type(shape: Shape) -> str:
    return f"float[{', '.join(map(str, shape))}]"
