"""Attention divided into tasks and blocks: its sizes and indices.

Words:
  - *query block*: the queries of one task, all of one head;
  - *key block*: the keys whose scores are held at once;
  - *origin* and *limit*: from where to where the queries of a task see keys; no scores are
    computed of others;
  - *row*: where there are few queries, a query of any of the heads that share a kv head;
  - *slot*: one of the kv heads that a task has, where it has several.
"""

from __future__ import annotations

from dataclasses import dataclass

from anyshape.families.attention.match import AttentionMatch
from anyshape.ir.node import Region
from anyshape.ir.types import DType, Shape
from anyshape.loop import Bind, Buffer, Number
from anyshape.loop.ir import Index
from anyshape.loop.printer import row_major
from anyshape.lower.movement import delinear
from anyshape.lower.tiling import Tiling
from anyshape.ops.attention import PartAttentionAttrs, own_axes
from anyshape.sym import Dim, Symbol, ceildiv, maximum, minimum

TASK, BATCH, HEAD, KV_HEAD, BLOCK = (Symbol(name) for name in "tbhgq")
KEY_BLOCK, ROW_QUERY, ORIGIN, LIMIT = (Symbol(name) for name in "smze")
PART, GROUP, SLOT = Symbol("a"), Symbol("u"), Symbol("w")
ROW = Symbol("i")


@dataclass(frozen=True, slots=True)
class TaskRows:
    """Queries of a task, numbered by ROW: how many, and which query of a head each is.

    `parts` bind what `query` consists of. Rows of several heads are not all of one.
    """

    count: Dim
    query: Dim
    parts: tuple[Bind, ...] = ()
    is_one_head: bool = True


