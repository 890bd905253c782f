"""Tensors of a model as arrays, on the memory of the model where it has their bytes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from onnx import TensorProto, numpy_helper

from anyshape.base.errors import InvalidModelError, UnsupportedModelError
from anyshape.frontend.onnx.dtypes import code_name, dtype_of_code
from anyshape.frontend.onnx.external_data import ExternalFiles
from anyshape.ir.types import Array, DType

LARGEST_TENSOR = 1 << 40
"""Bytes."""

FOUR_BITS = (TensorProto.INT4, TensorProto.UINT4)
BYTE = 255

_FIELDS = ("float_data", "int32_data", "int64_data", "double_data", "uint64_data")


def array_of(tensor: Any, files: ExternalFiles, model: str) -> Array:
    """The elements of a TensorProto. It has exactly as many as its shape says."""
    dtype = dtype_of_code(tensor.data_type, f"tensor '{tensor.name}'")
    shape = _shape(tensor, model)
    wanted = math.prod(shape) * dtype.itemsize
    raw = _bytes(tensor, wanted, files, model)
    if raw is None:
        return _from_fields(tensor, shape, dtype, model)
    return raw.view(dtype.numpy).reshape(shape) if wanted else np.zeros(shape, dtype.numpy)


def is_of_four_bits(tensor: Any) -> bool:
    return tensor.data_type in FOUR_BITS


def four_bit_numbers(tensor: Any, files: ExternalFiles, model: str) -> Array:
    """Those of a TensorProto as bytes: two lie in each of its own, the first in the low half."""
    shape = _shape(tensor, model)
    count = math.prod(shape)
    raw = _bytes(tensor, -(-count // 2), files, model)
    if raw is None:
        packed = np.array(tensor.int32_data, np.int64)
        if packed.size != -(-count // 2) or ((packed < 0) | (packed > BYTE)).any():
            raise _malformed(model, tensor, f"has {packed.size} bytes for the shape {list(shape)}")
        raw = packed.astype(np.uint8)
    numbers = np.stack([raw & 15, raw >> 4], axis=-1).reshape(-1)[:count].reshape(shape)
    is_signed = tensor.data_type == TensorProto.INT4
    return (numbers ^ 8).astype(np.int8) - np.int8(8) if is_signed else numbers


def _shape(tensor: Any, model: str) -> tuple[int, ...]:
    shape = tuple(tensor.dims)
    if any(size < 0 for size in shape) or len(shape) > 64:
        raise _malformed(model, tensor, f"has the shape {list(shape)[:65]}")
    return shape


def _bytes(tensor: Any, wanted: int, files: ExternalFiles, model: str) -> Any:
    """As many as are wanted; None if the elements are in a field of their type."""
    if wanted > LARGEST_TENSOR:
        raise _malformed(model, tensor, f"would have {wanted} bytes")
    if tensor.HasField("segment"):
        raise UnsupportedModelError(model, {"tensors in segments": [tensor.name]}, "export again")
    if tensor.data_location == TensorProto.EXTERNAL:
        raw: Any = files.bytes_of(tensor, wanted)
    elif tensor.HasField("raw_data"):
        raw = np.frombuffer(tensor.raw_data, np.uint8)
    else:
        return None
    if raw.size != wanted:
        raise _malformed(model, tensor, f"has {raw.size} bytes for {wanted}")
    return raw


def _from_fields(tensor: Any, shape: tuple[int, ...], dtype: DType, model: str) -> Array:
    count = sum(len(getattr(tensor, name)) for name in _FIELDS)
    if count != math.prod(shape):
        problem = f"has {count} elements of {code_name(tensor.data_type)} for the shape"
        raise _malformed(model, tensor, f"{problem} {list(shape)}")
    try:
        array = np.asarray(numpy_helper.to_array(tensor))
    except (ValueError, TypeError) as error:
        raise _malformed(model, tensor, f"cannot be read: {error}") from None
    if array.dtype != dtype.numpy or array.shape != shape:
        raise _malformed(model, tensor, f"holds {array.dtype}{list(array.shape)}")
    return array


def _malformed(model: str, tensor: Any, problem: str) -> InvalidModelError:
    return InvalidModelError(model, f"tensor '{tensor.name}' {problem}", "export the model again")
