"""Replacing symbols throughout a region: types, attributes, facts and nested regions. Or dims, with
facts and late sizes as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from anyshape.ir.attrs import map_dims
from anyshape.ir.node import Locations, Node, Region, Value
from anyshape.ir.types import TensorType, Type
from anyshape.sym import Dim, Symbol
from anyshape.sym.rebuild import Substitution


def substitute_region(
    region: Region, dims: Mapping[Symbol, Dim], locations: Locations | None = None
) -> Region:
    """The region with `dims` replaced; the same object when there is nothing to replace."""
    if not dims:
        return region
    dims = dims if isinstance(dims, Substitution) else Substitution(dims)
    nodes: dict[Node, Node] = {}
    for node in region.nodes():
        nodes[node] = _substitute_node(node, dims, nodes, locations)
        if locations is not None:
            locations.record(nodes[node], locations.of(node))
    return Region(
        tuple(type_.substitute(dims) for type_ in region.params),
        tuple(Value(nodes[value.node], value.index) for value in region.results),
        region.facts.substitute(dims),
        tuple(nodes[node] for node in region.size_bearers),
    )


def _substitute_node(
    node: Node,
    dims: Mapping[Symbol, Dim],
    nodes: Mapping[Node, Node],
    locations: Locations | None,
) -> Node:
    return Node.make(
        node.op,
        (Value(nodes[value.node], value.index) for value in node.operands),
        map_dims(node.attrs, lambda dim: dim.substitute(dims)),
        (type_.substitute(dims) for type_ in node.types),
        (substitute_region(inner, dims, locations) for inner in node.regions),
        (late.substitute(dims) for late in node.late),
    )


def map_region(
    region: Region, change: Callable[[Dim], Dim], locations: Locations | None = None
) -> Region:
    """The region with `change` applied to every dim of its types and attributes."""
    nodes: dict[Node, Node] = {}
    for node in region.nodes():
        nodes[node] = Node.make(
            node.op,
            (Value(nodes[value.node], value.index) for value in node.operands),
            map_dims(node.attrs, change),
            (_map_type(type_, change) for type_ in node.types),
            (map_region(inner, change, locations) for inner in node.regions),
            node.late,
        )
        if locations is not None:
            locations.record(nodes[node], locations.of(node))
    params = tuple(_map_type(type_, change) for type_ in region.params)
    results = tuple(Value(nodes[value.node], value.index) for value in region.results)
    bearers = tuple(nodes[node] for node in region.size_bearers)
    return Region(params, results, region.facts, bearers)


def _map_type(type_: Type, change: Callable[[Dim], Dim]) -> Type:
    if not isinstance(type_, TensorType):
        return type_
    return type_.with_shape(tuple(map(change, type_.shape)))
