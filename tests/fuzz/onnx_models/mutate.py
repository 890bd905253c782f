"""What happens to a model: its bytes change, or its parts do."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import onnx
from google.protobuf.message import DecodeError
from onnx import AttributeProto

NUMBERS = (-(2**63), -(2**31) - 1, -2, -1, 0, 1, 2, 3, 7, 64, 2**31, 2**40, 2**63 - 1)
Change = Callable[[Any, random.Random], None]


# --- bytes ----------------------------------------------------------------------------------------


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Some bytes are other ones, gone, repeated or cut off."""
    made = bytearray(content)
    for _ in range(rng.randint(1, 6)):
        place = rng.randrange(len(made) + 1)
        size = rng.randint(1, 8)
        match rng.randrange(5):
            case 0:
                made[place : place + 1] = bytes([rng.randrange(256)])
            case 1:
                del made[place : place + size]
            case 2:
                made[place:place] = made[place : place + size]
            case 3:
                made[place:place] = rng.randbytes(size)
            case _:
                del made[max(place, 1) :]
    return bytes(made)


# --- parts ----------------------------------------------------------------------------------------


def _node(model: Any, rng: random.Random) -> Any:
    nodes = list(_nodes(model.graph)) + [n for f in model.functions for n in f.node]
    return rng.choice(nodes) if nodes else model.graph.node.add()


def _nodes(graph: Any) -> Any:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield from _nodes(attribute.g)


def _names(model: Any) -> list[str]:
    graph = model.graph
    given = [each.name for each in (*graph.input, *graph.initializer)]
    return [*given, *(name for node in graph.node for name in node.output), "", "nowhere"]


def _rewired(model: Any, rng: random.Random) -> None:
    node = _node(model, rng)
    side = node.input if rng.random() < 0.7 else node.output
    if side:
        side[rng.randrange(len(side))] = rng.choice(_names(model))


def _another_number_of_sides(model: Any, rng: random.Random) -> None:
    node = _node(model, rng)
    side = node.input if rng.random() < 0.7 else node.output
    if side and rng.random() < 0.5:
        del side[rng.randrange(len(side))]
    else:
        side.append(rng.choice(_names(model)))


def _another_op(model: Any, rng: random.Random) -> None:
    schemas = onnx.defs.get_all_schemas()
    chosen = rng.choice(schemas)
    node = _node(model, rng)
    node.op_type, node.domain = chosen.name, chosen.domain


def _node_gone_or_twice(model: Any, rng: random.Random) -> None:
    nodes = model.graph.node
    if not nodes:
        return
    number = rng.randrange(len(nodes))
    if rng.random() < 0.5:
        del nodes[number]
    else:
        nodes.append(nodes[number])


def _another_attribute(model: Any, rng: random.Random) -> None:
    node = _node(model, rng)
    if not node.attribute:
        node.attribute.add(name="axis", type=AttributeProto.INT, i=rng.choice(NUMBERS))
        return
    attribute = rng.choice(list(node.attribute))
    match rng.randrange(6):
        case 0:
            attribute.i = rng.choice(NUMBERS)
        case 1:
            attribute.ints[:] = [rng.choice(NUMBERS) for _ in range(rng.randint(0, 5))]
        case 2:
            attribute.type = rng.randrange(15)
        case 3:
            attribute.name = rng.choice(["axis", "axes", "to", "body", "value", "perm", "nope"])
        case 4:
            attribute.s = rng.choice([b"", b"linear", b"\xff\xfe", b"SAME_UPPER"])
        case _:
            attribute.f = rng.choice([float("nan"), float("inf"), -1.0, 0.0, 1e38])


def _another_tensor(model: Any, rng: random.Random) -> None:
    tensors = list(model.graph.initializer)
    tensors += [a.t for n in _nodes(model.graph) for a in n.attribute if a.HasField("t")]
    if not tensors:
        return
    tensor = rng.choice(tensors)
    match rng.randrange(5):
        case 0:
            tensor.dims[:] = [rng.choice(NUMBERS) for _ in range(rng.randint(0, 4))]
        case 1:
            tensor.data_type = rng.randrange(30)
        case 2:
            tensor.raw_data = rng.randbytes(rng.randrange(64))
        case 3:
            tensor.data_location = onnx.TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value=rng.choice(["../x", "/etc/passwd", "x"]))
        case _:
            tensor.int64_data[:] = [rng.choice(NUMBERS) for _ in range(rng.randint(0, 4))]


def _another_input(model: Any, rng: random.Random) -> None:
    if not model.graph.input:
        return
    value = rng.choice(list(model.graph.input))
    shape = value.type.tensor_type.shape
    match rng.randrange(5):
        case 0:
            value.type.tensor_type.elem_type = rng.randrange(30)
        case 1:
            shape.dim.add().dim_param = rng.choice(["n", "n*n", "n/0", "?", "?0", "((n", "0", "-1"])
        case 2:
            shape.dim.add().dim_value = rng.choice(NUMBERS)
        case 3:
            value.name = rng.choice(_names(model))
        case _:
            value.ClearField("type")


def _another_version(model: Any, rng: random.Random) -> None:
    for opset in model.opset_import:
        opset.version = rng.choice((*range(1, 30), *NUMBERS))


def _inside_itself(model: Any, rng: random.Random) -> None:
    """A body that has the whole graph in it, some levels deep."""
    for _ in range(rng.randint(1, 7)):
        copy = onnx.GraphProto()
        copy.CopyFrom(model.graph)
        if copy.ByteSize() > 100_000:
            return
        node = _node(model, rng)
        node.attribute.add(name="body", type=AttributeProto.GRAPH).g.CopyFrom(copy)


def _own_function(model: Any, rng: random.Random) -> None:
    """A function under the name of an op, of nodes that the model has."""
    node = _node(model, rng)
    function = model.functions.add(name=node.op_type, domain=node.domain)
    function.opset_import.add(domain="", version=20)
    function.node.extend(list(model.graph.node)[:3])
    function.input.extend(node.input)
    function.output.extend(node.output)


CHANGES: Sequence[Change] = (
    _rewired, _another_number_of_sides, _another_op, _node_gone_or_twice, _another_attribute,
    _another_tensor, _another_input, _another_version, _inside_itself, _own_function,
)  # fmt: skip


def mutated(content: bytes, rng: random.Random) -> bytes:
    """The bytes of a model that was a good one."""
    if rng.random() < 0.3:
        return damaged(content, rng)
    model = onnx.ModelProto.FromString(content)
    for _ in range(rng.randint(1, 3)):
        with suppress(DecodeError):  # of protobuf itself, where parts are too deep to be copied
            rng.choice(CHANGES)(model, rng)
    made = model.SerializeToString()
    return damaged(made, rng) if rng.random() < 0.1 else made