@dataclass(frozen=True, slots=True)
class AttentionPlan:
    """A task is a batch, a head (and its kv head) and a block of its queries."""

    form: AttentionMatch
    region: Region  # of the kernel
    tiling: Tiling
    most_score: float = 0
    """Below it keys out of sight may be skipped, where that has to be asked; 0 is never."""

    @property
    def total(self) -> DType:
        return self.form.total

    @property
    def columns(self) -> int:
        """Of a register tile."""
        return self.tiling.columns(self.total)

    @property
    def most_queries(self) -> int:
        """Of a query block: those of a register tile, of which they are the columns."""
        return self.columns

    # --- sizes --------------------------------------------------------------------------------

    @property
    def batches(self) -> Dim:
        return self.form.shapes[0][0]

    @property
    def heads(self) -> Dim:
        return self.form.shapes[0][1]

    @property
    def kv_heads(self) -> Dim:
        return self.form.shapes[1][1]

    @property
    def queries(self) -> Dim:
        return self.form.shapes[0][2]

    @property
    def keys(self) -> Dim:
        return self.form.shapes[1][2]

    @property
    def width(self) -> Dim:
        return self.form.shapes[0][3]

    @property
    def value_width(self) -> Dim:
        return self.form.shapes[2][3]

    @property
    def blocks(self) -> Dim:
        """Query blocks of a head."""
        return ceildiv(self.queries, self.most_queries)

    # --- the place of one task ----------------------------------------------------------------

    @property
    def tasks(self) -> Dim:
        return self.batches * self.heads * self.blocks

    @property
    def parts_of_task(self) -> tuple[Bind, ...]:
        """Batch, head, kv head and block of a task as indices of their own."""
        extents = (self.batches, self.heads, self.blocks)
        places = delinear(extents, Dim.of(TASK))
        parts = zip((BATCH, HEAD, BLOCK), places, extents, strict=True)
        binds = [Bind(symbol, Number(place), extent) for symbol, place, extent in parts]
        shared = Dim.of(HEAD) // (self.heads // self.kv_heads)
        return (*binds, Bind(KV_HEAD, Number(shared), self.kv_heads), *self.bound_origin)

    @property
    def first_query(self) -> Dim:
        return Dim.of(BLOCK) * self.most_queries

    @property
    def block_queries(self) -> Dim:
        """Queries of this block."""
        return minimum(self.most_queries, self.queries - self.first_query)

    # --- sight --------------------------------------------------------------------------------

    @property
    def last(self) -> Dim | None:
        """Query i sees the keys up to i + last; None if it sees all of them."""
        return self.form.attrs.last(self.queries, self.keys)

    @property
    def low(self) -> Dim | None:
        """Query i sees the keys from i + low on; None if it sees all of them."""
        return self.form.attrs.low

    @property
    def is_bounded(self) -> bool:
        return self.last is not None or self.low is not None

    @property
    def end_query(self) -> Dim:
        """The one after the last query of this task."""
        return self.first_query + self.block_queries

    @property
    def sight_end(self) -> Dim:
        """The key after the last one that some query of this task sees."""
        if self.last is None:
            return self.keys
        return minimum(self.keys, maximum(0, self.end_query + self.last))

    @property
    def sight_origin(self) -> Dim:
        """The first key that some query of this task sees."""
        if self.low is None:
            return Dim.of(0)
        return minimum(self.sight_end, maximum(0, self.first_query + self.low))

    @property
    def least_limit(self) -> Dim:
        """The end of sight of the task that sees fewest keys: the first one of a head."""
        return self.sight_end.substitute({BLOCK: Dim.of(0)})

    @property
    def most_origin(self) -> Dim:
        """No task of a head begins at a later key."""
        if self.low is None:
            return Dim.of(0)
        return minimum(self.keys, maximum(0, self.queries - 1 + self.low))

    @property
    def sees_all(self) -> bool:
        """Whether every task sees all keys."""
        from_first = 0 in (self.most_origin, self.sight_origin)
        return from_first and self.keys in (self.least_limit, self.sight_end)

    @property
    def is_checked(self) -> bool:
        """Whether scores have to be looked at before keys are skipped: see `checked_sight.py`."""
        return self.form.asks_for_scores and self.skips

    @property
    def skips(self) -> bool:
        """Whether there are keys that tasks may skip."""
        allows = not self.form.asks_for_scores or self.most_score > 0
        return self.is_bounded and not self.sees_all and allows

    @property
    def limit(self) -> Dim:
        """The key after the last one that this task looks at."""
        if not self.skips or self.sight_end == self.keys:
            return self.keys
        return Dim.of(LIMIT) if self.is_checked else self.sight_end

    @property
    def origin(self) -> Dim:
        """The first key that this task looks at."""
        return Dim.of(0) if not self.skips or self.sight_origin == 0 else Dim.of(ORIGIN)

    @property
    def bound_origin(self) -> tuple[Bind, ...]:
        """As an index of its own: proofs need no more of it than that it is one."""
        if not self.skips or self.sight_origin == 0 or self.is_checked:
            return ()
        return (Bind(ORIGIN, Number(self.sight_origin), self.keys + 1),)

    @property
    def task_rows(self) -> TaskRows:
        return TaskRows(self.block_queries, self.first_query + Dim.of(ROW))

    # --- key blocks ---------------------------------------------------------------------------

    @property
    def most_keys(self) -> int:
        """Of a key block."""
        return self.tiling.caches.keys

    @property
    def key_blocks(self) -> Dim:
        return ceildiv(self.limit - self.origin, self.most_keys)

    @property
    def first_key(self) -> Dim:
        return self.origin + Dim.of(KEY_BLOCK) * self.most_keys

    @property
    def block_keys(self) -> Dim:
        """Keys of this block."""
        return minimum(self.most_keys, self.limit - self.first_key)

    # --- indices ------------------------------------------------------------------------------

    @property
    def head(self) -> Index:
        return Dim.of(BATCH), Dim.of(HEAD)

    @property
    def kv_head(self) -> Index:
        return Dim.of(BATCH), Dim.of(KV_HEAD)

    def scratch(self, name: str, *shape: int | Dim) -> Buffer:
        dims: Shape = tuple(map(Dim.of, shape))
        return Buffer(name, self.total, dims, row_major(dims))


