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

_FIELDS = ("float_data", "int32_data", "int64_data", "double_data", "uint64_data")


def array_of(tensor: Any, files: ExternalFiles, model: str) -> Array:
    """The elements of a TensorProto. It has exactly as many as its shape says."""
    dtype = dtype_of_code(tensor.data_type, f"tensor '{tensor.name}'")
    shape = tuple(tensor.dims)
    if any(size < 0 for size in shape) or len(shape) > 64:
        raise _malformed(model, tensor, f"has the shape {list(shape)[:65]}")
    wanted = math.prod(shape) * dtype.itemsize
    if wanted > LARGEST_TENSOR:
        raise _malformed(model, tensor, f"would have {wanted} bytes")
    if tensor.HasField("segment"):
        raise UnsupportedModelError(model, {"tensors in segments": [tensor.name]}, "export again")
    if tensor.data_location == TensorProto.EXTERNAL:
        raw: Any = files.bytes_of(tensor, wanted)
    elif tensor.HasField("raw_data"):
        raw = np.frombuffer(tensor.raw_data, np.uint8)
    else:
        return _from_fields(tensor, shape, dtype, model)
    if raw.size != wanted:
        raise _malformed(model, tensor, f"has {raw.size} bytes for {wanted}")
    return raw.view(dtype.numpy).reshape(shape) if wanted else np.zeros(shape, dtype.numpy)


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
