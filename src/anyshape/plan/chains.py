"""Chains of steps that level 2 may run tile by tile: a worker takes a tile of rows through all of
them, so that what one hands to the next stays in its own cache and needs no memory of its own size.

A chain has *members*, steps in their order. The last, the *carrier*, has one more variant than its
own kernel: the chain. Where level 2 takes that, the other members have no tasks, the values between
members no memory, and the carrier runs the kernels of all members on one tile after the other, with
a *ring* for each value between them: memory for one tile, a slice for each worker.

Rows are of one of two forms. Those of products are small: many of them are a tile (`tiles.py`).
Images go through convolutions one or a few at a time (`images.py`).

Invariants:
  - every member computes row by row (`analysis/row_slices.py`), with the same rows;
  - what members but the carrier compute is read by members alone;
  - a tile is a size that the axes allow: kernels may rely on what is declared of them.

Tile, number of tiles and whether the chain is taken are numbers of level 2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final, Protocol

from anyshape.analysis.row_slices import image_lead_of, lead_of, why_not_by_rows
from anyshape.families.lower_graph import LoweredKernel
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Value
from anyshape.ir.rewrite import Decision, Refusal
from anyshape.ir.types import Shape, Type
from anyshape.loop import Kernel
from anyshape.lower.tasks import TASK
from anyshape.ops.known import CONV, DOT, WINOGRAD
from anyshape.passes.pipeline import PIPELINE
from anyshape.plan.costs import MachineCosts
from anyshape.plan.given_memory import GivenMemory
from anyshape.plan.images import ImageWork
from anyshape.plan.schedule_tables import StepRow, Tables
from anyshape.plan.tiles import RowWork, Tiles
from anyshape.sym import Axis, Facts, Less, LessEqual, Predicate, Symbol, minimum

MOST_MEMBERS: Final = 32
"""So many kernels are called for each tile; more are a chain of their own."""

MOST_WORDS: Final = 64
"""In the block of a member: `max_member_words` of csrc/core/chain_kernels.h."""


@dataclass(frozen=True, slots=True)
class Chain:
    """Steps by number, the carrier last, and the buffers of the values between them."""

    members: tuple[int, ...]
    between: tuple[int, ...]
    tiles: Tiles

    @property
    def carrier(self) -> int:
        return self.members[-1]


def chains_of(
    graph: Graph, tables: Tables, given: GivenMemory, costs: MachineCosts
) -> tuple[tuple[Chain, ...], tuple[Decision, ...]]:
    """The chains of a schedule, the last first, and what was decided about steps that follow each
    other."""
    finder = _Finder(graph, tables, given, costs)
    chains: list[Chain] = []
    taken: set[int] = set()
    for number in range(len(tables.steps) - 1, -1, -1):
        chain = None if number in taken else finder.chain(number, taken)
        if chain is not None:
            chains.append(chain)
            taken.update(chain.members)
    return tuple(chains), tuple(dict.fromkeys(finder.decisions))


def chain_kernel(chain: Chain) -> Kernel:
    """The function of the runtime that runs a chain: csrc/core/chain_kernels.h."""
    return Kernel((), (), TASK, chain.tiles.count, (), native="chain")


class Work(Protocol):
    """What the members of a chain take: they join one by one, and then tiles are made."""

    def add(self, row: StepRow, lead: Shape) -> None: ...

    def objection(self, row: StepRow, lead: Shape) -> Refusal | None:
        """Why a step had better not join."""
        ...

    def tiles(
        self,
        between: Sequence[Value],
        members: int,
        lead: Shape,
        axis: Axis,
        costs: MachineCosts,
        /,
    ) -> Tiles | Refusal:
        """Of so many members, which hand on the values `between`."""
        ...


@dataclass(frozen=True, slots=True)
class _Form:
    """What the rows of a chain are, and which steps are worth one: what else is, fusion has
    joined."""

    lead_of: Callable[[Type], Shape]
    work: Callable[[], Work]
    is_worth_it: Callable[[Sequence[StepRow]], bool]


def _has_products(rows: Sequence[StepRow]) -> bool:
    return any(map(_has_product, rows))


def _has_convolutions(rows: Sequence[StepRow]) -> bool:
    return any(map(_has_convolution, rows))


IMAGE_RANK: Final = 4
"""Of images with rows and columns of places."""

ROWS: Final = _Form(lead_of, RowWork, _has_products)
IMAGES: Final = _Form(image_lead_of, ImageWork, _has_convolutions)


class _Finder:
    """Looks for the chain of a carrier, backwards: from results to what they are computed from."""

    def __init__(
        self, graph: Graph, tables: Tables, given: GivenMemory, costs: MachineCosts
    ) -> None:
        self.graph, self.tables, self.given, self.costs = graph, tables, given, costs
        self.decisions: list[Decision] = []
        self._makers, self._users = _makers_and_users(tables)
        self._named = {root for root, _ in tables.aliases.values()}
        self._known: dict[tuple[LoweredKernel, Shape], Refusal | None] = {}
        self._leads: dict[Shape, Refusal | None] = {}
        self._forms = (IMAGES, ROWS) if _has_convolutions(tables.steps) else (ROWS,)

    def chain(self, carrier: int, taken: Set[int]) -> Chain | None:
        made = (self._chain_of(form, carrier, taken) for form in self._forms)
        return next((chain for chain in made if chain is not None), None)

    def _chain_of(self, form: _Form, carrier: int, taken: Set[int]) -> Chain | None:
        row = self.tables.steps[carrier]
        lead = form.lead_of(row.node.results[0].type)
        makers = self._makers_of(row) - taken
        if not lead or not makers:
            return None
        group = _Group(lead, form.work())
        refusal = self._refusal(row, lead) or group.objection(row)
        if refusal is None:
            self._grow(group, carrier, taken)
            return self._made(group, form)
        if form.is_worth_it([self.tables.steps[maker] for maker in makers]):
            self._decide(row.node, False, str(refusal))
        return None

    def _makers_of(self, row: StepRow) -> set[int]:
        """The steps whose results a step reads."""
        return {m for number in row.operands if (m := self._makers.get(number)) is not None}

    def _refusal(self, row: StepRow, lead: Shape) -> Refusal | None:
        if lead not in self._leads:
            self._leads[lead] = _facts_refusal(lead, self.graph.facts)
        key = row.kernel, lead
        if key not in self._known:
            self._known[key] = self._leads[lead] or _kernel_refusal(row, lead)
        return self._known[key]

    def _grow(self, group: _Group, carrier: int, taken: Set[int]) -> None:
        """Adds the carrier and all steps before it that may join, the last of them first: whether
        all users of a step's results are members is then known when its turn comes."""
        group.add(carrier, self.tables.steps[carrier])
        heap: list[int] = []
        seen: set[int] = set()
        self._push(heap, seen, carrier)
        while heap:
            number = -heappop(heap)
            row = self.tables.steps[number]
            refusal = self._objection(number, row, group, taken)
            if refusal is None:
                group.add(number, row)
                self._push(heap, seen, number)
            else:
                group.refused[number] = refusal

    def _push(self, heap: list[int], seen: set[int], member: int) -> None:
        for maker in self._makers_of(self.tables.steps[member]) - seen:
            seen.add(maker)
            heappush(heap, -maker)

    def _objection(
        self, number: int, row: StepRow, group: _Group, taken: Set[int]
    ) -> Refusal | None:
        if number in taken:
            return Refusal("it belongs to another chain")
        for result in row.results:
            if self.given.has(self.tables.value(result)):
                return Refusal("its result is given to the caller")
            if not self._users[result] <= group.members:
                return Refusal("its result is read by steps outside of the chain")
        if not self._named.isdisjoint(row.results):
            return Refusal("its result has other names")
        return self._refusal(row, group.lead) or group.objection(row)

    def _made(self, group: _Group, form: _Form) -> Chain | None:
        members = tuple(sorted(group.members))
        rows = [self.tables.steps[number] for number in members]
        node = rows[-1].node
        for number, refusal in group.refused.items():
            refused = self.tables.steps[number]
            if form.is_worth_it(rows) or form.is_worth_it([refused]):
                self._decide(refused.node, False, str(refusal))
        if not form.is_worth_it(rows) or len(members) == 1:
            return None
        between = tuple(number for row in rows[:-1] for number in row.results)
        handed = [self.tables.value(number) for number in between]
        axis = self.graph.facts.axis(next(iter(group.lead[-1].symbols)))
        tiles = group.work.tiles(handed, len(members), group.lead, axis, self.costs)
        if isinstance(tiles, Refusal):
            self._decide(node, False, str(tiles))
            return None
        self._decide(node, True, f"{len(members)} steps may take rows through tile by tile")
        return Chain(members, between, tiles)

    def _decide(self, node: Node, taken: bool, why: str) -> None:
        location = self.graph.locations.of(node)
        self.decisions.append(Decision(PIPELINE, taken, why, node, location))