@dataclass(frozen=True, slots=True)
class FewQueriesPlan(AttentionPlan):
    """A task is a batch, a kv head and a block of its rows, as many as a register tile has."""

    @property
    def rows(self) -> Dim:
        """Of a kv head."""
        return self.heads // self.kv_heads * self.queries

    @property
    def blocks(self) -> Dim:
        """Row blocks of a kv head."""
        return ceildiv(self.rows, self.tiling.rows)

    @property
    def tasks(self) -> Dim:
        return self.batches * self.kv_heads * self.blocks

    @property
    def parts_of_task(self) -> tuple[Bind, ...]:
        extents = (self.batches, self.kv_heads, self.blocks)
        places = delinear(extents, Dim.of(TASK))
        parts = zip((BATCH, KV_HEAD, BLOCK), places, extents, strict=True)
        binds = [Bind(symbol, Number(place), extent) for symbol, place, extent in parts]
        return (*binds, *self.bound_origin)

    def parts_of_row(self, row: Symbol) -> tuple[Bind, ...]:
        """Head and query of a row of this block."""
        sharing = self.heads // self.kv_heads
        head, query = delinear((sharing, self.queries), self.first_row + Dim.of(row))
        return (
            Bind(HEAD, Number(Dim.of(KV_HEAD) * sharing + head), self.heads),
            Bind(ROW_QUERY, Number(query), self.queries),
        )

    @property
    def first_row(self) -> Dim:
        return Dim.of(BLOCK) * self.tiling.rows

    @property
    def block_rows(self) -> Dim:
        return minimum(self.tiling.rows, self.rows - self.first_row)

    @property
    def first_query(self) -> Dim:
        return Dim.of(0)

    @property
    def end_query(self) -> Dim:
        return self.queries

    @property
    def task_rows(self) -> TaskRows:
        query = Dim.of(ROW_QUERY)
        return TaskRows(self.block_rows, query, self.parts_of_row(ROW), is_one_head=False)

    @property
    def most_keys(self) -> int:
        return self.tiling.caches.keys_of_few


@dataclass(frozen=True, slots=True)
class KeyPartsPlan(FewQueriesPlan):
    """A task is a part of the keys, a batch, a group of its kv heads and a block of their rows."""

    @property
    def attrs(self) -> PartAttentionAttrs:
        return self.form.node.attrs_as(PartAttentionAttrs)

    @property
    def most_slots(self) -> int:
        return self.tiling.caches.heads

    @property
    def groups(self) -> Dim:
        """Of the kv heads of a batch."""
        return ceildiv(self.kv_heads, self.most_slots)

    @property
    def slots(self) -> Dim:
        return minimum(self.most_slots, self.kv_heads - Dim.of(GROUP) * self.most_slots)

    @property
    def tasks(self) -> Dim:
        return self.attrs.parts * self.batches * self.groups * self.blocks

    @property
    def parts_of_task(self) -> tuple[Bind, ...]:
        extents = (self.attrs.parts, self.batches, self.groups, self.blocks)
        places = delinear(extents, Dim.of(TASK))
        parts = zip((PART, BATCH, GROUP, BLOCK), places, extents, strict=True)
        binds = [Bind(symbol, Number(place), extent) for symbol, place, extent in parts]
        begin = Dim.of(PART) * self.attrs.length
        return (*binds, Bind(ORIGIN, Number(begin), self.keys + 1))

    @property
    def kv_head_of_slot(self) -> Bind:
        head = Dim.of(GROUP) * self.most_slots + Dim.of(SLOT)
        return Bind(KV_HEAD, Number(head), self.kv_heads)

    @property
    def origin(self) -> Dim:
        return Dim.of(ORIGIN)

    @property
    def limit(self) -> Dim:
        return minimum(self.keys, self.origin + self.attrs.length)

    @property
    def most_keys(self) -> int:
        return self.tiling.caches.keys_of_heads

    def place_of_result(self, column: Dim) -> Index:
        rank = self.form.query.tensor.rank
        return (Dim.of(PART), *own_axes((*self.head, Dim.of(ROW_QUERY), column), rank))
