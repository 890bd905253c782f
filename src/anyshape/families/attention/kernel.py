"""The kernel of attention: scores in blocks, an online softmax, and nothing of size [q, kv] kept.

    task t: a block of queries of one head
      packed = queries, transposed and scaled
      sight = what they see, or all keys                where scores decide that
      for s < key blocks within sight
        scores[key, query] = keys @ packed, masked        register tiles
        weights = exp(scores - best so far)               in place; vectors run across the queries
        sums[query, column] = sums * decay + weights.T @ values
      sums += 0 * values out of sight                     if not all of them are finite
      y[query, column] = epilogue(sums / total)

Scores are computed transposed, so that keys and values are read where they are, whatever their
strides: keys number by number, values by rows. Maxima and totals over keys need no sums across
lanes. What is transposed instead are the queries, once, and a mask, block by block.
"""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.families.attention.checked_sight import CheckedSight
from anyshape.families.attention.hidden_keys import HiddenValues
from anyshape.families.attention.plan import KEY_BLOCK, TASK, AttentionPlan
from anyshape.families.attention.softmax_state import (
    COLUMN,
    DEPTH,
    KEY,
    PANEL,
    QUERY,
    ROW,
    TILE,
    Code,
    Parts,
    State,
)
from anyshape.ir.node import Value
from anyshape.ir.types import DType, bool_
from anyshape.loop import (
    Accumulator,
    Bind,
    Buffer,
    Copy,
    For,
    Kernel,
    Load,
    Local,
    Matrix,
    Multiply,
    Number,
    Scalar,
    Statement,
    Store,
    Update,
)
from anyshape.lower.notation import apply, cast, each, is_equal, lanes
from anyshape.sym import Dim, Facts, FactScope, Symbol, ceildiv, maximum, minimum

FIRST_WHOLE, END_OF_WHOLE = Symbol("u"), Symbol("w")


def attention_kernel(
    plan: AttentionPlan,
    inputs: Sequence[Buffer],
    outputs: Sequence[Buffer],
    facts: Facts,
    sizes: tuple[Symbol, ...],
) -> Kernel:
    """The kernel of a region that has the form of the plan."""
    state = State.of(plan, plan.most_queries)
    tiles = Tiles(Parts(plan, inputs, outputs, FactScope.of(facts), state))
    buffers = (*inputs, *outputs)
    return Kernel(buffers, sizes, TASK, plan.tasks, tiles.body(), facts, tiles.scratch)


