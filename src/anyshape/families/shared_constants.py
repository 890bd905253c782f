"""Which constants are held once although they are both multiplied and looked up.

A constant that a matrix product reads in panels, and that everything else only looks up, is kept in
panels alone (`lower/panel_gather.py`). A look-up then takes a cache line for each element: some
five microseconds for a row of 768, in models that spend a thousand on it. What is held must not
depend on the machine or on guesses at sizes, so no cost decides this; only small tables are held
twice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from anyshape.analysis.constants import is_constant
from anyshape.families.family import Lowered
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Value
from anyshape.ir.rewrite import Decision
from anyshape.lower.packing import Packing
from anyshape.lower.panel_gather import is_looked_up
from anyshape.ops.known import KERNEL
from anyshape.ops.source import ConstantAttrs

SMALL = 1 << 20
"""Bytes of a table up to which a second one is no burden."""

RULE = "hold_once"


@dataclass(frozen=True, slots=True)
class SharedConstants:
    """Constants by the packing in which they are looked up, and what was decided about each."""

    packings: Mapping[Value, Packing]
    decisions: tuple[Decision, ...]


@dataclass(frozen=True, slots=True)
class _Uses:
    """Who reads a constant: products in panels, and others, by the number of their operand."""

    packings: list[Packing] = field(default_factory=list[Packing])
    plain: list[tuple[Node, int]] = field(default_factory=list[tuple[Node, int]])


def shared_constants(graph: Graph, lowered: Mapping[Node, Lowered]) -> SharedConstants:
    """Decides about every constant that is read both in panels and in its own order."""
    packings: dict[Value, Packing] = {}
    decisions: list[Decision] = []
    for value, uses in _uses(graph, lowered).items():
        if not uses.packings or not uses.plain:
            continue
        found = _packing(value, uses)
        if isinstance(found, Packing):
            packings[value] = found
        why = found if isinstance(found, str) else "looked up in the panels of a product"
        location = graph.locations.of(uses.plain[0][0])
        decisions.append(Decision(RULE, value in packings, why, value.node, location))
    return SharedConstants(packings, tuple(decisions))


def _uses(graph: Graph, lowered: Mapping[Node, Lowered]) -> dict[Value, _Uses]:
    found: dict[Value, _Uses] = {}
    for node in graph.nodes():
        for number, value in enumerate(node.operands):
            if not is_constant(value):
                continue
            uses = found.setdefault(value, _Uses())
            packing = lowered[node].packed.get(number) if node in lowered else None
            if packing is not None:
                uses.packings.append(packing)
            else:
                uses.plain.append((node, number))
    return found


def _packing(value: Value, uses: _Uses) -> Packing | str:
    """The form that suits all who look a constant up, or why it is held in its own order too."""
    constant = value.node.attrs_as(ConstantAttrs).value
    if math.prod(constant.shape) * constant.dtype.itemsize < SMALL:
        return "it is small"
    for packing in uses.packings:
        if all(_looks_up(node, number, packing) for node, number in uses.plain):
            return packing
    return "not only rows of it are looked up"


def _looks_up(node: Node, number: int, packing: Packing) -> bool:
    return node.op is KERNEL and is_looked_up(node.regions[0], number, packing)
