"""Attention written as products and a softmax, as the one op that it is.

    softmax(q @ k.mT / 8) @ v        ->  attention(q, k, v)

Kernels of attention keep no scores in memory. The rewrite changes rounding only: what is NaN or
infinite by the ops alone stays so, and a query all of whose scores are -inf gets NaN, as by a
softmax. Scales of queries, keys and scores become one number.

`attention_pattern.py` finds the ops, `attention_layout.py` arranges the operands; here steps of the
score become attributes and masks. Whatever does not fit is recorded with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from anyshape.analysis.constants import is_constant
from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Value
from anyshape.ir.rewrite import Decision, Refusal
from anyshape.ir.rewrite.rebuild import CountingRebuilder, rebuild_graph
from anyshape.ir.types import DType, Shape, wide_of
from anyshape.ops.attention import AttentionAttrs
from anyshape.ops.known import ATTENTION, BROADCAST, CAST, DOT, RESHAPE, SLICE, TRANSPOSE
from anyshape.passes.attention_layout import (
    Leading,
    Sides,
    below_views,
    reshaped,
    transposed,
    values_of,
    with_views,
)
from anyshape.passes.attention_pattern import (
    Scores,
    Sink,
    Softmax,
    scores_of,
    sink_of,
    softmax_of,
)
from anyshape.passes.attention_score import Score, without_factor
from anyshape.passes.infra import PassContext
from anyshape.sym import product


@dataclass(frozen=True)
class RecogniseAttention:
    """Makes `attention` of products around a softmax."""

    name: str = "attention"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        return rebuild_graph(_Recogniser(self.name, ctx), graph)


class _Recogniser(CountingRebuilder):
    def __init__(self, name: str, ctx: PassContext) -> None:
        super().__init__()
        self.name = name
        self.ctx = ctx

    def replace(self, node: Node, builder: Builder) -> tuple[Value, ...]:
        if node.op is not DOT:
            return node.results
        for position in range(2):
            weights = _Weights.of(node, position)
            if weights is not None:
                return self._decided(node, weights, builder)
        return node.results

    def _decided(self, node: Node, weights: _Weights, builder: Builder) -> tuple[Value, ...]:
        answer = self._attention(node, weights, builder)
        is_taken = isinstance(answer, Value)
        why = "a softmax between two products" if is_taken else answer.reason
        self.ctx.decisions.record(Decision(self.name, is_taken, why, node, builder.location))
        return (answer,) if is_taken else node.results

    def _attention(self, node: Node, weights: _Weights, builder: Builder) -> Value | Refusal:
        scores = scores_of(weights.scores)
        if isinstance(scores, Refusal):
            return scores
        if not self._are_used_once(weights, scores):
            return Refusal("its scores or weights are used elsewhere too")
        score = Score.of(scores, builder)
        if isinstance(score, Refusal):
            return score
        return _Attention(node, weights, score, builder).value()

    def _are_used_once(self, weights: _Weights, scores: Scores) -> bool:
        """Whether nothing but the ops of the attention reads what they make."""
        steps = [step.node for step in scores.steps]
        inside = [*weights.nodes, *weights.softmax.nodes, *steps, scores.product]
        own = [value.node for node in {*inside} for value in node.operands]
        within = {node: own.count(node) for node in inside}
        return all(self.uses[node] == max(1, within[node]) for node in inside)


@dataclass(frozen=True, slots=True)
class _Weights:
    """The operand of the second product that is a softmax, and the views between them; a slice is
    one if it leaves out a sink."""

    position: int
    softmax: Softmax
    nodes: tuple[Node, ...]
    sink: Sink | None = None

    @property
    def scores(self) -> Value:
        """Of products."""
        return self.softmax.scores if self.sink is None else self.sink.scores

    @staticmethod
    def of(node: Node, position: int) -> _Weights | None:
        value, nodes = node.operands[position], list[Node]()
        cuts = list[Node]()
        while value.node.op in (CAST, RESHAPE, SLICE):
            (cuts if value.node.op is SLICE else nodes).append(value.node)
            (value,) = value.node.operands
        found = softmax_of(value)
        if found is None or not cuts:
            return None if found is None else _Weights(position, found, tuple(nodes))
        sink = sink_of(cuts[0], found) if len(cuts) == 1 else None
        return sink and _Weights(position, found, (*nodes, *sink.nodes), sink)


# --- the op ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Attention:
    """All that is known of an attention, and how to build it."""

    node: Node  # the second product
    weights: _Weights
    score: Score
    builder: Builder

    @property
    def sides(self) -> Sides:
        assert self.score.sides is not None
        return self.score.sides

    @property
    def outer(self) -> Shape:
        """Leading axes of the weights as the second product has them."""
        return self.node.operands[self.weights.position].tensor.shape[:-2]

    def value(self) -> Value | Refusal:
        sides, outer, builder = self.sides, self.outer, self.builder
        is_same = outer == sides.leading
        if not is_same and (sides.groups or product(outer) != product(sides.batch)):
            return Refusal("its weights are reshaped, and heads share keys")
        count = len(sides.batch) if is_same else len(outer)
        values = values_of(self.node, self.weights.position, count, builder)
        if isinstance(values, Refusal):
            return values
        shape = (*sides.batch, *values.values.tensor.shape[-2:])
        given = reshaped(values.values, shape, builder)
        if any(is_constant(_base(value)) for value in (sides.keys, given)):
            return Refusal("its keys or values are weights, which products store for themselves")
        return self._of(given, values.order)

    def _of(self, values: Value, order: tuple[int, ...]) -> Value | Refusal:
        builder, sides = self.builder, self.sides
        dtype = self.node.result().tensor.dtype
        if not self._converts_within({dtype, wide_of(dtype)}):
            return Refusal(f"its scores are converted, and not between {dtype} and what it sums in")
        given = [as_dtype(value, dtype, builder) for value in (sides.queries, sides.keys)]
        queries, keys = given
        if queries is None or keys is None:
            return Refusal("its queries, keys and values have different dtypes")
        queries, factor = without_factor(queries, builder)
        keys, other = without_factor(keys, builder)
        attrs = self.score.attrs(factor * other)
        if attrs.scale is not None:
            for computed in self.score.factors:
                queries = builder.emit("mul", queries, computed)
        return self._built(queries, keys, values, attrs, order)

    def _converts_within(self, dtypes: set[DType]) -> bool:
        """Whether scores and weights have no other dtypes: then only rounding is left out."""
        steps = (step.node for step in self.score.steps)
        nodes = (*steps, *self.weights.nodes, *self.weights.softmax.nodes)
        return all(node.result().tensor.dtype in dtypes for node in nodes)

    def _built(
        self,
        queries: Value,
        keys: Value,
        values: Value,
        attrs: AttentionAttrs,
        order: tuple[int, ...],
    ) -> Value:
        builder, leading = self.builder, Leading.of(self.sides, self.builder.scope)
        operands = [
            leading.of_queries(queries, builder),
            leading.of_keys(keys, builder),
            leading.of_keys(values, builder),
            *(leading.of_mask(mask, builder) for mask in self.score.masks),
        ]
        if self.weights.sink is not None:
            sink = _unrepeated(self.weights.sink.value, queries.tensor.dtype)
            operands.append(leading.of_mask(sink, builder))
            attrs = replace(attrs, sink=True)
        mixed = builder.node(ATTENTION, operands, attrs).result()
        shape = (*self.outer, *mixed.tensor.shape[-2:])
        return transposed(reshaped(mixed, shape, builder), order, builder)


def as_dtype(value: Value, dtype: DType, builder: Builder) -> Value | None:
    """The value in this dtype, if that is what it was converted from."""
    if value.tensor.dtype == dtype:
        return value
    converted, views = below_views(value)
    if converted.node.op is not CAST or converted.tensor.dtype != wide_of(dtype):
        return None
    (given,) = converted.node.operands
    return with_views(given, views, builder) if given.tensor.dtype == dtype else None


def _unrepeated(sink: Value, dtype: DType) -> Value:
    """Before it is repeated and widened: attention does both, from the dtype of its queries."""
    node = sink.node
    while node.op is BROADCAST or (node.op is CAST and _is_widened(node, dtype)):
        (sink,) = node.operands
        node = sink.node
    return sink


def _is_widened(cast: Node, dtype: DType) -> bool:
    old, new = cast.operands[0].tensor.dtype, cast.result().tensor.dtype
    return old in (dtype, wide_of(dtype)) and wide_of(old) == new


def _base(value: Value) -> Value:
    while value.node.op in (TRANSPOSE, RESHAPE, BROADCAST, CAST):
        (value,) = value.node.operands
    return value
