"""A one-node ONNX model as bytes, so that onnxruntime can be measured without the onnx package."""

from __future__ import annotations

from typing import Any

import numpy as np

FLOAT = 1  # TensorProto.DataType


def matmul_model(weight: Any) -> bytes:
    """y[rows, n] = x[rows, k] @ weight[k, n]."""
    depth, columns = weight.shape
    node = _text(1, "x") + _text(1, "w") + _text(2, "y") + _text(4, "MatMul")
    initializer = _number(1, depth) + _number(1, columns) + _number(2, FLOAT) + _text(8, "w")
    initializer += _bytes(9, np.ascontiguousarray(weight).tobytes())
    graph = _bytes(1, node) + _text(2, "g") + _bytes(5, initializer)
    graph += _bytes(11, _matrix("x", depth)) + _bytes(12, _matrix("y", columns))
    return _number(1, 8) + _bytes(7, graph) + _bytes(8, _number(2, 17))


def _matrix(name: str, columns: int) -> bytes:
    """ValueInfoProto of f32[rows, columns]."""
    shape = _bytes(1, _text(2, "rows")) + _bytes(1, _number(1, columns))
    return _text(1, name) + _bytes(2, _bytes(1, _number(1, FLOAT) + _bytes(2, shape)))


# --- protocol buffers -----------------------------------------------------------------------------


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _text(field: int, content: str) -> bytes:
    return _bytes(field, content.encode())
