"""From a graph of kernel nodes to kernels, all of them: the stage between passes and schedule.

Equal regions are lowered once, and what is found out about their memory is found out once: the
layers of a model are all alike. Nothing here knows in which order kernels run, or what they cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from anyshape.analysis.constants import is_constant
from anyshape.families.family import Lowered
from anyshape.families.lower import Known, lower_region
from anyshape.families.shared_constants import shared_constants
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import Trait
from anyshape.ir.rewrite import Decision
from anyshape.loop import Kernel
from anyshape.loop.accesses import copied_from, overwritable
from anyshape.loop.removable_copies import removable_copies
from anyshape.lower.packing import Packing
from anyshape.lower.panel_gather import reading_panels
from anyshape.lower.tiling import WIDE, Tiling
from anyshape.ops.known import KERNEL
from anyshape.sym import Dim, Facts

Pairs = frozenset[tuple[int, int]]
"""Operands and results, by position: operands come first."""


@dataclass(frozen=True, slots=True)
class MemorySharing:
    """How results may lie in the memory of operands, whatever variant runs.

    `overwritable` pairs may be one memory; those of `removable_copies` may if the kernel does not
    copy the one to the other. `copied_from` is the operand that the only result is a stretch of,
    and the element where that begins, if the kernel does nothing but copy it.
    """

    overwritable: Pairs = frozenset()
    removable_copies: Pairs = frozenset()
    copied_from: tuple[int, Dim] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class LoweredKernel:
    """A region, in sizes of the graph, and its kernels. Nodes with equal regions share it."""

    region: Region
    lowered: Lowered
    sharing: MemorySharing


@dataclass(frozen=True, slots=True)
class LoweredGraph:
    """A graph and the kernels of its kernel nodes, in the graph's order.

    `decisions` are about the memory of constants, and about families that ops are for but not in.
    """

    graph: Graph
    kernels: Mapping[Node, LoweredKernel]
    decisions: tuple[Decision, ...] = ()


def lower_graph(graph: Graph, tiling: Tiling = WIDE) -> LoweredGraph:
    """Lowers every kernel node. `tiling` tells for how many threads, too."""
    regions = _Regions(graph.facts, _for_weights(_weights_of_products(graph), tiling))
    kernels = {node: regions.kernel(node) for node in graph.nodes() if node.op is KERNEL}
    shared = shared_constants(graph, {node: kernel.lowered for node, kernel in kernels.items()})
    if shared.packings:
        kernels = {
            node: regions.kernel(node, _looked_up(node, kernel.lowered, shared.packings))
            for node, kernel in kernels.items()
        }
    return LoweredGraph(graph, kernels, (*shared.decisions, *_refusals(graph, kernels)))


def _for_weights(size: int, tiling: Tiling) -> Tiling:
    """For so many bytes, of which one pass over all of them may leave few in a cache."""
    caches = tiling.caches
    return replace(tiling, caches=caches.for_weights(size), far_weights=size >= caches.far)


def _weights_of_products(graph: Graph) -> int:
    """Bytes of the constants that products read."""
    kernels = (node for node in graph.nodes() if node.op is KERNEL)
    products = (node for node in kernels if _multiplies(node.regions[0]))
    operands = {value for node in products for value in node.operands if is_constant(value)}
    tensors = (value.tensor for value in operands)
    return sum(int(t.size) * t.dtype.itemsize for t in tensors)


def _multiplies(region: Region) -> bool:
    return any(node.op.has(Trait.CONTRACTION) for node in region.nodes())


Packed = tuple[tuple[int, Packing], ...]
"""Parameters that are looked up in panels, and how they are packed."""


def _looked_up(node: Node, lowered: Lowered, packings: Mapping[Value, Packing]) -> Packed:
    """The operands that a node looks up in the panels of another."""
    operands = enumerate(node.operands)
    return tuple((i, packings[v]) for i, v in operands if v in packings and i not in lowered.packed)


def _refusals(graph: Graph, kernels: Mapping[Node, LoweredKernel]) -> tuple[Decision, ...]:
    """Which families the ops of kernels are for, and why these are of none of them."""
    return tuple(
        dict.fromkeys(
            Decision(
                "lower",
                False,
                f"it is no {passed.family} kernel: {passed.refusal}",
                passed.anchor,
                graph.locations.of(node),
            )
            for node, kernel in kernels.items()
            for passed in kernel.lowered.passed_over
        )
    )


class _Regions:
    """The regions that are lowered so far."""

    def __init__(self, facts: Facts, tiling: Tiling) -> None:
        self._facts = facts
        self._tiling = tiling
        self._kernels: dict[tuple[Region, frozenset[int], Packed], LoweredKernel] = {}
        self._own: Known = {}
        self._sharing: dict[tuple[int, ...], MemorySharing] = {}  # by identity of kernels

    def kernel(self, node: Node, packed: Packed = ()) -> LoweredKernel:
        """That of a kernel node; it matters which of its operands are constants."""
        constants = frozenset(i for i, value in enumerate(node.operands) if is_constant(value))
        key = node.regions[0], constants, packed
        if key not in self._kernels:
            self._kernels[key] = self._lowered(*key)
        return self._kernels[key]

    def _lowered(self, region: Region, constants: frozenset[int], packed: Packed) -> LoweredKernel:
        lowered = self._lower(region, constants, dict(packed))
        kernels = [lowered.kernel, *(variant.kernel for variant in lowered.others)]
        key = tuple(map(id, kernels))
        if key not in self._sharing:
            self._sharing[key] = memory_sharing(kernels)
        return LoweredKernel(region, lowered, self._sharing[key])

    def _lower(
        self, region: Region, constants: frozenset[int], packed: Mapping[int, Packing]
    ) -> Lowered:
        given = reading_panels(region, packed, self._facts) if packed else region
        lowered = lower_region(given, self._facts, constants, self._tiling, self._own)
        return replace(lowered, packed=packed) if packed else lowered


def memory_sharing(variants: Sequence[Kernel]) -> MemorySharing:
    """What holds for all variants of a kernel."""
    allowed = reduce(Pairs.__and__, map(overwritable, variants))
    if len(variants) > 1:
        return MemorySharing(allowed)
    (kernel,) = variants
    return MemorySharing(allowed, removable_copies(kernel), copied_from(kernel))
