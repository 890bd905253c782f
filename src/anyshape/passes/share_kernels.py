"""Kernels that differ in numbers only share their code, where there are many of them.

A number in a kernel is part of its text: `softmax(x * 0.5)` and `softmax(x * 0.25)` are two pieces
of machine code. That is right for the few numbers of a model, and hopeless where a program has made
hundreds of kernels of one form, each of which takes some hundred milliseconds to compile. There the
numbers that differ become operands: one load before the loops, and one kernel for all. Kernels with
contractions do so from the second on: a layer's learned scale makes each of them another one, which
takes as long to compile as a dozen others.

Only floats are taken out: integers may say where something lies.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anyshape.ir.attrs import NO_ATTRS
from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.literal import TensorLiteral
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import PARAM, Trait, lookup, param_index
from anyshape.ir.rewrite import Decision
from anyshape.ir.rewrite.rebuild import Rebuilder, rebuild_graph
from anyshape.ops.known import KERNEL
from anyshape.ops.source import ConstantAttrs
from anyshape.passes.infra import PassContext

FEW = 8
"""Kernels of one form without contractions that keep their numbers. Compiling so many takes about a
second."""

Numbers = tuple[Node, ...]
"""Constants of one element inside a region, in its order."""


@dataclass(frozen=True)
class ShareKernels:
    """Makes numbers operands where more than `few` kernels differ in nothing else, or more than one
    with a contraction."""

    few: int = FEW
    name: str = "share-kernels"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        kernels = {n.regions[0]: n for n in graph.nodes() if n.op is KERNEL}
        forms: defaultdict[object, list[Region]] = defaultdict(list)
        for region in kernels:
            if float_numbers(region):
                forms[_form(region)].append(region)
        shared: dict[Region, Numbers] = {}
        for regions in forms.values():
            few = 1 if _contracts(regions[0]) else self.few
            if len(regions) <= few:
                continue
            shared |= _differing(regions)
            why = f"{len(regions)} kernels differ in numbers only, which become operands"
            first = kernels[regions[0]]
            ctx.decisions.record(Decision(self.name, True, why, first, graph.locations.of(first)))
        return rebuild_graph(_Sharer(shared), graph) if shared else graph


def float_numbers(region: Region) -> Numbers:
    """The floats of one element in a region, none where they had better stay."""
    nodes = region.nodes()
    if any(node.op.has(Trait.ALONE) for node in nodes):
        return ()
    return tuple(node for node in nodes if _is_float(node))


def _contracts(region: Region) -> bool:
    return any(node.op.has(Trait.CONTRACTION) for node in region.nodes())


def _is_float(node: Node) -> bool:
    if not isinstance(node.attrs, ConstantAttrs):
        return False
    literal = node.attrs.value
    return isinstance(literal, TensorLiteral) and literal.dtype.is_float and literal.array.size == 1


def _form(region: Region) -> object:
    """Equal for regions that differ in floats only."""
    number: dict[Node, int] = {}
    parts: list[object] = []
    for node in region.nodes():
        number[node] = len(number)
        operands = tuple((number[value.node], value.index) for value in node.operands)
        attrs = None if _is_float(node) else node.attrs
        parts.append((node.op, operands, attrs, node.types, node.regions))
    results = tuple((number[value.node], value.index) for value in region.results)
    return region.params, results, region.facts, tuple(parts)


def _differing(regions: Sequence[Region]) -> dict[Region, Numbers]:
    """The numbers of each region that are not the same in all of them."""
    columns = list(zip(*map(float_numbers, regions), strict=True))
    differing = [column for column in columns if len(set(column)) > 1]
    return dict(zip(regions, zip(*differing, strict=True), strict=True))


class _Sharer(Rebuilder):
    def __init__(self, shared: Mapping[Region, Numbers]) -> None:
        self.shared = shared

    def rebuilt(self, node: Node, operands: tuple[Value, ...], builder: Builder) -> Node:
        """Regions stay as they are, or lose their numbers."""
        numbers = self.shared.get(node.regions[0], ()) if node.op is KERNEL else ()
        if not numbers:
            return builder.node(node.op, operands, node.attrs, node.regions, node.late)
        given = [builder.node(n.op, (), n.attrs).result() for n in numbers]
        body = _with_params(node.regions[0], numbers, builder.nested())
        return builder.node(lookup("kernel"), (*operands, *given), NO_ATTRS, [body])


def _with_params(region: Region, numbers: Numbers, inner: Builder) -> Region:
    """The region with parameters for its numbers, behind those it has."""
    params = [inner.param(type_) for type_ in region.params]
    made: dict[Value, Value] = {n.result(): inner.param(n.result().type) for n in numbers}
    for node in region.nodes():
        if node.op is PARAM:
            made[node.result()] = params[param_index(node)]
        elif node.result() not in made:
            operands = [made[value] for value in node.operands]
            new = inner.node(node.op, operands, node.attrs, node.regions, node.late)
            made.update(zip(node.results, new.results, strict=True))
    return inner.region([made[value] for value in region.results])
