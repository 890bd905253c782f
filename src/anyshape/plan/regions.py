"""The kernels of regions, lowered once each, and what is known of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

from anyshape.ir.node import Node, Region, Value
from anyshape.lower.kernel import Lowered, lower_region
from anyshape.lower.tiling import Tiling
from anyshape.ops.source import ConstantAttrs
from anyshape.plan.accesses import copied_from, overwritable
from anyshape.plan.costs import Choice, MachineCosts, choices
from anyshape.plan.self_copies import copied_onto
from anyshape.sym import Dim, Facts


@dataclass(frozen=True, slots=True)
class RegionKernels:
    """A lowered region: ways to compute it, and what holds for all of them.

    `overwritable` are positions of an operand and a result that may be one memory, `copied_onto`
    those that may if the copy is left out. `copied` is the operand that the result is a stretch of,
    and where that begins, if it is nothing else.
    """

    lowered: Lowered
    choices: tuple[Choice, ...]
    overwritable: frozenset[tuple[int, int]]
    copied_onto: frozenset[tuple[int, int]]
    copied: tuple[int, Dim] | None


class RegionLibrary:
    """Equal regions are lowered once: the layers of a model are all alike."""

    def __init__(self, facts: Facts, tiling: Tiling, costs: MachineCosts) -> None:
        self.facts = facts
        self.tiling = replace(tiling, threads=costs.threads)
        self.costs = costs
        self._known: dict[tuple[Region, frozenset[int]], RegionKernels] = {}

    def kernels(self, node: Node) -> RegionKernels:
        """Those of a kernel node; it matters which of its operands are constants."""
        region = node.regions[0]
        constants = frozenset(i for i, v in enumerate(node.operands) if _is_constant(v))
        if (region, constants) not in self._known:
            self._known[region, constants] = self._lowered(region, constants)
        return self._known[region, constants]

    def _lowered(self, region: Region, constants: frozenset[int]) -> RegionKernels:
        lowered = lower_region(region, self.facts, constants, self.tiling)
        ways = choices(lowered, region, self.costs)
        kernels = [way.variant.kernel for way in ways]
        allowed = reduce(frozenset[tuple[int, int]].__and__, map(overwritable, kernels))
        if len(ways) > 1:
            return RegionKernels(lowered, ways, allowed, frozenset(), None)
        (kernel,) = kernels
        return RegionKernels(lowered, ways, allowed, copied_onto(kernel), copied_from(kernel))


def _is_constant(value: Value) -> bool:
    return isinstance(value.node.attrs, ConstantAttrs)
