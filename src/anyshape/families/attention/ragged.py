"""Attention within segments of a packed axis: nothing is padded, and nothing else is looked at.

    task t: a block of tokens of one head
      for segments that have tokens in the block      the first and the last are those of its ends
        the queries of the segment in this block, and all keys of the segment: as for any attention

Blocks are cut as if there were no segments, so that sizes alone say how many tasks there are. Each
segment is looked at by the blocks that have tokens of it, and where it is empty, by the one around
it: the work grows with tokens and segments, not with their product.

Where segments begin and end is data. Every index that it decides is brought into its range, so that
tasks never meet, whatever the offsets are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anyshape.families.attention.kernel import Tiles
from anyshape.families.attention.plan import BLOCK, ORIGIN, TASK, AttentionPlan
from anyshape.families.attention.softmax_state import Code, Parts, State
from anyshape.ir.types import i64
from anyshape.loop import Bind, Buffer, Kernel, Number, Scalar, Statement
from anyshape.lower.context import Lowering
from anyshape.lower.effort import usual_length
from anyshape.lower.notation import cast, each
from anyshape.ops.ragged import OFFSETS, SEGMENTS
from anyshape.sym import Dim, Facts, FactScope, Symbol, minimum

FIRST, LAST, COUNT, MEMBER, SEGMENT = (Symbol(f"s{letter}") for letter in "flcmg")
END, KEYS = Symbol("ke"), Symbol("kn")
FIRST_QUERY, QUERIES = Symbol("qf"), Symbol("qn")


@dataclass(frozen=True, slots=True)
class RaggedPlan(AttentionPlan):
    """A task is a batch, a head and a block of tokens, of which a segment at a time is done."""

    @property
    def places(self) -> Dim:
        """Of the offsets: one more than there are segments."""
        return self.form.node.operands[OFFSETS].tensor.shape[0]

    @property
    def usual_keys(self) -> Dim:
        return usual_length(self.keys, self.places)

    @property
    def first_of_block(self) -> Dim:
        return Dim.of(BLOCK) * self.most_queries

    @property
    def height(self) -> Dim:
        """Tokens of the block."""
        return minimum(self.most_queries, self.queries - self.first_of_block)

    @property
    def first_query(self) -> Dim:
        return self.first_of_block + Dim.of(FIRST_QUERY)

    @property
    def block_queries(self) -> Dim:
        return Dim.of(QUERIES)

    @property
    def origin(self) -> Dim:
        return Dim.of(ORIGIN)

    @property
    def limit(self) -> Dim:
        return Dim.of(ORIGIN) + Dim.of(KEYS)

    def of_segment(self, begin: Scalar, end: Scalar) -> tuple[Bind, ...]:
        """Its keys, and its queries in this block."""
        tokens, first = self.keys, Dim.of(FIRST_QUERY)
        return (
            Bind(ORIGIN, begin, tokens + 1),
            Bind(END, end, tokens + 1),
            Bind(KEYS, Number(Dim.of(END) - Dim.of(ORIGIN)), tokens - Dim.of(ORIGIN) + 1),
            Bind(FIRST_QUERY, Number(Dim.of(ORIGIN) - self.first_of_block), self.height + 1),
            Bind(
                QUERIES,
                Number(Dim.of(END) - self.first_of_block - first),
                self.height - first + 1,
            ),
        )


def ragged_kernel(
    plan: RaggedPlan,
    inputs: Sequence[Buffer],
    outputs: Sequence[Buffer],
    facts: Facts,
    sizes: tuple[Symbol, ...],
) -> Kernel:
    """The kernel of a region that has the form of the plan."""
    state = State.of(plan, plan.most_queries)
    tiles = _Segments(plan, Parts(plan, inputs, outputs, FactScope.of(facts), state))
    buffers = (*inputs, *outputs)
    return Kernel(buffers, sizes, TASK, plan.tasks, tiles.body(), facts, tiles.scratch)


class _Segments(Tiles):
    """What is done for a block, once for each segment that has tokens in it."""

    def __init__(self, plan: RaggedPlan, parts: Parts) -> None:
        super().__init__(parts)
        self.segments = plan

    def work(self) -> tuple[Statement, ...]:
        plan, block = self.segments, self.segments.first_of_block
        code, first, last = self._read(SEGMENTS, block, block + plan.height - 1)
        count = Number(Dim.of(LAST) - Dim.of(FIRST) + 1)
        return (
            *code,
            Bind(FIRST, first, plan.places),
            Bind(LAST, last, plan.places),
            Bind(COUNT, count, plan.places - Dim.of(FIRST) + 1),
            each(MEMBER, Dim.of(COUNT), *self._segment()),
        )

    def _segment(self) -> Code:
        plan, segment = self.segments, Dim.of(SEGMENT)
        code, begin, end = self._read(OFFSETS, segment, minimum(segment + 1, plan.places - 1))
        return [
            Bind(SEGMENT, Number(Dim.of(FIRST) + Dim.of(MEMBER)), plan.places),
            *code,
            *plan.of_segment(begin, end),
            *super().work(),
        ]

    def _read(self, operand: int, first: Dim, last: Dim) -> tuple[Code, Scalar, Scalar]:
        """Two integers of an operand."""
        value = self.plan.form.node.operands[operand]
        low = Lowering(self.plan.region, self.parts.inputs, self.parts.scope)
        one, other = (cast(low.at(value, (place,)), i64) for place in (first, last))
        return low.levels[0].body, one, other
