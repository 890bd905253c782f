"""What a step takes on this machine, as a formula of the graph's sizes.

The formula is a roofline: arithmetic and memory overlap, so the slower of the two counts, and each
task and step has a fixed price. Level 2 computes it with integers, to choose between variants and
to decide what is worth sharing among threads; nobody reads it as a promise.

Costs are dims, in picoseconds. Constants are in femtoseconds, so that a flop is still a number with
several digits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from anyshape.families.family import Lowered
from anyshape.families.lower_graph import LoweredGraph, LoweredKernel
from anyshape.ir.node import Region
from anyshape.level2.long_sums import SumNames
from anyshape.level2.words import Sizes
from anyshape.lower.effort import Effort, Variant, region_effort
from anyshape.sym import Dim, Symbol, ceildiv, maximum, minimum

PICOSECOND = 1000

FAR = 2
"""Bytes of the second level that take as long as one of the last level."""


@dataclass(frozen=True, slots=True)
class MachineCosts:
    """Femtoseconds on one thread, and how many threads there are.

    The defaults are those of a recent server core; `execute.calibrate` measures this machine's.
    """

    flop: int = 9_000  # of a matrix product
    operation: int = 12_000  # of anything else, in vectors
    cached_byte: int = 10_000
    memory_byte: int = 25_000
    task: int = 20_000_000
    step: int = 40_000_000
    cache_bytes: int = 1 << 20  # what one step may touch and still find in a cache
    threads: int = 1

    def alone(self, effort: Effort, tasks: Dim) -> Dim:
        """On one thread."""
        arithmetic = effort.flops * self.flop + effort.operations * self.operation
        slow = maximum(0, effort.bytes - self.cache_bytes)
        far = minimum(effort.far, self.cache_bytes) * (FAR - 1)
        cached = (effort.bytes + far) * self.cached_byte
        memory = cached + slow * (self.memory_byte - self.cached_byte)
        total = maximum(arithmetic, memory) + tasks * self.task + self.step
        return total // PICOSECOND

    def shared(self, effort: Effort, tasks: Dim) -> Dim:
        """On all threads: as long as the one takes that has the most tasks."""
        whole = self.alone(effort, tasks)
        if self.threads == 1:
            return whole
        return whole // maximum(1, tasks) * ceildiv(tasks, self.threads)


@dataclass(frozen=True, slots=True)
class CostedVariant:
    """A variant of a step and what it takes, in sizes of its kernel's own."""

    variant: Variant
    tasks: Dim
    alone: Dim  # picoseconds on one thread
    shared: Dim  # and on all: the least is taken


@dataclass(frozen=True, slots=True)
class CostedVariants:
    """All variants of a step, the lowering's own kernel first; without `sizes` they are in terms of
    the graph's."""

    variants: tuple[CostedVariant, ...]
    sizes: Sizes


@dataclass(frozen=True, slots=True)
class CostTable:
    """The variants of every kernel of a graph. `sums`: what symbols in their costs stand for."""

    variants: Mapping[LoweredKernel, CostedVariants]
    sums: Mapping[Symbol, Dim]


def cost_table(lowered: LoweredGraph, costs: MachineCosts) -> CostTable:
    """What the kernels of a graph cost on a machine."""
    costing = Costing(costs)
    kernels = dict.fromkeys(lowered.kernels.values())
    variants = {kernel: costing.variants(kernel.lowered, kernel.region) for kernel in kernels}
    return CostTable(variants, costing.sums.meaning)


def _divided(variants: tuple[CostedVariant, ...], divided: Dim) -> tuple[CostedVariant, ...]:
    """The last variant where `divided` is 1, the cheapest of the others where it is 0.

    That holds for every size: where it is 1 the last costs 0 and the others 1, and where it is 0
    the last costs more than all others together.
    """
    *whole, last = variants
    if len(whole) == 1:
        return replace(whole[0], shared=divided), replace(last, shared=1 - divided)
    most = sum((variant.shared for variant in whole), Dim.of(1))
    others = (replace(v, shared=divided + (1 - divided) * v.shared) for v in whole)
    return (*others, replace(last, shared=(1 - divided) * most))


class Costing:
    """Costs on one machine. Lowerings that share their kernel share them."""

    def __init__(self, costs: MachineCosts) -> None:
        self.costs = costs
        self.sums = SumNames()
        # By the identity of kernels, which the variants keep.
        self._known: dict[tuple[int, Effort], tuple[CostedVariant, ...]] = {}

    def variants(self, lowered: Lowered, region: Region) -> CostedVariants:
        """`region` is what was lowered, in sizes of the graph."""
        sizes = tuple(lowered.names.items())
        effort = lowered.effort
        if effort is None:
            whole = region_effort(region, lowered.packed)
            effort = _in_own_sizes(whole, sizes)
            if effort is None:
                return CostedVariants(self._costed(self._offer_of_graph(lowered, whole)), ())
        key = id(lowered.kernel), effort
        if key not in self._known:
            self._known[key] = self._costed(_offer(lowered, effort))
        return CostedVariants(self._known[key], sizes)

    def _offer_of_graph(self, lowered: Lowered, effort: Effort) -> _Offer:
        """In sizes of the graph, as `effort` is; long sums in them have names."""
        names = {symbol: self.sums.short(dim) for symbol, dim in lowered.names.items()}
        short = Effort(*map(self.sums.short, effort.counts))
        others = (Variant(v.name, v.kernel, v.effort.substitute(names)) for v in lowered.others)
        variants = Variant(lowered.name, lowered.kernel, short), *others
        tasks = tuple(v.kernel.tasks.substitute(names) for v in variants)
        divided = None if lowered.divided is None else lowered.divided.substitute(names)
        return _Offer(variants, tasks, divided)

    def _costed(self, offer: _Offer) -> tuple[CostedVariant, ...]:
        variants = tuple(map(self._variant, offer.variants, offer.tasks))
        return variants if offer.divided is None else _divided(variants, offer.divided)

    def _variant(self, variant: Variant, tasks: Dim) -> CostedVariant:
        alone = self.costs.alone(variant.effort, tasks)
        return CostedVariant(variant, tasks, alone, self.costs.shared(variant.effort, tasks))


@dataclass(frozen=True, slots=True)
class _Offer:
    """Variants, and what is said of them in the same sizes."""

    variants: tuple[Variant, ...]
    tasks: tuple[Dim, ...]
    divided: Dim | None


def _offer(lowered: Lowered, effort: Effort) -> _Offer:
    """In sizes of the kernel's own."""
    variants = Variant(lowered.name, lowered.kernel, effort), *lowered.others
    return _Offer(variants, tuple(v.kernel.tasks for v in variants), lowered.divided)


def _in_own_sizes(effort: Effort, sizes: Sizes) -> Effort | None:
    """An effort of the graph's sizes in those of a kernel, if they say what the graph's are."""
    known: dict[Symbol, Dim] = {}
    for own, dim in sizes:
        if len(dim.symbols) == 1:
            (symbol,) = dim.symbols
            offset = (dim - Dim.of(symbol)).constant
            if offset is not None:
                known.setdefault(symbol, Dim.of(own) - offset)
    needed = frozenset[Symbol]().union(*(count.symbols for count in effort.counts))
    return effort.substitute(known) if needed <= known.keys() else None
