"""Graphs as text. See `parser` for the grammar; printing then parsing gives the identical graph.

Nodes appear in topological order, numbered from 0 in each region; parameters have their names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

from anyshape.base.lexer import is_name, quoted
from anyshape.ir.attrs import non_default_items, schema
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import PARAM, param_index
from anyshape.ir.text.values import value_text
from anyshape.ir.types import Type

INDENT = "  "


def graph_text(name: str, inputs: Sequence[str], body: Region) -> str:
    """The whole text, with axes and facts first."""
    head = f"graph {name_text(name)}"
    lines = [*body.facts.as_text().splitlines(), *_region_lines(head, inputs, body)]
    return "\n".join(lines) + "\n"


def name_text(name: str) -> str:
    return name if is_name(name) else quoted(name, "`")


def types_text(types: Sequence[Type]) -> str:
    return str(types[0]) if len(types) == 1 else "(" + ", ".join(map(str, types)) + ")"


def _region_lines(head: str, names: Sequence[str], region: Region) -> Iterator[str]:
    params = ", ".join(
        f"{name_text(name)}: {type_}" for name, type_ in zip(names, region.params, strict=True)
    )
    yield f"{head}({params}) -> {types_text(region.result_types)} {{"
    labels: dict[Value, str] = {}
    numbers = count()
    for node in region.nodes():
        _label(node, names, labels, numbers)
        if node.op is not PARAM:
            yield from (INDENT + line for line in _node_lines(node, labels))
    yield f"{INDENT}return {', '.join(labels[value] for value in region.results)}"
    yield "}"


def _label(
    node: Node, names: Sequence[str], labels: dict[Value, str], numbers: Iterator[int]
) -> None:
    if node.op is PARAM:
        labels[node.result()] = name_text(names[param_index(node)])
        return
    for value in node.results:
        labels[value] = f"%{next(numbers)}"


def _node_lines(node: Node, labels: dict[Value, str]) -> Iterator[str]:
    results = ", ".join(labels[value] for value in node.results)
    operands = ", ".join(labels[value] for value in node.operands)
    head = f"{results} = {node.op.name}({operands}){_attrs_text(node)}{_late_text(node)}"
    types = f" : {types_text(node.types)}"
    if not node.regions:
        yield head + types
        return
    yield head
    blocks = [
        list(_nested_lines(*pair)) for pair in zip(node.op.regions, node.regions, strict=True)
    ]
    blocks[-1][-1] += types
    for block in blocks:
        yield from (INDENT + line for line in block)


def _nested_lines(label: str, region: Region) -> Iterator[str]:
    names = [f"a{index}" for index in range(len(region.params))]
    lines = _region_lines(label, names, region)
    yield next(lines)
    yield from (INDENT + line for line in region.facts.as_text().splitlines())
    yield from lines


def _attrs_text(node: Node) -> str:
    hints = schema(type(node.attrs))
    shown = [f"{name}={value_text(hints[name], v)}" for name, v in non_default_items(node.attrs)]
    return " {" + ", ".join(shown) + "}" if shown else ""


def _late_text(node: Node) -> str:
    return f" late [{', '.join(map(str, node.late))}]" if node.late else ""
