"""What a step takes on this machine, as a formula of the graph's sizes.

The formula is a roofline: arithmetic and memory overlap, so the slower of the two counts, and each
task and step has a fixed price. Level 2 computes it with integers, to choose between variants and
to decide what is worth sharing among threads; nobody reads it as a promise.

Costs are dims, in picoseconds. Constants are in femtoseconds, so that a flop is still a number with
several digits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from anyshape.ir.node import Region
from anyshape.lower.effort import Effort, Variant, region_effort
from anyshape.lower.kernel import Lowered
from anyshape.sym import Dim, ceildiv, maximum

PICOSECOND = 1000


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
        memory = effort.bytes * self.cached_byte + slow * (self.memory_byte - self.cached_byte)
        total = maximum(arithmetic, memory) + tasks * self.task + self.step
        return total // PICOSECOND

    def shared(self, effort: Effort, tasks: Dim) -> Dim:
        """On all threads: as long as the one takes that has the most tasks."""
        whole = self.alone(effort, tasks)
        if self.threads == 1:
            return whole
        return whole // maximum(1, tasks) * ceildiv(tasks, self.threads)


@dataclass(frozen=True, slots=True)
class Choice:
    """A variant of a step in terms of the graph's sizes."""

    variant: Variant
    tasks: Dim
    alone: Dim  # picoseconds on one thread
    shared: Dim  # and on all: the least is taken


def choices(lowered: Lowered, region: Region, costs: MachineCosts) -> tuple[Choice, ...]:
    """The ways to do a step, the lowering's own kernel first."""
    names = lowered.names
    own = Variant(lowered.name, lowered.kernel, _effort(lowered, region))
    others = (Variant(v.name, v.kernel, v.effort.substitute(names)) for v in lowered.others)
    found = tuple(_choice(variant, lowered, costs) for variant in (own, *others))
    return found if lowered.divided is None else _divided(found, lowered.divided)


def _divided(ways: tuple[Choice, ...], divided: Dim) -> tuple[Choice, ...]:
    """The last way where `divided` is 1, the cheapest of the others where it is 0.

    That holds for every size: where it is 1 the last costs 0 and the others 1, and where it is 0
    the last costs more than all others together.
    """
    *whole, last = ways
    if len(whole) == 1:
        return replace(whole[0], shared=divided), replace(last, shared=1 - divided)
    most = sum((way.shared for way in whole), Dim.of(1))
    others = (replace(w, shared=divided + (1 - divided) * w.shared) for w in whole)
    return (*others, replace(last, shared=(1 - divided) * most))


def _effort(lowered: Lowered, region: Region) -> Effort:
    """Of the lowering's own kernel, in sizes of the graph."""
    if lowered.effort is None:
        return region_effort(region, lowered.packed)
    return lowered.effort.substitute(lowered.names)


def _choice(variant: Variant, lowered: Lowered, costs: MachineCosts) -> Choice:
    tasks = lowered.of_graph(variant.kernel.tasks)
    alone, shared = (cost(variant.effort, tasks) for cost in (costs.alone, costs.shared))
    return Choice(variant, tasks, alone, shared)
