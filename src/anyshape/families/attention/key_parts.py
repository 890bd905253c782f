"""Attention of few queries to a part of the keys, whose heads lie beside each other in memory.

    task t: a part of the keys, some kv heads of a batch, some rows of each
      packed = queries, scaled
      for s < key blocks
        scores[row, slot, key] = packed row . key         for each key, the heads as they lie
        weights = exp(masked scores - best so far)        in place
        sums[row, slot, column] *= decay
        sums += weights * values                          for each key, the heads as they lie
      y[row] = sums, best, total

Walking along one head after the other would touch every page of the keys once for each head, and
at each key leave to waste what the machine fetches ahead. So memory is read from end to end, and
sums go to scratch and back for each key. Several keys at once would save that, but are as many
places to read from: on Zen 4 they take half as long again.
"""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.families.attention.plan import KEY_BLOCK, ROW_QUERY, SLOT, TASK, KeyPartsPlan
from anyshape.families.attention.softmax_state import COLUMN, DEPTH, KEY, ROW, Parts, State
from anyshape.ir.node import Value
from anyshape.loop import (
    Accumulator,
    Buffer,
    For,
    Kernel,
    Let,
    Load,
    Local,
    Scalar,
    Statement,
    Store,
    Update,
)
from anyshape.loop.ir import Index
from anyshape.lower.notation import apply, cast, each, lanes
from anyshape.sym import Dim, Facts, FactScope, Symbol


def key_parts_kernel(
    plan: KeyPartsPlan,
    inputs: Sequence[Buffer],
    outputs: Sequence[Buffer],
    facts: Facts,
    sizes: tuple[Symbol, ...],
) -> Kernel:
    """The kernel of a region that is one `part_attention`."""
    state = State.of(plan, plan.tiling.rows, (plan.most_slots,), (Dim.of(SLOT),))
    keys = _Keys(plan, Parts(plan, inputs, outputs, FactScope.of(facts), state))
    buffers = (*inputs, *outputs)
    return Kernel(buffers, sizes, TASK, plan.tasks, keys.body(), facts, keys.scratch)


class _Keys:
    """The work of one task, in the order in which it is done."""

    def __init__(self, plan: KeyPartsPlan, parts: Parts) -> None:
        self.plan, self.parts = plan, parts
        slots, rows = plan.most_slots, plan.tiling.rows
        self.packed = plan.scratch("packed", rows, slots, plan.width)
        self.scores = plan.scratch("scores", rows, slots, plan.most_keys)

    @property
    def scratch(self) -> tuple[Buffer, ...]:
        return (self.packed, self.scores, *self.parts.state.scratch)

    def body(self) -> tuple[Statement, ...]:
        plan = self.plan
        block = self._scores(), self._slots(self._softmax()), self._mix()
        return (
            *plan.parts_of_task,
            self._slots(self._pack(), *self.parts.start(plan.block_rows)),
            each(KEY_BLOCK, plan.key_blocks, *block),
            self._slots(self._finish()),
        )

    def _slots(self, *body: Statement) -> Statement:
        return each(SLOT, self.plan.slots, self.plan.kv_head_of_slot, *body)

    def _keys(self, *row: Statement) -> Statement:
        """The same for all rows of each key of a block, in the order of memory."""
        plan = self.plan
        return each(KEY, plan.block_keys, self._slots(each(ROW, plan.block_rows, *row)))

    def _element(self, value: Value, column: Symbol) -> tuple[list[Statement], Scalar]:
        """Of a key or of its value."""
        place = (*self.plan.kv_head, self.plan.first_key + Dim.of(KEY), Dim.of(column))
        code, element = self.parts.reader.element(value, place)
        return code, cast(element, self.plan.total)

    def _at(self, *index: Dim | Symbol) -> Index:
        return self.parts.state.at(*index)

    # --- in order -------------------------------------------------------------------------------

    def _pack(self) -> Statement:
        """The queries of the block, scaled."""
        plan = self.plan
        place = (*plan.head, Dim.of(ROW_QUERY), Dim.of(DEPTH))
        code, element = self.parts.reader.element(plan.form.query, place)
        scaled = apply("mul", cast(element, plan.total), self.parts.scale)
        row = lanes(DEPTH, plan.width, *code, Store(self.packed, self._at(ROW, DEPTH), scaled))
        return each(ROW, plan.block_rows, *plan.parts_of_row(ROW), row)

    def _scores(self) -> Statement:
        product, place = Local("product", self.plan.total), self._at(ROW, DEPTH)
        code, key = self._element(self.plan.form.key, DEPTH)
        add = Update(product, apply("mul", Load(self.packed, place), key))
        states = (Accumulator(product, "add"),)
        dot = For(DEPTH, self.plan.width, (*code, add), states, vector=True)
        return self._keys(dot, Store(self.scores, self._at(ROW, KEY), product))

    def _softmax(self) -> Statement:
        plan, top = self.plan, Local("top", self.plan.total)
        raw = Load(self.scores, self._at(ROW, KEY))
        place = (*plan.head, Dim.of(ROW_QUERY), plan.first_key + Dim.of(KEY))
        code, score = self.parts.masked(raw, place)
        if plan.is_bounded:
            score = self.parts.seen(score, *place[2:])
        if score is not raw:
            masked = Local("masked", plan.total)
            code += [Let(masked, score), Store(self.scores, raw.index, masked)]
            score = masked
        states = (Accumulator(top, "maximum"),)
        best = For(KEY, plan.block_keys, (*code, Update(top, score)), states, vector=True)
        weigh = self.parts.weigh(best, top, raw, self._at(ROW))
        sums, at = self.parts.state.sums, self._at(ROW, COLUMN)
        less = apply("mul", Load(sums, at), Load(self.parts.state.decay, at[:-1]))
        shrink = lanes(COLUMN, plan.value_width, Store(sums, at, less))
        return each(ROW, plan.block_rows, *plan.parts_of_row(ROW), *weigh, shrink)

    def _mix(self) -> Statement:
        plan, sums, at = self.plan, self.parts.state.sums, self._at(ROW, COLUMN)
        weight = Local("weight", plan.total)
        code, value = self._element(plan.form.value, COLUMN)
        total = apply("add", Load(sums, at), apply("mul", weight, value))
        row = lanes(COLUMN, plan.value_width, *code, Store(sums, at, total))
        return self._keys(Let(weight, Load(self.scores, self._at(ROW, KEY))), row)

    def _finish(self) -> Statement:
        plan, state, (y,) = self.plan, self.parts.state, self.parts.outputs
        place = plan.place_of_result
        width, query = plan.value_width, self._at(ROW)
        row = lanes(
            COLUMN, width, Store(y, place(Dim.of(COLUMN)), Load(state.sums, self._at(ROW, COLUMN)))
        )
        best = Store(y, place(width), Load(state.best, query))
        total = Store(y, place(width + 1), Load(state.total, query))
        return each(ROW, plan.block_rows, *plan.parts_of_row(ROW), row, best, total)