def _makers_and_users(tables: Tables) -> tuple[dict[int, int], Mapping[int, Set[int]]]:
    makers = {result: n for n, row in enumerate(tables.steps) for result in row.results}
    users: dict[int, set[int]] = {result: set() for result in makers}
    for number, row in enumerate(tables.steps):
        for operand in row.operands:
            root, _ = tables.aliases.get(operand, (operand, None))
            if root in users:
                users[root].add(number)
    return makers, users


def _has_product(row: StepRow) -> bool:
    return any(node.op is DOT for node in row.node.regions[0].nodes())


def _has_convolution(row: StepRow) -> bool:
    return any(map(_is_convolution, row.node.regions[0].nodes()))


def _is_convolution(node: Node) -> bool:
    """A convolution, or a product that was one, of one tap: its rows are places of images."""
    was_one = node.op is DOT and node.operands[0].tensor.rank >= IMAGE_RANK
    return was_one or node.op in (CONV, WINOGRAD)


# --- what a member must be ------------------------------------------------------------------------


def _kernel_refusal(row: StepRow, lead: Shape) -> Refusal | None:
    """Why the kernel of a step cannot run on a few rows, as if there were no others."""
    lowered = row.kernel.lowered
    if lowered.others:
        return Refusal("it has several variants")
    if lowered.kernel.native:
        return Refusal("it is a function of the runtime")
    if row.kernel.sharing.removable_copies:
        return Refusal("its result may begin in an operand")
    words = len(row.buffers) + len(lowered.kernel.workspaces) + len(lowered.sizes)
    if words > MOST_WORDS:
        return Refusal(f"its block has {words} words, more than {MOST_WORDS}")
    return why_not_by_rows(row.node.regions[0], lead)


