"""Keys that are out of sight for all queries of a task, whose scores are not computed.

Their weight is 0, but they are terms of the result: 0 times NaN or infinity is NaN, in every row.
Whether a result is NaN must not depend on where blocks end, so these terms are added, though only
if they can matter:

    prepared for a kv head      flag = sum of 0 * v over all keys that some task does not see
    task                        if the flag is NaN: sums += sum of 0 * v over the keys beyond sight

Tasks of a kv head follow each other, so that its values are looked at once; what is added after
that is nothing at all for values that are finite.
"""

from __future__ import annotations

from dataclasses import dataclass

from anyshape.families.attention.plan import BATCH, KV_HEAD
from anyshape.families.attention.softmax_state import COLUMN, KEY, ROW, Parts
from anyshape.ir.types import bool_, i64
from anyshape.loop import (
    Accumulator,
    Bind,
    Buffer,
    For,
    Load,
    Local,
    Prepare,
    Scalar,
    Statement,
    Store,
    Update,
)
from anyshape.lower.notation import apply, cast, each, lanes
from anyshape.sym import Dim, Symbol

ADDED, ONCE = Symbol("a"), Symbol("o")


@dataclass(frozen=True, slots=True)
class HiddenValues:
    """The code for one kernel; there is none where every task sees all keys."""

    parts: Parts
    zeros: Buffer
    flag: Buffer

    @staticmethod
    def of(parts: Parts) -> HiddenValues | None:
        plan = parts.plan
        if not plan.skips:
            return None
        zeros, flag = plan.scratch("zeros", plan.value_width), plan.scratch("flag", 1)
        return HiddenValues(parts, zeros, flag)

    @property
    def scratch(self) -> tuple[Buffer, ...]:
        return self.zeros, self.flag

    def prepare(self) -> Prepare:
        """Sets the flag for the keys that some task of a head does not see: the first one does not
        see the last keys, and the last one not the first."""
        plan, total = self.parts.plan, Local("flagged", self.parts.plan.total)
        terms, column = self._terms(plan.most_origin, plan.least_limit)
        store = Store(self.zeros, (Dim.of(COLUMN),), column)
        update = Update(total, Load(self.zeros, (Dim.of(COLUMN),)))
        states = (Accumulator(total, "add"),)
        return Prepare(
            (BATCH, KV_HEAD),
            (
                lanes(COLUMN, plan.value_width, *terms, store),
                For(COLUMN, plan.value_width, (update,), states, vector=True),
                Store(self.flag, (Dim.of(0),), total),
            ),
        )

    def add(self, rows: Dim) -> tuple[Statement, ...]:
        """The terms of this task, in all of its rows."""
        plan = self.parts.plan
        is_needed = apply("is_nan", Load(self.flag, (Dim.of(0),)), dtype=bool_)
        terms, column = self._terms(plan.origin, plan.limit)
        place = (Dim.of(ROW), Dim.of(COLUMN))
        sums = self.parts.state.sums
        row = Store(sums, place, apply("add", Load(sums, place), column))
        columns = lanes(COLUMN, plan.value_width, *terms, each(ROW, rows, row))
        return Bind(ADDED, cast(is_needed, i64), Dim.of(2)), each(ONCE, Dim.of(ADDED), columns)

    def _terms(self, origin: Dim, limit: Dim) -> tuple[list[Statement], Scalar]:
        """The sum of 0 * v over the keys before and after sight, at the loop's column."""
        plan, code, total = self.parts.plan, list[Statement](), None
        spans = (("before", Dim.of(0), origin), ("hidden", limit, plan.keys - limit))
        for name, first, count in spans:
            if count != 0:
                column = Local(name, plan.total)
                code.append(self._sum(column, first, count))
                total = column if total is None else apply("add", total, column)
        assert total is not None, "where all keys are in sight there is no code"
        return code, total

    def _sum(self, column: Local, first: Dim, count: Dim) -> Statement:
        plan = self.parts.plan
        place = (*plan.kv_head, first + Dim.of(KEY), Dim.of(COLUMN))
        code, value = self.parts.reader.element(plan.form.value, place)
        term = apply("mul", self.parts.number(0), cast(value, plan.total))
        return For(KEY, count, (*code, Update(column, term)), (Accumulator(column, "add"),))
