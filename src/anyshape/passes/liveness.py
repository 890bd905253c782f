"""What is needed inside regions, and regions with less in them.

Used by dead-code elimination. Dropping a result or a parameter changes no type of what stays, so
nodes are copied as they are and nothing is inferred again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from anyshape.ir.attrs import Attrs
from anyshape.ir.node import Node, Region, Value, topological
from anyshape.ir.opdef import PARAM, ParamAttrs, param_index
from anyshape.ops.control import ScanAttrs, WhileAttrs
from anyshape.ops.known import COND
from anyshape.sym import Symbol


def needed_params(region: Region, results: Iterable[int], outer: frozenset[Symbol]) -> set[int]:
    """Parameters that these results reach, by value or because only they give a symbol its size.

    What bears a size inside stays (`narrowed`), whether or not a result reaches it.
    """
    nodes = topological([*(region.results[index].node for index in results), *region.size_bearers])
    needed = {param_index(node) for node in nodes if node.op is PARAM}
    computing = (node.all_symbols for node in nodes if node.op is not PARAM)
    sizes = frozenset[Symbol]().union(*computing) - outer
    return needed | {i for i, type_ in enumerate(region.params) if type_.symbols & sizes}


def narrowed(region: Region, results: Sequence[int], params: Sequence[int]) -> Region:
    """The region with only these results and parameters, in this order."""
    if len(results) == len(region.results) and len(params) == len(region.params):
        return region
    position = {old: new for new, old in enumerate(params)}
    kept = [region.results[index] for index in results]
    nodes: dict[Node, Node] = {}
    for node in topological([*(value.node for value in kept), *region.size_bearers]):
        nodes[node] = _moved(node, position) if node.op is PARAM else on_operands(node, nodes)
    return Region(
        tuple(region.params[index] for index in params),
        tuple(Value(nodes[value.node], value.index) for value in kept),
        region.facts,
        tuple(nodes[node] for node in region.size_bearers),
    )


def _moved(param: Node, position: dict[int, int]) -> Node:
    index = position[param_index(param)]
    return Node.make(PARAM, (), ParamAttrs(index), param.types)


def on_operands(node: Node, nodes: dict[Node, Node]) -> Node:
    """The same node on the new nodes of its operands."""
    operands = [Value(nodes[value.node], value.index) for value in node.operands]
    return Node.make(node.op, operands, node.attrs, node.types, node.regions, node.late)


# --- ops with regions -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Layout:
    """How the operands, results and region parameters of an op correspond.

    Operand `first + i` is parameter i of every region. Result i is result i of the regions that
    give; for i < `carried`, it is parameter i of the next iteration too.
    """

    first: int
    carried: int
    giving: tuple[Region, ...]
    asking: tuple[Region, ...] = ()  # regions all of whose results are needed


def region_layout(node: Node) -> Layout | None:
    """None for an op without regions, or one that must stay as it is."""
    match node.attrs, node.regions:
        case WhileAttrs(carried=carried), (condition, body):
            return Layout(0, carried, (body,), (condition,))
        case ScanAttrs(carried=carried), (body,):
            return Layout(0, carried, (body,))
        case _ if node.op is COND:
            return Layout(1, 0, node.regions)
        case _:
            return None


def shrink(
    node: Node, layout: Layout, used: Iterable[int], outer: frozenset[Symbol]
) -> tuple[Node, list[int]]:
    """The op with only what its `used` results need, and which results that leaves."""
    results, params = _needed(layout, set(used), outer)
    regions = [
        narrowed(region, range(len(region.results)) if region in layout.asking else results, params)
        for region in node.regions
    ]
    types = [node.types[index] for index in results]
    symbols = frozenset[Symbol]().union(*(type_.symbols for type_ in types))
    new = Node.make(
        node.op,
        [*node.operands[: layout.first], *(node.operands[layout.first + i] for i in params)],
        _narrowed_attrs(node.attrs, params),
        types,
        regions,
        [late for late in node.late if late.symbol in symbols],
    )
    return new, results


def _needed(
    layout: Layout, results: set[int], outer: frozenset[Symbol]
) -> tuple[list[int], list[int]]:
    """Results and parameters to keep: a carried value is both or neither."""
    while True:
        params = {index for index in results if index < layout.carried}
        for region in layout.asking:
            params |= needed_params(region, range(len(region.results)), outer)
        for region in layout.giving:
            params |= needed_params(region, results, outer)
        carried = {index for index in params if index < layout.carried}
        if carried <= results:
            return sorted(results), sorted(params)
        results = results | carried


def _narrowed_attrs(attrs: Attrs, params: Sequence[int]) -> Attrs:
    match attrs:
        case WhileAttrs():
            return replace(attrs, carried=_count(params, 0, attrs.carried))
        case ScanAttrs():
            end = attrs.carried + attrs.scanned
            carried = _count(params, 0, attrs.carried)
            return replace(attrs, carried=carried, scanned=_count(params, attrs.carried, end))
        case _:
            return attrs


def _count(indices: Sequence[int], start: int, stop: int) -> int:
    return sum(start <= index < stop for index in indices)
