"""Which nodes run natively, and which on the host: one answer before fusion and after it."""

from __future__ import annotations

from collections.abc import Iterator

from anyshape.families.body import LOOPS
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Region
from anyshape.ir.opdef import PARAM, Trait
from anyshape.ir.types import TensorType
from anyshape.ops.known import (
    APPEND,
    COND,
    CONSTANT,
    KERNEL,
    LATE_SIZE,
    PREFIX,
    SCAN,
    SEGMENT,
    TOKEN,
    WHILE,
)

MAP = frozenset({Trait.ELEMENTWISE, Trait.INDEXED})

STEPS = frozenset({COND, WHILE, SCAN, PREFIX, LATE_SIZE})
"""Ops between segments that the runtime does by itself; others are called back."""

GATHERED = frozenset({KERNEL, SEGMENT, APPEND})
"""Ops that stand for what is native already."""


def has_code(node: Node) -> bool:
    """Whether a kernel can contain it, unless it is no elementwise op at all."""
    return not node.op.has(Trait.ELEMENTWISE) or node.op.generated or node.op.is_compound


def is_map(node: Node) -> bool:
    is_one = bool(node.op.traits & MAP) and has_code(node)
    return is_one and not node.op.has(Trait.ALIAS) and not node.late


def is_loop(node: Node) -> bool:
    return bool(node.op.traits & LOOPS)


def is_alone(node: Node) -> bool:
    """Whether nothing shares a kernel with it."""
    return node.op.has(Trait.ALONE)


def has_kernel(node: Node) -> bool:
    """Whether a kernel can compute it."""
    return is_map(node) or is_loop(node) or is_alone(node)


def is_alias(node: Node) -> bool:
    return node.op.has(Trait.ALIAS)


def is_source(node: Node) -> bool:
    """Whether a node's value is there before anything runs."""
    return node.op is PARAM or node.op in (CONSTANT, TOKEN)


def is_host(node: Node) -> bool:
    """Whether a node has no native form."""
    free = is_source(node) or is_alias(node)
    return not (free or node.op in GATHERED or has_kernel(node))


def host_nodes(region: Region) -> Iterator[Node]:
    """Every host node of a region, those inside others after them."""
    for node in filter(is_host, region.nodes()):
        yield node
        for inner in node.regions:
            yield from host_nodes(inner)


def called_back(region: Region) -> Iterator[Node]:
    """The host nodes that Python computes, in the middle of a run."""
    return (node for node in host_nodes(region) if node.op not in STEPS)


def runs_whole(graph: Graph) -> bool:
    """Whether a graph is one native call: it has no host nodes, and no tokens go through."""
    through = (*graph.body.params, *graph.body.result_types)
    return all(isinstance(type_, TensorType) for type_ in through) and not any(
        map(is_host, graph.nodes())
    )
