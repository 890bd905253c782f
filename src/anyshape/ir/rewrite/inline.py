"""Putting the body of a region in place of the op that would run it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from anyshape.ir.build import Builder
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import PARAM, ParamAttrs


def inline_region(region: Region, args: Sequence[Value], builder: Builder) -> list[Value]:
    """The results of `region` on `args`, built in the region that `builder` makes.

    What the body requires is required again there: now it holds whenever the graph runs.
    """
    values: dict[Value, Value] = {}
    for node in region.nodes():
        values.update(zip(node.results, _inlined(node, args, values, builder), strict=True))
    return [values[value] for value in region.results]


def _inlined(
    node: Node, args: Sequence[Value], values: dict[Value, Value], builder: Builder
) -> tuple[Value, ...]:
    if node.op is PARAM:
        return (args[cast(ParamAttrs, node.attrs).index],)
    operands = [values[value] for value in node.operands]
    return builder.node(node.op, operands, node.attrs, node.regions, node.late).results
