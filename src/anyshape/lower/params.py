"""Where a region reads its parameters."""

from __future__ import annotations

from typing import NamedTuple

from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import PARAM, param_index


class Use(NamedTuple):
    """A node, and the number of its operand."""

    node: Node
    operand: int


def uses_of(region: Region, param: int) -> list[Use]:
    """By nodes; a parameter may also be a result."""
    return [
        Use(node, number)
        for node in region.nodes()
        for number, value in enumerate(node.operands)
        if is_param(value, param)
    ]


def is_param(value: Value, param: int) -> bool:
    return value.node.op is PARAM and param_index(value.node) == param
