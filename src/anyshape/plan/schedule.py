"""The schedule of a lowered graph: which buffer holds which value, which step computes it, and
which earlier steps it has to wait for.

Two arena buffers may share memory if, through waits or because they are a window apart, every use
of one is over before the other is first written. That depends on no size, so it is settled here,
once, by functions over frozen tables that follow each other:

    order             which kernel comes when                            schedule_order.py
    aliases           results that are only names                        aliases.py
    tables            buffers and steps get numbers                      schedule_tables.py
    chains            steps that rows may go through tile by tile        chains.py, chain_tables.py
    waits             which steps must be over when another starts       step_buffers.py
    lifetimes         from which step to which a buffer is in use        lifetimes.py
    overwrites        results that are written over an operand           in_place.py
    output prefixes   outputs that begin in an input that is given up    output_prefixes.py
    conflicts         which buffers must be kept apart                   conflicts.py
    stores            who owns each buffer                               stores.py
    splits            axes that calls may be run in parts along          splits.py
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import repeat

from anyshape.families.family import Lowered
from anyshape.families.lower_graph import LoweredGraph
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node
from anyshape.ir.opdef import PARAM, param_index
from anyshape.ir.rewrite import Decision
from anyshape.loop import Kernel
from anyshape.loop.removable_copies import without_copy
from anyshape.ops.source import ConstantAttrs
from anyshape.passes.donation import NOTHING_DONATED, Donation
from anyshape.plan.aliases import aliases_of
from anyshape.plan.buffers import BufferPlan, ConstantPlan
from anyshape.plan.chain_tables import PlannedChain, carrier_buffers, planned_chains
from anyshape.plan.chains import chain_kernel, chains_of
from anyshape.plan.costs import CostedVariant, CostedVariants, MachineCosts, cost_table
from anyshape.plan.equal_sizes import one_dim_each
from anyshape.plan.given_memory import GivenMemory, given_memory
from anyshape.plan.in_place import overwrites_of
from anyshape.plan.lifetimes import Lifetimes, StepOrder, lifetimes_of, window_for
from anyshape.plan.output_prefixes import output_prefixes
from anyshape.plan.schedule_order import ordered_nodes
from anyshape.plan.schedule_tables import StepRow, Tables, step_buffers, tables_of
from anyshape.plan.splits import PlannedSplit, splits_of
from anyshape.plan.step_buffers import StepBuffers, Waits, waits_of, writers_of
from anyshape.plan.stores import arena_stores, constants_of, planned_buffers, temporaries
from anyshape.plan.tiles import Tiles
from anyshape.sym import Dim, Symbol

DEFAULT_COSTS = MachineCosts()


@dataclass(frozen=True, slots=True)
class StepPlan:
    """One kernel on its buffers, operands first, then results.

    Level 2 takes the cheapest of the variants; each has workspaces of its own. A member of a chain
    has nothing to do where that is taken, unless it carries it.
    """

    node: Node
    lowered: Lowered
    buffers: tuple[int, ...]
    waits: tuple[int, ...]
    costed: CostedVariants
    workspaces: tuple[tuple[int, ...], ...]
    member_of: Tiles | None = None
    carried: PlannedChain | None = None

    @property
    def ops(self) -> tuple[str, ...]:
        """What the kernel computes, operands first; not its constants."""
        nodes = (n for n in self.node.regions[0].nodes() if n.op is not PARAM)
        return tuple(n.op.name for n in nodes if not isinstance(n.attrs, ConstantAttrs))

    @property
    def name(self) -> str:
        """The ops that the kernel computes, as `dot+add+gelu`; of long chains the two ends."""
        distinct = list(dict.fromkeys(self.ops)) or ["copy"]
        return "+".join(distinct if len(distinct) <= 4 else (*distinct[:2], "...", distinct[-1]))

    @property
    def variants(self) -> tuple[CostedVariant, ...]:
        return self.costed.variants


@dataclass(frozen=True, slots=True)
class Schedule:
    """Everything of level 1 but the machine code. `output_prefixes`: inputs by the outputs that
    begin in their memory; `decisions`: those of lowering; `sums`: what symbols in costs stand for;
    `splits`: axes along which calls may be run in parts.
    """

    graph: Graph
    constants: tuple[ConstantPlan, ...]
    buffers: tuple[BufferPlan, ...]
    steps: tuple[StepPlan, ...]
    window: int
    donation: Donation
    output_prefixes: Mapping[int, int]
    decisions: tuple[Decision, ...]
    sums: Mapping[Symbol, Dim]
    splits: tuple[PlannedSplit, ...] = ()

    @property
    def kernels(self) -> Iterator[Kernel]:
        """All variants of all steps, in order, chains behind those of the step that carries them;
        equal steps repeat them."""
        for step in self.steps:
            yield from (costed.variant.kernel for costed in step.variants)
            if step.carried is not None:
                yield chain_kernel(step.carried.chain)


def schedule(
    lowered: LoweredGraph,
    costs: MachineCosts = DEFAULT_COSTS,
    donation: Donation = NOTHING_DONATED,
    *,
    pipeline: bool = True,
) -> Schedule:
    """Plans a graph in which everything but sources, aliases and appends is a kernel.

    Without `pipeline` there are no chains.
    """
    graph, window = lowered.graph, window_for(costs.threads)
    given = given_memory(graph)
    costed = cost_table(lowered, costs)
    aliases = aliases_of(lowered, given)
    tables = tables_of(lowered, costed, ordered_nodes(graph), aliases, given)
    chains, decisions = chains_of(graph, tables, given, costs) if pipeline else ((), ())
    tables, carried = planned_chains(tables, chains)
    steps = _with_chains(tables, carried)
    writers = writers_of(steps, tables.appended)
    waits = waits_of(steps, writers)
    members = {number: set(planned.chain.members[:-1]) for number, planned in carried.items()}
    lives = lifetimes_of(steps, StepOrder.of(waits, window), writers, members)
    temporary = temporaries(tables, given, writers.keys())
    overwrites = overwrites_of(steps, lives, one_dim_each(temporary, graph.facts))
    lives = lives.joined(overwrites)
    prefixes = _prefix_buffers(tables, steps, lives, given, donation)
    arena = arena_stores(tables, steps, lives, _in_arena(steps, temporary, overwrites))
    splits, refusals = splits_of(graph, donation)
    return Schedule(
        graph,
        tuple(constants_of(tables).values()),
        planned_buffers(tables, given, overwrites, arena),
        _step_plans(tables, steps, waits, prefixes, carried),
        window,
        donation,
        _as_positions(prefixes, tables, given),
        (*lowered.decisions, *decisions, *refusals),
        costed.sums,
        splits,
    )


def _with_chains(tables: Tables, carried: Mapping[int, PlannedChain]) -> tuple[StepBuffers, ...]:
    """The memory that each step touches, whether chains are taken or not."""
    steps = [step_buffers(row, tables.aliases) for row in tables.steps]
    for number, planned in carried.items():
        steps[number] = carrier_buffers(steps[number], planned, tables, steps)
    return tuple(steps)


def _step_plans(
    tables: Tables,
    steps: Sequence[StepBuffers],
    waits: Waits,
    prefixes: Mapping[int, int],
    carried: Mapping[int, PlannedChain],
) -> tuple[StepPlan, ...]:
    plans = list(map(_step_plan, tables.steps, steps, waits, repeat(prefixes)))
    for carrier, planned in carried.items():
        for member in planned.chain.members:
            plans[member] = replace(plans[member], member_of=planned.chain.tiles)
        plans[carrier] = replace(plans[carrier], carried=planned)
    return tuple(plans)


def _in_arena(
    steps: Iterable[StepBuffers], temporary: Mapping[int, Dim], overwrites: Mapping[int, int]
) -> Set[int]:
    """Workspaces, and temporary values that are not written over others."""
    workspaces = {number for step in steps for number in step.workspaces}
    return workspaces | (temporary.keys() - overwrites.keys())


# --- inputs that are given up ---------------------------------------------------------------------


def _prefix_buffers(
    tables: Tables,
    steps: Sequence[StepBuffers],
    lives: Lifetimes,
    given: GivenMemory,
    donation: Donation,
) -> dict[int, int]:
    """Buffers of inputs by those of the outputs that begin there."""
    params = (value for value, _ in tables.numbers if value.node.op is PARAM)
    donated = [value for value in params if param_index(value.node) in donation.inputs]
    appends = given.appended.values()
    continued = {tables.number(a.result()): tables.number(a.operands[0]) for a in appends}
    inputs = {tables.number(value): value.tensor for value in donated}
    outputs = {tables.number(value): value.tensor for value in given.outputs}
    return output_prefixes(steps, lives, continued, inputs, outputs)


def _as_positions(
    prefixes: Mapping[int, int], tables: Tables, given: GivenMemory
) -> dict[int, int]:
    """Buffers as positions among outputs and inputs."""
    value = tables.value
    return {
        given.outputs[value(output)]: param_index(value(prefix).node)
        for output, prefix in prefixes.items()
    }


def _step_plan(
    row: StepRow, buffers: StepBuffers, waits: tuple[int, ...], prefixes: Mapping[int, int]
) -> StepPlan:
    """The step; a result that begins with the operand that it would be a copy of is not copied."""
    step = StepPlan(row.node, row.kernel.lowered, row.buffers, waits, row.costed, row.workspaces)
    for operand, result in buffers.removable_copies:
        if prefixes.get(row.buffers[result]) == buffers.operands[operand]:
            step = _without_copy(step, operand, result)
    return step


def _without_copy(step: StepPlan, operand: int, result: int) -> StepPlan:
    (variant,) = step.variants
    kernel = without_copy(variant.variant.kernel, operand, result)
    variant = replace(variant, variant=replace(variant.variant, kernel=kernel))
    costed = replace(step.costed, variants=(variant,))
    return replace(step, lowered=replace(step.lowered, kernel=kernel), costed=costed)