class Tiles:
    """The work of one task, in the order in which it is done."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.plan = plan = parts.plan
        self.tile = plan.scratch("tile", plan.tiling.rows, plan.columns)
        self.packed = plan.scratch("packed", plan.width, plan.most_queries)
        self.scores = plan.scratch("scores", plan.most_keys, plan.most_queries)
        self.copied: list[Buffer] = []
        self.copies: list[Statement] = []  # what a key block starts with
        self.keys = parts.in_place(plan.form.key) or self._copied(plan.form.key, "keys")
        values = parts.in_place(plan.form.value)
        if values is None or values.strides[1] != 1:
            values = self._copied(plan.form.value, "values")
        self.values = values
        self.turned_masks = self._turned_masks()
        self.hidden = HiddenValues.of(parts)
        self.checked = CheckedSight.of(parts, plan.most_queries)

    @property
    def scratch(self) -> tuple[Buffer, ...]:
        own = (self.tile, self.packed, self.scores, *self.parts.state.scratch)
        parts = (part.scratch for part in (self.hidden, self.checked) if part)
        return (*own, *(buffer for scratch in parts for buffer in scratch), *self.copied)

    def body(self) -> tuple[Statement, ...]:
        return (
            *self.plan.parts_of_task,
            *((self.hidden.prepare(),) if self.hidden else ()),
            *((self.checked.prepare(),) if self.checked else ()),
            *self.work(),
        )

    def work(self) -> tuple[Statement, ...]:
        """All that is done for a block of queries."""
        plan = self.plan
        query = plan.first_query + Dim.of(ROW)
        row = self.parts.finish((*plan.head, query, Dim.of(COLUMN)))
        block = (*self.copies, *self._scores(), self._softmax(), self._mix())
        return (
            *self._pack(),
            *(self._sight(self.checked) if self.checked else ()),
            *self._start(),
            each(KEY_BLOCK, plan.key_blocks, *block),
            *(self.hidden.add(plan.block_queries) if self.hidden else ()),
            each(ROW, plan.block_queries, *row),
        )

    def _start(self) -> tuple[Statement, ...]:
        plan = self.plan
        if plan.form.sink is None:
            return self.parts.start(plan.block_queries)
        place = (*plan.head, plan.first_query + Dim.of(QUERY), Dim.of(0))
        code = self.parts.start_with_sink(place, QUERY)
        return lanes(QUERY, plan.block_queries, *code), self.parts.no_sums(plan.block_queries)

    # --- operands -----------------------------------------------------------------------------

    def _copied(self, value: Value, name: str) -> Matrix:
        matrix, loop = self.parts.copied(value, name)
        self.copied.append(matrix.buffer)
        self.copies.append(loop)
        return matrix

    def _turned_masks(self) -> dict[Value, Buffer]:
        """Masks of a block in the order of its scores, if in their own they would be gathered."""
        plan, turned = self.plan, dict[Value, Buffer]()
        for mask in plan.form.masks:
            view = self.parts.reader.matrix(mask, plan.head, plan.form.scores_shape)
            if mask in turned or view is None or view.strides[0] == 0 or view.strides[1] != 1:
                continue
            name = f"mask{len(turned) or ''}"
            turned[mask] = plan.scratch(name, plan.most_keys, plan.most_queries)
            source = view.moved(plan.first_query, plan.first_key).turned
            self.copied.append(turned[mask])
            self.copies.append(Copy(turned[mask], source, plan.block_keys, plan.block_queries))
        return turned

    def _pack(self) -> tuple[Statement, ...]:
        """The queries of the block, transposed and scaled."""
        plan, place = self.plan, (Dim.of(DEPTH), Dim.of(QUERY))
        view = self.parts.reader.matrix(plan.form.query, plan.head)
        if view is None:
            whole = (*plan.head, plan.first_query + Dim.of(QUERY), Dim.of(DEPTH))
            code, element = self.parts.reader.element(plan.form.query, whole)
            return (self._scaled(code, cast(element, plan.total)),)
        turned = view.moved(plan.first_query).turned
        copy = Copy(self.packed, turned, plan.width, plan.block_queries)
        return copy, self._scaled([], Load(self.packed, place))

    def _scaled(self, code: Code, element: Scalar) -> Statement:
        place = (Dim.of(DEPTH), Dim.of(QUERY))
        store = Store(self.packed, place, apply("mul", element, self.parts.scale))
        return each(DEPTH, self.plan.width, lanes(QUERY, self.plan.block_queries, *code, store))

    def _sight(self, checked: CheckedSight) -> Code:
        query = Dim.of(QUERY)
        code = checked.bounded(Load(self.packed, (Dim.of(DEPTH), query)), query)
        return [lanes(QUERY, checked.asking, *code), *checked.bind()]

    # --- scores -------------------------------------------------------------------------------

    def _scores(self) -> tuple[Statement, ...]:
        """Tiles that every query of the block sees as a whole, and those it sees in part."""
        plan, zero = self.plan, Dim.of(0)
        tiles = ceildiv(plan.block_keys, plan.tiling.rows)
        if not plan.is_bounded:
            return (self._tiles(zero, tiles, is_partial=False),)
        whole = tiles if plan.last is None else self._end_of_whole(tiles, plan.last)
        if plan.low is None:
            return (
                self._tiles(zero, whole, is_partial=False),
                self._tiles(whole, tiles - whole, is_partial=True),
            )
        first, end = Dim.of(FIRST_WHOLE), Dim.of(END_OF_WHOLE)
        return (  # bound, so that what is between them is plain
            Bind(FIRST_WHOLE, Number(self._first_whole(tiles, plan.low)), tiles + 1),
            Bind(END_OF_WHOLE, Number(maximum(first, whole)), tiles + 1),
            self._tiles(zero, first, is_partial=True),
            self._tiles(first, end - first, is_partial=False),
            self._tiles(end, tiles - end, is_partial=True),
        )

    def _first_whole(self, tiles: Dim, low: Dim) -> Dim:
        """The first tile that the last query sees from its start."""
        plan = self.plan
        unseen = maximum(0, plan.end_query - 1 + low - plan.first_key)
        return minimum(tiles, ceildiv(unseen, plan.tiling.rows))

    def _end_of_whole(self, tiles: Dim, last: Dim) -> Dim:
        """The tile after the last one that the first query sees to its end."""
        plan = self.plan
        seen_by_all = plan.first_query + last + 1 - plan.first_key
        return minimum(tiles, maximum(0, seen_by_all) // plan.tiling.rows)

    def _tiles(self, first: Dim, count: Dim, *, is_partial: bool) -> Statement:
        plan, keys = self.plan, self.keys
        key = (first + Dim.of(TILE)) * plan.tiling.rows
        rows = minimum(plan.tiling.rows, plan.block_keys - key)
        packed = Matrix.whole(self.packed)
        lhs = keys.moved(key)
        product = Multiply(self.tile, lhs, packed, rows, plan.block_queries, plan.width)
        code, score = self._score(key + Dim.of(ROW))
        if is_partial:
            query = plan.first_query + Dim.of(QUERY)
            score = self.parts.seen(score, query, plan.first_key + key + Dim.of(ROW))
        store = Store(self.scores, (key + Dim.of(ROW), Dim.of(QUERY)), score)
        row = lanes(QUERY, plan.block_queries, *code, store)
        return each(TILE, count, product, each(ROW, rows, row))

    def _score(self, key: Dim) -> tuple[Code, Scalar]:
        """A score of the tile under the masks; `key` counts from the start of the block."""
        plan, query = self.plan, Dim.of(QUERY)
        place = (*plan.head, plan.first_query + query, plan.first_key + key)
        prepared = {
            mask: _as_mask(Load(turned, (key, query)), mask.tensor.dtype)
            for mask, turned in self.turned_masks.items()
        }
        return self.parts.masked(Load(self.tile, (Dim.of(ROW), query)), place, prepared)

    def _softmax(self) -> Statement:
        top = Local("top", self.plan.total)
        score = Load(self.scores, (Dim.of(KEY), Dim.of(QUERY)))
        states = (Accumulator(top, "maximum"),)
        best = For(KEY, self.plan.block_keys, (Update(top, score),), states)
        code = self.parts.weigh(best, top, score, (Dim.of(QUERY),))
        return lanes(QUERY, self.plan.block_queries, *code)

    # --- values -------------------------------------------------------------------------------

    def _mix(self) -> Statement:
        plan, values = self.plan, self.values
        query, column = Dim.of(TILE) * plan.tiling.rows, Dim.of(PANEL) * plan.columns
        rows = minimum(plan.tiling.rows, plan.block_queries - query)
        columns = minimum(plan.columns, plan.value_width - column)
        weights = Matrix.whole(self.scores).turned.moved(query)
        panel = values.moved(Dim.of(0), column)
        product = Multiply(self.tile, weights, panel, rows, columns, plan.block_keys)
        row = lanes(COLUMN, columns, self.parts.added(self.tile, query, column))
        tiles = ceildiv(plan.block_queries, plan.tiling.rows)
        panels = ceildiv(plan.value_width, plan.columns)
        return each(PANEL, panels, each(TILE, tiles, product, each(ROW, rows, row)))


def _as_mask(number: Load, dtype: DType) -> Scalar:
    """An element of a mask of this dtype, which was copied as a number."""
    return apply("logical_not", is_equal(number, 0)) if dtype == bool_ else number
