"""What the forms of attention have in common: operands, masks, the softmax's state, the result.

The softmax is *online*: it sees the keys block by block. For every query it holds the best score so
far, the total of exp(score - best), and the weighted sum of the values. A block with a better score
makes all of these smaller by a factor, the *decay*.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from anyshape.families.attention.match import Reader
from anyshape.families.attention.plan import ROW, AttentionPlan
from anyshape.ir.node import Value
from anyshape.loop import (
    Accumulator,
    Apply,
    Buffer,
    For,
    Guard,
    Let,
    Literal,
    Load,
    Local,
    Matrix,
    Number,
    Scalar,
    Statement,
    Store,
    Update,
)
from anyshape.loop.ir import Index
from anyshape.lower.context import Lowering
from anyshape.lower.notation import apply, cast, each, is_equal, lanes
from anyshape.ops.attention import AttentionAttrs, own_axes
from anyshape.sym import Dim, FactScope, LessEqual, Predicate, Symbol

PANEL, TILE, DEPTH, KEY, QUERY, COLUMN = (Symbol(name) for name in "prdkjc")
LOWEST, ONE = float("-inf"), Dim.of(1)

Code = list[Statement]
NONE_PREPARED: Mapping[Value, Scalar] = {}


@dataclass(frozen=True, slots=True)
class State:
    """What the softmax holds of each query of a task, in scratch.

    Where a task has several heads, `head` is the index of the one at hand. Those of one query lie
    beside each other: far apart, they would meet in the same few sets of the first cache.
    """

    best: Buffer
    total: Buffer
    decay: Buffer
    sums: Buffer
    head: Index = ()

    @staticmethod
    def of(
        plan: AttentionPlan, queries: int, heads: tuple[int, ...] = (), head: Index = ()
    ) -> State:
        shape = (queries, *heads)
        best, total, decay = (plan.scratch(name, *shape) for name in ("best", "total", "decay"))
        return State(best, total, decay, plan.scratch("sums", *shape, plan.value_width), head)

    def at(self, query: Dim | Symbol, *column: Dim | Symbol) -> Index:
        """The index of a query, or of an element of its sums."""
        return (Dim.of(query), *self.head, *map(Dim.of, column))

    @property
    def scratch(self) -> tuple[Buffer, ...]:
        return self.best, self.total, self.decay, self.sums


@dataclass(frozen=True, slots=True)
class Parts:
    """Pieces of code; see the module."""

    plan: AttentionPlan
    inputs: Sequence[Buffer]
    outputs: Sequence[Buffer]
    scope: FactScope
    state: State

    @property
    def reader(self) -> Reader:
        return Reader(self.plan.region, self.inputs, self.scope)

    def number(self, value: float) -> Literal:
        return Literal.of(value, self.plan.total)

    # --- operands -----------------------------------------------------------------------------

    @property
    def scale(self) -> Scalar:
        """What queries are multiplied with."""
        attrs, width = self.plan.form.attrs, self.plan.width
        cap = 1 if attrs.cap is None else attrs.cap
        if attrs.scale is not None:
            return self.number(attrs.scale / cap)
        if width.constant:
            return self.number(1 / math.sqrt(width.constant) / cap)
        root = apply("rsqrt", cast(Number(width), self.plan.total))
        return root if attrs.cap is None else apply("div", root, self.number(cap))

    def in_place(self, value: Value) -> Matrix | None:
        """Keys or values of a block where they are, from its first row on."""
        found = self.reader.matrix(value, self.plan.kv_head)
        if found is None or found.buffer.dtype != self.plan.total:
            return None
        return found.moved(self.plan.first_key)

    def copied(self, value: Value, name: str) -> tuple[Matrix, Statement]:
        """Keys or values of a block in scratch, and the loop that puts them there."""
        width = value.tensor.shape[-1]
        copy = self.plan.scratch(name, self.plan.most_keys, width)
        place = (*self.plan.kv_head, self.plan.first_key + Dim.of(KEY), Dim.of(COLUMN))
        code, element = self.reader.element(value, place)
        store = Store(copy, (Dim.of(KEY), Dim.of(COLUMN)), cast(element, self.plan.total))
        loop = each(KEY, self.plan.block_keys, lanes(COLUMN, width, *code, store))
        return Matrix.whole(copy), loop

    def masked(
        self, product: Scalar, place: Index, prepared: Mapping[Value, Scalar] = NONE_PREPARED
    ) -> tuple[Code, Scalar]:
        """The score at (batch, head, query, key) of a product, under cap and masks.

        `prepared` are elements of masks that have been read already.
        """
        form = self.plan.form
        read = [mask for mask in form.masks if mask not in prepared]
        code, elements = self.reader.broadcast(read, form.scores_shape, place)
        known = {**prepared, **dict(zip(read, elements, strict=True))}
        score = self._capped(product)
        for mask in form.masks:
            score = self._under(score, known[mask])
        return code, score

    def _capped(self, product: Scalar) -> Scalar:
        """Products are divided by the cap already, as queries are (`scale`)."""
        cap = self.plan.form.attrs.cap
        return product if cap is None else apply("mul", apply("tanh", product), self.number(cap))

    def _under(self, score: Scalar, mask: Scalar) -> Scalar:
        if mask.dtype.is_float:
            return apply("add", score, cast(mask, self.plan.total))
        return apply("select", mask, score, self.number(self.plan.form.attrs.hidden))

    def seen(self, score: Scalar, query: Dim, key: Dim) -> Scalar:
        """The score as it is, or what becomes of it where the key is out of sight."""
        plan = self.plan
        within: list[Predicate] = []
        if plan.last is not None:
            within.append(LessEqual(key, query + plan.last))
        if plan.low is not None:
            within.append(LessEqual(query + plan.low, key))
        outside = self.number(plan.form.attrs.outside)
        if plan.form.attrs.adds:
            return apply("add", score, Guard(tuple(within), self.number(0), outside))
        return Guard(tuple(within), score, outside)

    # --- softmax ------------------------------------------------------------------------------

    def start(self, queries: Dim) -> tuple[Statement, ...]:
        """Nothing has been seen yet."""
        query, zero = self.state.at(QUERY), self.number(0)
        best = Store(self.state.best, query, self.number(LOWEST))
        total = Store(self.state.total, query, zero)
        return lanes(QUERY, queries, best, total), self.no_sums(queries)

    def start_with_sink(self, place: Index, query: Symbol) -> Code:
        """A query that has seen its sink, which adds to no sum; `place` is its index as a score.

        A sink of -inf is as good as none.
        """
        form = self.plan.form
        assert form.sink is not None
        code, (sink,) = self.reader.broadcast([form.sink], (*form.scores_shape[:-1], ONE), place)
        best, index = Local("sink", self.plan.total), self.state.at(query)
        zero, one = self.number(0), self.number(1)
        total = apply("select", is_equal(best, LOWEST), zero, one)
        stores = Store(self.state.best, index, best), Store(self.state.total, index, total)
        return [*code, Let(best, cast(sink, self.plan.total)), *stores]

    def no_sums(self, queries: Dim) -> Statement:
        """No values have been added up."""
        sums = Store(self.state.sums, self.state.at(ROW, COLUMN), self.number(0))
        return each(ROW, queries, lanes(COLUMN, self.plan.value_width, sums))

    def weigh(self, find_best: For, top: Local, score: Load, query: Index) -> Code:
        """Scores of a query become weights, by a loop over the keys like `find_best`.

        That loop leaves the best of them in `top`. A query that has seen nothing yet is shifted by
        0, as -inf would make it NaN.
        """
        old, new, shift, decay, total, power = (
            Local(name, self.plan.total)
            for name in ("old", "new", "shift", "shrunk", "added", "power")
        )
        state = self.state
        weights = (
            Let(power, apply("exp", apply("sub", score, shift))),
            Store(score.buffer, score.index, power),
            Update(total, power),
        )
        before = apply("mul", Load(state.total, query), decay)
        return [
            find_best,
            Let(old, Load(state.best, query)),
            Let(new, apply("maximum", top, old)),
            Let(shift, apply("select", is_equal(new, LOWEST), self.number(0), new)),
            Let(decay, apply("exp", apply("sub", old, shift))),
            replace(find_best, body=weights, accumulators=(Accumulator(total, "add"),)),
            Store(state.best, query, new),
            Store(state.decay, query, decay),
            Store(state.total, query, apply("add", before, total)),
        ]

    def added(self, tile: Buffer, query: Dim, column: Dim) -> Store:
        """The sums at the loops' row and column with those of one more block."""
        place = self.state.at(query + Dim.of(ROW), column + Dim.of(COLUMN))
        before = apply("mul", Load(self.state.sums, place), Load(self.state.decay, place[:-1]))
        found = Load(tile, (Dim.of(ROW), Dim.of(COLUMN)))
        return Store(self.state.sums, place, apply("add", before, found))

    # --- result -------------------------------------------------------------------------------

    def finish(self, place: Index) -> Code:
        """Stores a row, the loops' one; `place` is the index of its element at COLUMN."""
        total = Load(self.state.total, self.state.at(ROW))
        factor, one = Local("factor", self.plan.total), self.number(1)
        nonzero = apply("select", is_equal(total, 0), self._unseen(), total)
        row = lanes(COLUMN, self.plan.value_width, *self._stores(place, factor))
        return [Let(factor, apply("div", one, nonzero)), row]

    def _unseen(self) -> Scalar:
        """What a query that saw nothing is divided by: its sums are 0, and 0/0 is NaN.

        Without keys there is nothing to add up, which is 0 by any definition.
        """
        one, attrs = self.number(1), self.plan.form.attrs
        if not isinstance(attrs, AttentionAttrs) or attrs.unseen == "zeros":
            return one
        return Guard((LessEqual(Dim.of(1), self.plan.keys),), self.number(0), one)

    def _stores(self, place: Index, factor: Local) -> Code:
        """What the region makes of an element of the attention."""
        form = self.plan.form
        given = {form.node.result(): self.state.sums}
        low = Lowering(self.plan.region, self.inputs, self.scope, given)
        stores: Code = []
        results = zip(self.outputs, self.plan.region.results, form.orders, strict=True)
        for y, value, order in results:
            index = tuple(own_axes(place, len(order))[axis] for axis in order)
            stores.append(Store(y, index, low.at(value, index)))
        return [*(self._at_row(s, factor) for s in low.levels[0].body), *stores]

    def _at_row(self, statement: Statement, factor: Local) -> Statement:
        """Lowering asks for the sums by the index they have in the whole result."""
        match statement:
            case Let(local, Load(buffer, _)) if buffer == self.state.sums:
                row = Load(self.state.sums, self.state.at(ROW, COLUMN))
                return Let(local, Apply("mul", (row, factor), local.dtype))
            case _:
                return statement
