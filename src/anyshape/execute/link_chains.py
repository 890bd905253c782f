"""Members of chains as steps of a program: numbers that depend on whether level 2 takes the chain,
and the block that csrc/core/chain_kernels.h reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from anyshape.analysis.row_slices import has_rows
from anyshape.level2.words import Cheapest, Estimate, OfCheapest, Words
from anyshape.plan.buffers import NOTHING
from anyshape.plan.chain_tables import PlannedChain, workspace_sizes
from anyshape.plan.schedule import Schedule, StepPlan
from anyshape.plan.tiles import Tiles, row_bytes
from anyshape.program import Address, Immediate, KernelAddress, Source, Step, Variant, Word
from anyshape.sym import Dim

ZERO = Immediate(0)


def member_step(step: StepPlan, kernel: int, block: tuple[Source, ...], words: Words) -> Step:
    """A member that carries no chain: it has no tasks where the chain is taken."""
    tiles = _tiles(step)
    tasks, cost = _numbers(step)
    return Step(
        step.name,
        (Variant(kernel),),
        words.word(OfCheapest(tiles.costs, (tasks, NOTHING))),
        block,
        step.waits,
        cost=words.word(OfCheapest(tiles.costs, (Estimate(cost), NOTHING))),
    )


def carrier_step(
    step: StepPlan,
    kernel: int,
    block: tuple[Source, ...],
    chain: tuple[Source, ...],
    words: Words,
) -> Step:
    """Kernel number `kernel`, or the next one, which is the chain, with the block of either."""
    tiles = _tiles(step)
    tasks, cost = _numbers(step)
    apart, together = (words.word(Estimate(cost)) for cost in tiles.costs)
    return Step(
        step.name,
        (Variant(kernel, 0, "apart", apart), Variant(kernel + 1, len(block), "chain", together)),
        words.word(OfCheapest(tiles.costs, (tasks, tiles.count))),
        (*block, *chain),
        step.waits,
        words.word(Cheapest(tiles.costs)),
        words.word(OfCheapest(tiles.costs, (Estimate(cost), Estimate(tiles.alone)))),
        carries_chain=True,
    )


def _tiles(step: StepPlan) -> Tiles:
    assert step.member_of is not None
    return step.member_of


def _numbers(step: StepPlan) -> tuple[Dim, Dim]:
    """Tasks, and picoseconds on one thread, in sizes of the graph."""
    (way,) = step.variants
    sizes = dict(step.costed.sizes)
    return way.tasks.substitute(sizes), way.alone.substitute(sizes)


# --- the block ------------------------------------------------------------------------------------


def chain_block(
    plan: Schedule, planned: PlannedChain, kernels: Sequence[int], words: Words
) -> tuple[Source, ...]:
    """What the chain is called with; `kernels` are the numbers of each step's first kernel."""
    chain, tiles = planned.chain, planned.chain.tiles
    block: list[Source] = [
        Immediate(len(chain.members)),
        Word(words.word(tiles.rows)),
        Word(words.word(tiles.tile)),
    ]
    for member, spaces in zip(chain.members, planned.spaces, strict=True):
        block += _Member(plan, planned, plan.steps[member], words).sources(kernels[member], spaces)
    return tuple(block)


class _Member:
    """One member in the block of its chain."""

    def __init__(self, plan: Schedule, planned: PlannedChain, step: StepPlan, words: Words) -> None:
        self.plan, self.planned, self.step, self.words = plan, planned, step, words
        self.tiles = planned.chain.tiles

    def sources(self, kernel: int, spaces: tuple[int, ...]) -> Iterator[Source]:
        step = self.step
        sizes = step.lowered.sizes
        yield KernelAddress(kernel)
        yield from self._of_tiles(step.lowered.of_graph(step.lowered.kernel.tasks))
        yield from map(Immediate, (len(step.buffers), len(spaces), len(sizes)))
        for buffer in step.buffers:
            yield from self._buffer(buffer)
        for space, size in zip(spaces, workspace_sizes(step.lowered), strict=True):
            yield from (Address(space), *self._left_over(space, size))
        for size in sizes:
            yield from self._of_tiles(size)

    def _of_tiles(self, dim: Dim) -> Iterator[Source]:
        """A number of the graph, for a whole tile and for the last."""
        for rows in (self.tiles.tile, self.tiles.last):
            yield Word(self.words.word(dim.substitute(self.tiles.of_rows(rows))))

    def _left_over(self, space: int, size: Dim) -> Iterator[Source]:
        """Kernels find the slice of their worker themselves, by the size that they need for their
        rows. How much smaller that is than a slice of the workspace."""
        for rows in (self.tiles.tile, self.tiles.last):
            needed = size.substitute(self.tiles.of_rows(rows))
            yield Word(self.words.word(self.plan.buffers[space].bytes - needed))

    def _buffer(self, number: int) -> tuple[Source, ...]:
        """Where a buffer begins for a tile: a ring, the rows of the tile, or all of it."""
        ring = self.planned.rings.get(number)
        if ring is not None:
            slice_ = Word(self.words.word(self.plan.buffers[ring].bytes))
            return Address(ring), ZERO, slice_
        value = self.plan.buffers[number].value
        assert value is not None, "workspaces are no operands"
        if not has_rows(value.type, self.tiles.lead):
            return Address(number), ZERO, ZERO
        return Address(number), self._number(row_bytes(value, self.tiles.lead)), ZERO

    def _number(self, dim: Dim) -> Source:
        return Word(self.words.word(dim)) if dim.constant is None else Immediate(dim.constant)