def _facts_refusal(lead: Shape, facts: Facts) -> Refusal | None:
    """Kernels may rely on what axes declare, so that a tile must be as declared, too."""
    symbols = [next(iter(dim.symbols)) for dim in lead]
    for symbol in symbols:
        axis = facts.axis(symbol)
        if axis.min > 1 or len(axis.ranges) > 1:
            return Refusal(f"axis '{symbol}' may not be 1")
        if symbol is not symbols[-1] and axis.multiple_of > 1:
            return Refusal(f"axis '{symbol}' is a multiple of {axis.multiple_of}")
    for fact in facts.facts:
        if not all(_holds_for_fewer(fact.predicate, symbol) for symbol in symbols):
            return Refusal(f"a tile may break the fact {fact.predicate}")
    return None


def _holds_for_fewer(predicate: Predicate, symbol: Symbol) -> bool:
    """Whether a fact holds for a tile, which is not empty, where it holds for all rows. Images of
    which there is one at least have sizes: `min(batch, 1) <= height`."""
    if symbol not in predicate.symbols:
        return True
    if not isinstance(predicate, Less | LessEqual):
        return False
    less, more = predicate.sides
    return symbol not in (less - minimum(symbol, 1)).symbols | more.symbols


@dataclass
class _Group:
    """The members so far, what they take, and which steps do not join them."""

    lead: Shape
    work: Work
    members: set[int] = field(default_factory=set[int])
    refused: dict[int, Refusal] = field(default_factory=dict[int, Refusal])

    def add(self, number: int, row: StepRow) -> None:
        self.members.add(number)
        self.work.add(row, self.lead)

    def objection(self, row: StepRow) -> Refusal | None:
        """Why a step had better not join."""
        if len(self.members) == MOST_MEMBERS:
            return Refusal(f"the chain has {MOST_MEMBERS} steps already")
        return self.work.objection(row, self.lead)
