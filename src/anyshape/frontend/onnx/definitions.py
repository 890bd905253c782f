"""Ops that ONNX itself defines by a graph of others: an op without an entry is its definition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import onnx
from onnx import defs

from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.onnx.dtypes import CODES


@dataclass(frozen=True)
class Definition:
    """A FunctionProto, the versions of its opsets, and the defaults of its attributes."""

    proto: Any
    opsets: dict[str, int]
    defaults: dict[str, Any]


def has_definition(domain: str, op: str, version: int) -> bool:
    schema = _schema(domain, op, version)
    return schema is not None and (schema.has_function or schema.has_context_dependent_function)


def definition_of(node: Any, domain: str, version: int, inputs: Sequence[Any]) -> Definition | None:
    """What ONNX says that a node computes. Some definitions depend on the types of inputs."""
    schema = _schema(domain, node.op_type, version)
    if schema is None:
        return None
    if schema.has_function:
        own = _latest(schema.function_opset_versions, version)
        content = schema.get_function_with_opset_version(own) if own else None
    else:
        own = _latest(schema.context_dependent_function_opset_versions, version)
        types = [_type_of(each).SerializeToString() for each in inputs]
        make = schema.get_context_dependent_function_with_opset_version
        content = make(own, node.SerializeToString(), types) if own else None
    if not content:
        return None
    proto = onnx.FunctionProto.FromString(content) if isinstance(content, bytes) else content
    opsets = {each.domain: each.version for each in proto.opset_import} or {domain: version}
    defaults = {
        name: attribute.default_value
        for name, attribute in schema.attributes.items()
        if attribute.default_value is not None and attribute.default_value.name
    }
    return Definition(proto, opsets, defaults)


def _schema(domain: str, op: str, version: int) -> Any:
    try:
        return defs.get_schema(op, version, domain)
    except (defs.SchemaError, TypeError):  # a version that is no 32-bit number has no schema
        return None


def _latest(versions: Sequence[int], most: int) -> int | None:
    return max((each for each in versions if each <= most), default=None)


def _type_of(value: Any) -> Any:
    """A value's type in ONNX's form."""
    made = onnx.TypeProto()
    if isinstance(value, Tensor):
        made.tensor_type.elem_type = CODES[value.dtype]
        made.tensor_type.shape.SetInParent()
        for dim in value.shape:
            size = made.tensor_type.shape.dim.add()
            if dim.constant is None:
                size.dim_param = str(dim)
            else:
                size.dim_value = dim.constant
    return made
