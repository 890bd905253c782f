"""Attention for few queries, as in decoding: bound by reading keys and values, which it does once.

    task t: some rows of one kv head; a row is a query of one of the heads that share the kv head
      packed = queries, scaled
      for s < key blocks
        scores[row, key] = packed row . key               vectors run along the width
        weights = exp(masked scores - best so far)        in place; vectors run along the keys
        sums[row, column] = sums * decay + weights @ values
      sums += 0 * values out of sight                     if not all of them are finite
      y[row, column] = epilogue(sums / total)

Register tiles across the queries, as for many of them, would be almost empty here.
"""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.families.attention.checked_sight import CheckedSight
from anyshape.families.attention.hidden_keys import HiddenValues
from anyshape.families.attention.plan import KEY_BLOCK, ROW_QUERY, TASK, FewQueriesPlan
from anyshape.families.attention.softmax_state import (
    COLUMN,
    DEPTH,
    KEY,
    PANEL,
    ROW,
    Code,
    Parts,
    State,
)
from anyshape.loop import (
    Accumulator,
    Buffer,
    For,
    Kernel,
    Let,
    Load,
    Local,
    Matrix,
    Multiply,
    Statement,
    Store,
    Update,
)
from anyshape.lower.notation import apply, cast, each, lanes
from anyshape.sym import Dim, Facts, FactScope, Symbol, ceildiv, minimum


def few_queries_kernel(
    plan: FewQueriesPlan,
    inputs: Sequence[Buffer],
    outputs: Sequence[Buffer],
    facts: Facts,
    sizes: tuple[Symbol, ...],
) -> Kernel:
    """The kernel of a region that has the form of the plan."""
    state = State.of(plan, plan.tiling.rows)
    rows = _Rows(plan, Parts(plan, inputs, outputs, FactScope.of(facts), state))
    buffers = (*inputs, *outputs)
    return Kernel(buffers, sizes, TASK, plan.tasks, rows.body(), facts, rows.scratch)


class _Rows:
    """The work of one task, in the order in which it is done."""

    def __init__(self, plan: FewQueriesPlan, parts: Parts) -> None:
        self.parts, self.plan = parts, plan
        rows = self.plan.tiling.rows
        self.tile = self.plan.scratch("tile", rows, self.plan.columns)
        self.packed = self.plan.scratch("packed", rows, self.plan.width)
        self.scores = self.plan.scratch("scores", rows, plan.most_keys)
        self.copies: list[Statement] = []
        values = parts.in_place(self.plan.form.value)
        if values is None or values.strides[1] != 1:
            values, loop = parts.copied(self.plan.form.value, "values")
            self.copies.append(loop)
        self.values = values
        self.hidden = HiddenValues.of(parts)
        self.checked = CheckedSight.of(parts, rows)

    @property
    def scratch(self) -> tuple[Buffer, ...]:
        own = (self.tile, self.packed, self.scores, *self.parts.state.scratch)
        own += self.hidden.scratch if self.hidden else ()
        own += self.checked.scratch if self.checked else ()
        is_copy = self.values.buffer not in self.parts.inputs
        return (*own, self.values.buffer) if is_copy else own

    def body(self) -> tuple[Statement, ...]:
        plan = self.plan
        row = self.parts.finish((*plan.head, Dim.of(ROW_QUERY), Dim.of(COLUMN)))
        block = (*self.copies, self._scores(), self._softmax(), self._mix())
        return (
            *plan.parts_of_task,
            *((self.hidden.prepare(),) if self.hidden else ()),
            *((self.checked.prepare(),) if self.checked else ()),
            self._pack(),
            *(self._sight(self.checked) if self.checked else ()),
            *self._start(),
            each(KEY_BLOCK, plan.key_blocks, *block),
            *(self.hidden.add(plan.block_rows) if self.hidden else ()),
            each(ROW, plan.block_rows, *plan.parts_of_row(ROW), *row),
        )

    def _start(self) -> tuple[Statement, ...]:
        plan = self.plan
        if plan.form.sink is None:
            return self.parts.start(plan.block_rows)
        place = (*plan.head, Dim.of(ROW_QUERY), Dim.of(0))
        code = self.parts.start_with_sink(place, ROW)
        first = each(ROW, plan.block_rows, *plan.parts_of_row(ROW), *code)
        return first, self.parts.no_sums(plan.block_rows)

    def _pack(self) -> Statement:
        """The queries of the block, scaled."""
        plan = self.plan
        place = (*plan.head, Dim.of(ROW_QUERY), Dim.of(DEPTH))
        code, element = self.parts.reader.element(plan.form.query, place)
        scaled = apply("mul", cast(element, plan.total), self.parts.scale)
        store = Store(self.packed, (Dim.of(ROW), Dim.of(DEPTH)), scaled)
        row = lanes(DEPTH, plan.width, *code, store)
        return each(ROW, self.plan.block_rows, *self.plan.parts_of_row(ROW), row)

    def _sight(self, checked: CheckedSight) -> Code:
        row = Dim.of(ROW)
        code = checked.bounded(Load(self.packed, (row, Dim.of(DEPTH))), row, vector=True)
        return [each(ROW, checked.asking, *code), *checked.bind()]

    def _scores(self) -> Statement:
        """Each key is read once and multiplied with all rows."""
        plan, product = self.plan, Local("product", self.plan.total)
        place = (*plan.kv_head, plan.first_key + Dim.of(KEY), Dim.of(DEPTH))
        code, key = self.parts.reader.element(plan.form.key, place)
        query = Load(self.packed, (Dim.of(ROW), Dim.of(DEPTH)))
        add = Update(product, apply("mul", query, cast(key, plan.total)))
        states = (Accumulator(product, "add"),)
        dot = For(DEPTH, plan.width, (*code, add), states, vector=True)
        store = Store(self.scores, (Dim.of(ROW), Dim.of(KEY)), product)
        return each(KEY, plan.block_keys, each(ROW, self.plan.block_rows, dot, store))

    def _softmax(self) -> Statement:
        plan, top = self.plan, Local("top", self.plan.total)
        raw = Load(self.scores, (Dim.of(ROW), Dim.of(KEY)))
        place = (*plan.head, Dim.of(ROW_QUERY), plan.first_key + Dim.of(KEY))
        code, score = self.parts.masked(raw, place)
        if plan.is_bounded:
            score = self.parts.seen(score, *place[2:])
        if score is not raw:
            masked = Local("masked", plan.total)
            code += [Let(masked, score), Store(self.scores, raw.index, masked)]
            score = masked
        body = (*code, Update(top, score))
        states = (Accumulator(top, "maximum"),)
        best = For(KEY, plan.block_keys, body, states, vector=True)
        weigh = self.parts.weigh(best, top, raw, (Dim.of(ROW),))
        return each(ROW, self.plan.block_rows, *self.plan.parts_of_row(ROW), *weigh)

    def _mix(self) -> Statement:
        plan, values = self.plan, self.values
        column = Dim.of(PANEL) * plan.columns
        columns = minimum(plan.columns, plan.value_width - column)
        weights = Matrix.whole(self.scores)
        panel = values.moved(Dim.of(0), column)
        rows = self.plan.block_rows
        product = Multiply(self.tile, weights, panel, rows, columns, plan.block_keys)
        row = lanes(COLUMN, columns, self.parts.added(self.tile, Dim.of(0), column))
        return each(PANEL, ceildiv(plan.value_width, plan.columns), product, each(ROW, rows, row))
