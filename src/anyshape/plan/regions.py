"""The kernels of regions, lowered once each, and what is known of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from anyshape.analysis.constants import is_constant
from anyshape.families.family import Lowered
from anyshape.families.lower import Known, lower_region
from anyshape.ir.node import Node, Region, Value
from anyshape.loop import Kernel
from anyshape.loop.accesses import copied_from, overwritable
from anyshape.loop.removable_copies import copied_onto
from anyshape.lower.lookup import reading_panels
from anyshape.lower.packing import Packing
from anyshape.lower.tiling import Tiling
from anyshape.plan.costs import Choice, Costing, MachineCosts, Ways
from anyshape.sym import Dim, Facts


@dataclass(frozen=True, slots=True)
class RegionKernels:
    """A lowered region: ways to compute it, and what holds for all of them.

    `overwritable` are positions of an operand and a result that may be one memory, `copied_onto`
    those that may if the copy is left out. `copied` is the operand that the result is a stretch of,
    and where that begins, if it is nothing else.
    """

    lowered: Lowered
    ways: Ways
    overwritable: frozenset[tuple[int, int]]
    copied_onto: frozenset[tuple[int, int]]
    copied: tuple[int, Dim] | None


Accesses = tuple[frozenset[tuple[int, int]], frozenset[tuple[int, int]], tuple[int, Dim] | None]
"""The last three of `RegionKernels`."""

NO_TABLES: Mapping[Value, Packing] = {}

Packed = tuple[tuple[int, Packing], ...]
"""Parameters that are looked up in panels, and how they are packed."""


class RegionLibrary:
    """Equal regions are lowered once: the layers of a model are all alike."""

    def __init__(self, facts: Facts, tiling: Tiling, costs: MachineCosts) -> None:
        self.facts = facts
        self.tiling = replace(tiling, threads=costs.threads)
        self.costing = Costing(costs)
        self._known: dict[tuple[Region, frozenset[int], Packed], RegionKernels] = {}
        self._own: Known = {}
        self._accessed: dict[int, tuple[tuple[Choice, ...], Accesses]] = {}

    def kernels(self, node: Node, tables: Mapping[Value, Packing] = NO_TABLES) -> RegionKernels:
        """Those of a kernel node; it matters which of its operands are constants.

        Where it looks one of the `tables` up, it does so in panels.
        """
        constants = frozenset(i for i, v in enumerate(node.operands) if is_constant(v))
        found = self._kernels(node.regions[0], constants, ())
        packed = tuple(
            (i, tables[v])
            for i, v in enumerate(node.operands)
            if v in tables and i not in found.lowered.packed
        )
        return self._kernels(node.regions[0], constants, packed) if packed else found

    def _kernels(self, region: Region, constants: frozenset[int], packed: Packed) -> RegionKernels:
        key = region, constants, packed
        if key not in self._known:
            self._known[key] = self._lowered(*key)
        return self._known[key]

    def _lowered(self, region: Region, constants: frozenset[int], packed: Packed) -> RegionKernels:
        lowered = self._lower(region, constants, dict(packed))
        ways = self.costing.ways(lowered, region)
        return RegionKernels(lowered, ways, *self._accesses(ways.choices))

    def _accesses(self, choices: tuple[Choice, ...]) -> Accesses:
        """What holds for all of them. Choices that are shared are looked at once."""
        known = self._accessed.get(id(choices))
        if known is not None and known[0] is choices:
            return known[1]
        accesses = _accesses([choice.variant.kernel for choice in choices])
        self._accessed[id(choices)] = choices, accesses
        return accesses

    def _lower(
        self, region: Region, constants: frozenset[int], packed: Mapping[int, Packing]
    ) -> Lowered:
        given = reading_panels(region, packed, self.facts) if packed else region
        lowered = lower_region(given, self.facts, constants, self.tiling, self._own)
        return replace(lowered, packed=packed) if packed else lowered


def _accesses(kernels: Sequence[Kernel]) -> Accesses:
    allowed = reduce(frozenset[tuple[int, int]].__and__, map(overwritable, kernels))
    if len(kernels) > 1:
        return allowed, frozenset(), None
    (kernel,) = kernels
    return allowed, copied_onto(kernel), copied_from(kernel)
