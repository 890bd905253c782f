"""Keys out of sight whose scores are skipped only after a look at the numbers.

A key that a bound hides by *replacing* its score with -inf can be skipped whatever it is. Where
-inf is added to its score, or a finite number takes the place of -inf, it can be skipped if

    added      no score out of sight is NaN or +inf, as -inf would make NaN of it
    finite     its weight is 0: the best score in sight is greater by so much that exp gives 0

Both follow from a bound of all scores, which takes a pass over the keys and one over the queries:

    prepared for a kv head      reach[d] = max |k[d]| over the keys
    task                        |score| <= sum of |q[d]| * reach[d] for each of its queries

If that is small enough, and no mask is too great, the task skips what its queries do not see; else
it looks at all keys, and nothing is left out. A bound of NaN is not small.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

from anyshape.families.attention.plan import BATCH, KV_HEAD, LIMIT, ORIGIN
from anyshape.families.attention.softmax_state import COLUMN, DEPTH, KEY, ROW, Code, Parts
from anyshape.ir.node import Value
from anyshape.ir.types import bool_
from anyshape.loop import (
    Accumulator,
    Bind,
    Buffer,
    For,
    Load,
    Local,
    Number,
    Prepare,
    Scalar,
    Statement,
    Store,
    Update,
)
from anyshape.lower.notation import apply, cast, lanes
from anyshape.sym import Dim, minimum

MOST_MASK = 1e30
"""What is added to a score and leaves it finite."""


@dataclass(frozen=True, slots=True)
class CheckedSight:
    """The code for one kernel; there is none where nothing is skipped, or always."""

    parts: Parts
    reach: Buffer  # of keys, by column
    bound: Buffer  # of the scores of each query of a task

    @staticmethod
    def of(parts: Parts, queries: int) -> CheckedSight | None:
        plan = parts.plan
        if not plan.is_checked:
            return None
        return CheckedSight(
            parts, plan.scratch("reach", plan.width), plan.scratch("bound", queries)
        )

    @property
    def scratch(self) -> tuple[Buffer, ...]:
        return self.reach, self.bound

    def prepare(self) -> Prepare:
        """Of the keys that some task does not see, which is enough to know their scores; where
        weights must be 0, those in sight count too."""
        plan = self.parts.plan
        spans = ((Dim.of(0), plan.most_origin), (plan.least_limit, plan.keys - plan.least_limit))
        if math.isfinite(plan.form.attrs.outside):
            hidden = plan.most_origin + plan.keys - plan.least_limit
            spans = ((Dim.of(0), minimum(plan.keys, hidden * plan.keys)),)
        code, reach = self._greatest("reach", spans, self._key)
        store = Store(self.reach, (Dim.of(COLUMN),), reach)
        return Prepare((BATCH, KV_HEAD), (lanes(COLUMN, plan.width, *code, store),))

    def _key(self, key: Dim) -> tuple[Code, Scalar]:
        plan = self.parts.plan
        place = (*plan.kv_head, key, Dim.of(COLUMN))
        code, element = self.parts.reader.element(plan.form.key, place)
        return code, apply("abs", cast(element, plan.total))

    @property
    def asking(self) -> Dim:
        """Queries of a task whose scores matter: none if it sees all keys."""
        plan, most = self.parts.plan, self.bound.shape[0]
        hidden = plan.sight_origin + plan.keys - plan.sight_end
        return minimum(plan.task_rows.count, hidden * most)

    def bounded(self, packed: Load, query: Dim, *, vector: bool = False) -> Code:
        """Stores the bound of a query's scores; `packed` are its numbers at DEPTH."""
        total = Local("spread", self.parts.plan.total)
        reach = Load(self.reach, (Dim.of(DEPTH),))
        update = Update(total, apply("mul", apply("abs", packed), reach))
        states = (Accumulator(total, "add"),)
        loop = For(DEPTH, self.parts.plan.width, (update,), states, vector=vector)
        return [loop, Store(self.bound, (query,), total)]

    def bind(self) -> Code:
        """Origin and limit of the task, now that the bounds of its queries are known."""
        plan, top = self.parts.plan, Local("furthest", self.parts.plan.total)
        update = Update(top, Load(self.bound, (Dim.of(ROW),)))
        states = (Accumulator(top, "maximum"),)
        code: Code = [For(ROW, self.asking, (update,), states, vector=True)]
        is_small: Scalar = self._less(top, plan.most_score)
        masks = [mask for mask in plan.form.masks if mask.tensor.dtype.is_float]
        if masks:
            loop, greatest = self._greatest_added(masks)
            code.append(loop)
            is_small = apply("logical_and", is_small, self._less(greatest, MOST_MASK))
        ends = ((LIMIT, plan.sight_end, plan.keys), (ORIGIN, plan.sight_origin, Dim.of(0)))
        for symbol, near, far in ends:
            if near != far:
                value = apply("select", is_small, Number(near), Number(far))
                code.append(Bind(symbol, value, plan.keys + 1))
        return code

    def _less(self, number: Scalar, limit: float) -> Scalar:
        return apply("lt", number, self.parts.number(limit), dtype=bool_)

    def _greatest_added(self, masks: list[Value]) -> tuple[Statement, Local]:
        """The greatest number that is added to a score out of sight of this task."""
        plan, greatest = self.parts.plan, Local("added", self.parts.plan.total)
        rows = plan.task_rows

        def element(key: Dim) -> tuple[Code, Scalar]:
            place = (*plan.head, rows.query, key)
            code, found = self.parts.reader.broadcast(masks, plan.form.scores_shape, place)
            numbers = (cast(number, plan.total) for number in found)
            return code, reduce(lambda x, y: apply("maximum", x, y), numbers)

        spans = ((Dim.of(0), plan.sight_origin), (plan.sight_end, plan.keys - plan.sight_end))
        code, top = self._greatest("mask", spans, element, vector=True)
        is_same = all(len(mask.tensor.shape) < 2 or mask.tensor.shape[-2] == 1 for mask in masks)
        count = minimum(1, rows.count) if is_same and rows.is_one_head else rows.count
        states = (Accumulator(greatest, "maximum"),)
        return For(ROW, count, (*rows.parts, *code, Update(greatest, top)), states), greatest

    def _greatest(
        self,
        name: str,
        spans: tuple[tuple[Dim, Dim], ...],
        element: Callable[[Dim], tuple[Code, Scalar]],
        *,
        vector: bool = False,
    ) -> tuple[Code, Scalar]:
        """The maximum of an element over keys, which are spans: the first key and their number."""
        code, tops = list[Statement](), list[Scalar]()
        for number, (first, count) in enumerate(spans):
            if count != 0:
                top = Local(f"{name}{number}", self.parts.plan.total)
                read, found = element(first + Dim.of(KEY))
                body, states = (*read, Update(top, found)), (Accumulator(top, "maximum"),)
                code.append(For(KEY, count, body, states, vector=vector))
                tops.append(top)
        return code, reduce(lambda x, y: apply("maximum", x, y), tops)
