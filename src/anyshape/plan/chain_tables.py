"""What chains change in the tables of a schedule: the memory of members, and what carriers touch.

Where a chain is taken, the values between its members and the workspaces of these take no memory,
and the carrier has workspaces instead: a ring for each value, and what members need for one tile.
Where it is not, it is the other way round. Numbers of buffers stay what they are; those of
workspaces of chains come after all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from anyshape.analysis.row_slices import has_rows
from anyshape.families.family import Lowered
from anyshape.loop.ir import CACHE_LINE, workspace_bytes
from anyshape.plan.buffers import ForVariant
from anyshape.plan.chains import Chain
from anyshape.plan.schedule_tables import BufferRow, Tables, Workspace
from anyshape.plan.step_buffers import StepBuffers
from anyshape.plan.tiles import Tiles, row_bytes
from anyshape.sym import Dim, ceildiv, maximum

APART, TOGETHER = 0, 1
"""The variants of a carrier."""


@dataclass(frozen=True, slots=True)
class PlannedChain:
    """A chain with its memory: rings by the buffers that they stand for, of which some share one,
    and the workspaces of each member's kernel."""

    chain: Chain
    rings: Mapping[int, int]
    spaces: tuple[tuple[int, ...], ...]

    @property
    def workspaces(self) -> tuple[int, ...]:
        """All that the carrier needs where the chain is taken."""
        return (
            *dict.fromkeys(self.rings.values()),
            *(number for spaces in self.spaces for number in spaces),
        )


def planned_chains(
    tables: Tables, chains: Sequence[Chain]
) -> tuple[Tables, Mapping[int, PlannedChain]]:
    """Tables with the memory of chains, and the chains by the step that carries them."""
    buffers = list(tables.buffers)
    planned: dict[int, PlannedChain] = {}
    for chain in chains:
        for number in _needed_apart(tables, chain):
            buffers[number] = _only(buffers[number], chain, APART)
        planned[chain.carrier] = _with_memory(chain, tables, buffers)
    return replace(tables, buffers=tuple(buffers)), planned


def _needed_apart(tables: Tables, chain: Chain) -> Iterator[int]:
    """Buffers that take no memory where the chain is taken."""
    yield from chain.between
    for member in chain.members:
        yield from (number for spaces in tables.steps[member].workspaces for number in spaces)


def _only(row: BufferRow, chain: Chain, variant: int) -> BufferRow:
    return replace(row, only=ForVariant(chain.tiles.costs, variant, row.bytes, ()))


def _with_memory(chain: Chain, tables: Tables, buffers: list[BufferRow]) -> PlannedChain:
    """Adds the workspaces of a chain to the `buffers`."""

    def added(size: Dim) -> int:
        buffers.append(_only(Workspace(size, None), chain, TOGETHER))
        return len(buffers) - 1

    tiles = chain.tiles
    rings: dict[int, int] = {}
    for numbers in _sharing(chain, tables):
        sizes = (row_bytes(tables.value(number), tiles.lead) for number in numbers)
        ring = added(_lines(tiles.tile * maximum(*sizes)))
        rings |= dict.fromkeys(numbers, ring)
    spaces = tuple(
        tuple(added(_for_any_tile(size, tiles)) for size in workspace_sizes(lowered))
        for lowered in (tables.steps[member].kernel.lowered for member in chain.members)
    )
    return PlannedChain(chain, rings, spaces)


def _sharing(chain: Chain, tables: Tables) -> list[list[int]]:
    """Values between members, by the ring that they share: one is read for the last time before
    the next is written, to memory that is still in the worker's cache. Sizes are alike if they can.
    """
    steps = {member: tables.steps[member] for member in chain.members}
    last = {n: member for member, row in steps.items() for n in (*row.results, *row.operands)}
    shapes = {number: tables.value(number).tensor.shape for number in chain.between}
    rings: list[list[int]] = []
    for member in chain.members[:-1]:
        for number in steps[member].results:
            free = [ring for ring in rings if last[ring[-1]] < member]
            alike = [ring for ring in free if shapes[ring[-1]] == shapes[number]]
            if free:
                (alike or free)[-1].append(number)
            else:
                rings.append([number])
    return rings


def workspace_sizes(lowered: Lowered) -> tuple[Dim, ...]:
    """What each worker needs for a kernel, in sizes of the graph."""
    return tuple(lowered.of_graph(workspace_bytes(b)) for b in lowered.kernel.workspaces)


def _for_any_tile(size: Dim, tiles: Tiles) -> Dim:
    whole, last = (size.substitute(tiles.of_rows(rows)) for rows in (tiles.tile, tiles.last))
    return maximum(whole, last)


def _lines(size: Dim) -> Dim:
    """Whole cache lines: no two workers share one."""
    return ceildiv(size, CACHE_LINE) * CACHE_LINE


# --- what carriers touch --------------------------------------------------------------------------


def carrier_buffers(
    step: StepBuffers, planned: PlannedChain, tables: Tables, steps: Sequence[StepBuffers]
) -> StepBuffers:
    """The memory of a carrier, which also reads what other members read.

    Its result may be written over an operand if all members read that by rows, and it is no value
    between them: a tile is then read before it is written, by one worker.
    """
    chain = planned.chain
    read = {operand for member in chain.members for operand in steps[member].operands}
    others = read - set(step.operands) - set(chain.between)
    fixed = set(chain.between) | _not_by_rows(chain, tables, steps)
    allowed = frozenset(p for p in step.overwritable if step.operands[p[0]] not in fixed)
    return replace(
        step,
        others=tuple(sorted(others)),
        workspaces=(*step.workspaces, *planned.workspaces),
        overwritable=allowed,
    )


def _not_by_rows(chain: Chain, tables: Tables, steps: Sequence[StepBuffers]) -> set[int]:
    """Roots that some member reads as a whole, for each tile."""
    return {
        root
        for member in chain.members
        for root, value in zip(
            steps[member].operands, tables.steps[member].node.operands, strict=True
        )
        if not has_rows(value.type, chain.tiles.lead)
    }
