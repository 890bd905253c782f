"""A random ONNX model as data: inputs with axes, constants, nodes with bodies; and its proto.

All of it is frozen and compares by content, so a seed is one program, and a candidate of the
shrinker is a `replace`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

Sizes = Mapping[str, int]
Array = np.ndarray[Any, Any]

IR_VERSION = 9
MICROSOFT = "com.microsoft"


@dataclass(frozen=True)
class Type:
    """Of a value: a tensor's, or that of a sequence's elements."""

    dtype: str
    is_sequence: bool = False

    @property
    def code(self) -> int:
        return helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype))

    def info(self, name: str, dims: Any = None) -> onnx.ValueInfoProto:
        if self.is_sequence:
            return helper.make_tensor_sequence_value_info(name, self.code, dims)
        return helper.make_tensor_value_info(name, self.code, dims)


@dataclass(frozen=True)
class Input:
    """An input of the model. A dim is the name of an axis or a number."""

    name: str
    dims: tuple[str | int, ...]
    dtype: str
    bound: int = 0  # of integers that are positions: they lie in [-bound, bound)

    def shape(self, sizes: Sizes) -> tuple[int, ...]:
        return tuple(sizes[dim] if isinstance(dim, str) else dim for dim in self.dims)

    def value(self, sizes: Sizes, rng: np.random.Generator) -> Array:
        return random_array(rng, self.dtype, self.shape(sizes), self.bound)


@dataclass(frozen=True)
class Constant:
    """An initializer, or a node that gives it."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    numbers: tuple[Any, ...]
    is_node: bool = False

    @property
    def array(self) -> Array:
        return np.array(self.numbers, self.dtype).reshape(self.shape)

    @property
    def proto(self) -> onnx.TensorProto:
        return numpy_helper.from_array(self.array, self.name)


@dataclass(frozen=True)
class Port:
    """A parameter or a result of a body; a Scan asks for the rank of a tensor."""

    name: str
    type: Type
    rank: int | None

    @property
    def info(self) -> onnx.ValueInfoProto:
        return self.type.info(self.name, None if self.rank is None else [None] * self.rank)


@dataclass(frozen=True)
class Body:
    """A subgraph. What it reads and does not define is around it."""

    inputs: tuple[Port, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Port, ...]

    def proto(self) -> onnx.GraphProto:
        inputs, outputs = ([each.info for each in side] for side in (self.inputs, self.outputs))
        return helper.make_graph([node.proto() for node in self.nodes], "body", inputs, outputs)

    def free(self) -> Iterator[str]:
        """Names of the outside, each maybe several times."""
        defined = {each.name for each in self.inputs}
        for node in self.nodes:
            yield from (name for name in node.reads() if name not in defined)
            defined |= set(node.outputs)
        yield from (each.name for each in self.outputs if each.name not in defined)


@dataclass(frozen=True)
class Node:
    """One op. Attributes are numbers, texts, tuples of them, constants and bodies."""

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[tuple[str, Any], ...] = ()
    domain: str = ""

    def proto(self) -> onnx.NodeProto:
        made = helper.make_node(self.op, self.inputs, self.outputs, domain=self.domain)
        for name, value in self.attributes:
            made.attribute.append(helper.make_attribute(name, _plain(value), **_typed(value)))
        return made

    def reads(self) -> Iterator[str]:
        """Names of its inputs and of what its bodies see around them."""
        yield from filter(None, self.inputs)
        for _, value in self.attributes:
            if isinstance(value, Body):
                yield from value.free()


def _plain(value: Any) -> Any:
    match value:
        case Body():
            return value.proto()
        case Constant():
            return value.proto
        case tuple():
            return list(value)
        case _:
            return value


def _typed(value: Any) -> dict[str, Any]:
    """A list without elements does not say of what it is."""
    return {"attr_type": onnx.AttributeProto.INTS} if value == () else {}


@dataclass(frozen=True)
class Program:
    """A model and the sizes at which it is called."""

    seed: int
    opset: int
    inputs: tuple[Input, ...]
    constants: tuple[Constant, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[tuple[str, Type], ...]
    sizes: tuple[tuple[tuple[str, int], ...], ...]
    executor: str = "reference"

    def model(self) -> onnx.ModelProto:
        used = self.used()
        constants = [each for each in self.constants if each.name in used]
        made = [
            helper.make_node("Constant", [], [each.name], value=each.proto)
            for each in constants
            if each.is_node
        ]
        graph = helper.make_graph(
            [*made, *(node.proto() for node in self.nodes)],
            f"graph_{self.seed}",
            [Type(each.dtype).info(each.name, each.dims) for each in self.used_inputs()],
            [kind.info(name) for name, kind in self.outputs],
            [each.proto for each in constants if not each.is_node],
        )
        return model_of(graph, self.opset)

    def used(self) -> set[str]:
        return {name for node in self.nodes for name in node.reads()} | {n for n, _ in self.outputs}

    def used_inputs(self) -> tuple[Input, ...]:
        used = self.used()
        return tuple(each for each in self.inputs if each.name in used)

    def feeds(self, number: int) -> dict[str, Array]:
        """Inputs of a call; each has its own source, so that none changes with the others."""
        return {each.name: self.given(each, number) for each in self.used_inputs()}

    def given(self, one: Input, number: int) -> Array:
        return given(one, self.seed, number, dict(self.sizes[number]))


def model_of(graph: onnx.GraphProto, opset: int) -> onnx.ModelProto:
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


# --- elements -------------------------------------------------------------------------------------


def given(one: Input, seed: int, number: int, sizes: Sizes) -> Array:
    name = int.from_bytes(one.name.encode(), "little")
    return one.value(sizes, np.random.default_rng((seed, number, name)))


def random_array(
    rng: np.random.Generator, dtype: str, shape: tuple[int, ...], bound: int = 0
) -> Array:
    """Small numbers, some of them equal, some of them 0."""
    kind = np.dtype(dtype).kind
    if bound:
        return rng.integers(-bound, bound, shape).astype(dtype)
    if kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if kind in "iu":
        return rng.integers(0 if kind == "u" else -9, 10, shape).astype(dtype)
    whole = rng.integers(-3, 4, shape)
    return np.where(rng.random(shape) < 0.2, whole, rng.standard_normal(shape)).astype(dtype)
