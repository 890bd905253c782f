"""Makes a failing model small: fewer nodes, results, sizes; and its source text.

A candidate is kept if it fails in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.fuzz.against_numpy.isolate import Ended, alone
from tests.fuzz.onnx_graphs import oracle
from tests.fuzz.onnx_graphs.check import Failure, Tally, check
from tests.fuzz.onnx_graphs.program import Body, Constant, Node, Program, Type
from tests.fuzz.shrinking import made_small

ATTEMPTS = 120

Fails = Callable[[Program, str], Failure | None]


def fails_like(program: Program, kind: str) -> Failure | None:
    """The failure of a candidate, if it is of the same kind."""
    found = alone(_attempt, program)
    if isinstance(found, Ended):
        found = Failure(found.how, found.how, program, 0)
    return found if found is not None and found.kind == kind else None


def _attempt(program: Program) -> Failure | None:
    return check(program, Tally())


def shrunk(failure: Failure, fails: Fails = fails_like) -> Failure:
    return made_small(failure, _candidates, fails, ATTEMPTS)


def _candidates(failure: Failure) -> Iterator[Program]:
    program = failure.program
    if len(program.sizes) > 1:
        yield replace(program, sizes=(program.sizes[failure.number],))
    for number in range(len(program.nodes)):
        made = program.nodes[: number + 1]
        if number + 1 < len(program.nodes):
            yield _ending(program, made)
    if len(program.outputs) > 1:
        yield from (replace(program, outputs=(one,)) for one in program.outputs)
    kept = _needed(program)
    if kept != program.nodes:
        yield replace(program, nodes=kept)
    for number in reversed(range(len(program.nodes))):
        yield from _without(program, number)
    if program.executor != "reference":
        yield replace(program, executor="reference")


def _types(program: Program) -> dict[str, Type]:
    """Of all values, by onnxruntime; without those from the first node that it refuses."""
    types = {each.name: Type(each.dtype) for each in (*program.inputs, *program.constants)}
    for node in program.nodes:
        names = sorted(set(node.reads()))
        if any(name not in types for name in names):
            break
        made = oracle.of_node(node, program.opset, tuple((name, types[name]) for name in names))
        kinds = [None] if made is None else oracle.types_of(made)
        if None in kinds:
            break
        outputs = (name for name in node.outputs if name)
        types |= {name: kind for name, kind in zip(outputs, kinds, strict=True) if kind}
    return types


def _ending(program: Program, nodes: tuple[Node, ...]) -> Program:
    """The first nodes, with the results of the last of them."""
    types = _types(program)
    results = ((name, types[name]) for name in nodes[-1].outputs if name in types)
    shorter = replace(program, nodes=nodes, outputs=tuple(results))
    return replace(shorter, nodes=_needed(shorter))


def _needed(program: Program) -> tuple[Node, ...]:
    wanted = {name for name, _ in program.outputs}
    kept: list[Node] = []
    for node in reversed(program.nodes):
        if wanted & set(node.outputs):
            kept.insert(0, node)
            wanted |= set(node.reads())
    return tuple(kept)


def _without(program: Program, number: int) -> Iterator[Program]:
    """A node less: its first result is the value of one of its inputs."""
    node, types = program.nodes[number], _types(program)
    for instead in dict.fromkeys(node.reads()):
        if types.get(instead) != types.get(node.outputs[0]):
            continue
        rest = (_renamed(each, node.outputs[0], instead) for each in program.nodes[number + 1 :])
        if node.outputs[0] not in {name for name, _ in program.outputs}:
            yield replace(program, nodes=(*program.nodes[:number], *rest))


def _renamed(node: Node, old: str, new: str) -> Node:
    inputs = tuple(new if name == old else name for name in node.inputs)
    attributes = tuple(
        (key, _renamed_body(value, old, new) if isinstance(value, Body) else value)
        for key, value in node.attributes
    )
    return replace(node, inputs=inputs, attributes=attributes)


def _renamed_body(body: Body, old: str, new: str) -> Body:
    return replace(body, nodes=tuple(_renamed(node, old, new) for node in body.nodes))


# --- text -----------------------------------------------------------------------------------------

HEADER = """\
import numpy as np
import onnx.helper as oh
import onnxruntime
from onnx.numpy_helper import from_array

import anyshape as ash
"""


def snippet(failure: Failure) -> str:
    """A file that shows the failure."""
    program = failure.program
    nodes = "".join(f"    {_node(each)},\n" for each in program.nodes)
    inputs = "".join(
        f"    {_info(each.name, Type(each.dtype), list(each.dims))},\n"
        for each in program.used_inputs()
    )
    outputs = "".join(f"    {_info(name, kind, None)},\n" for name, kind in program.outputs)
    constants = "".join(
        f"    {_tensor(each)},\n" for each in program.constants if each.name in program.used()
    )
    feeds = "".join(
        f"    '{name}': np.array({value.tolist()}, '{value.dtype}').reshape({value.shape}),\n"
        for name, value in program.feeds(failure.number).items()
    )
    problem = "\n".join(
        f"# {line}" for line in f"{failure.kind}, seed {program.seed}\n{failure.text}".splitlines()
    )
    return (
        f"{HEADER}\ngraph = oh.make_graph([\n{nodes}], 'g', [\n{inputs}], [\n{outputs}], [\n"
        f"{constants}])\nmodel = oh.make_model(graph, ir_version=9, opset_imports=[\n"
        f"    oh.make_opsetid('', {program.opset}), oh.make_opsetid('com.microsoft', 1)])\n"
        f"feeds = {{\n{feeds}}}\noptions = ash.SessionOptions()\n"
        f"options.add_session_config_entry('anyshape.executor', '{program.executor}')\n"
        "content = model.SerializeToString()\n"
        "print(onnxruntime.InferenceSession(content).run(None, feeds))\n"
        f"print(ash.InferenceSession(content, options).run(None, feeds))\n{problem}"
    )


def _info(name: str, kind: Type, dims: object) -> str:
    what = "sequence" if kind.is_sequence else "value"
    made = "make_tensor_sequence_value_info" if what == "sequence" else "make_tensor_value_info"
    return f"oh.{made}('{name}', {kind.code}, {dims})"


def _tensor(one: Constant) -> str:
    array = f"np.array({list(one.numbers)}, '{one.dtype}').reshape({one.shape})"
    return f"from_array({array}, '{one.name}')".replace("nan", "np.nan").replace("inf", "np.inf")


def _node(node: Node) -> str:
    attributes = "".join(f", {name}={_value(value)}" for name, value in node.attributes)
    domain = f", domain='{node.domain}'" if node.domain else ""
    return (
        f"oh.make_node('{node.op}', {list(node.inputs)}, {list(node.outputs)}{domain}{attributes})"
    )


def _value(value: object) -> str:
    match value:
        case Constant():
            return _tensor(value)
        case Body():
            nodes = ", ".join(map(_node, value.nodes))
            sides = (
                ", ".join(
                    _info(p.name, p.type, None if p.rank is None else [None] * p.rank) for p in side
                )
                for side in (value.inputs, value.outputs)
            )
            inputs, outputs = sides
            return f"oh.make_graph([{nodes}], 'body', [{inputs}], [{outputs}])"
        case _:
            return repr(value)
