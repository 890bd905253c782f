"""Attention in primitives: a softmax between two products, and what makes its scores of the first.

    products -> elementwise ops -> softmax along the keys -> products with the values

Between the first product and the softmax each op is a *step*, and `STEPS` says which ops may be
one: scales, a cap by tanh, masks that are added or select, conversions, and other arrangements of
the axes before masks. A step also names the operand that the score comes in through.

A *sink* is one more column of scores, behind the others or before them, whose weights are cut off
again before the second product.

A softmax is the compound, or `exp(x - max(x)) / sum(exp(x - max(x)))` by hand. Without the maximum
it would overflow where attention does not, so that is no softmax here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from anyshape.analysis.cuts import only_cut
from anyshape.ir.node import Node, Value
from anyshape.ir.opdef import AnyOp
from anyshape.ir.rewrite import Refusal
from anyshape.ops.compound import softmax
from anyshape.ops.elementwise import div, exp, mul, select, sub, tanh
from anyshape.ops.known import ADD, BROADCAST, CAST, CONCAT, DOT, RESHAPE, SUM, TRANSPOSE
from anyshape.ops.movement import AxisAttrs
from anyshape.ops.reduce import ReduceAttrs, max_
from anyshape.sym import Dim

MOST_STEPS = 24
"""Of a score. What is longer is no attention that anybody writes."""


@dataclass(frozen=True, slots=True)
class Softmax:
    """A softmax along the last axis: what it is of, and the nodes that it consists of."""

    scores: Value
    weights: Value
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """An op between the first product and the softmax, and the operand that is the score."""

    node: Node
    position: int

    @property
    def score(self) -> Value:
        return self.node.operands[self.position]

    @property
    def others(self) -> tuple[Value, ...]:
        operands = self.node.operands
        return (*operands[: self.position], *operands[self.position + 1 :])


@dataclass(frozen=True, slots=True)
class Scores:
    """The first product, and the steps from it to the softmax in their order."""

    product: Node
    steps: tuple[Step, ...]


# --- softmax --------------------------------------------------------------------------------------


def softmax_of(weights: Value) -> Softmax | None:
    """The softmax along the last axis that computes `weights`."""
    node, last = weights.node, weights.tensor.rank - 1
    if node.op is softmax:
        is_last = node.attrs_as(AxisAttrs).axis == last
        return Softmax(node.operands[0], weights, (node,)) if is_last else None
    return _by_hand(node, last)


def _by_hand(node: Node, last: int) -> Softmax | None:
    """Of `power / sum(power)` with `power = exp(x - max(x))`."""
    if node.op is not div:
        return None
    power, total = node.operands
    added = _reduced(total, SUM, last)
    if power.node.op is not exp or added is None or added.operands[0] != power:
        return None
    (shifted,) = power.node.operands
    if shifted.node.op is not sub:
        return None
    scores, top = shifted.node.operands
    best = _reduced(top, max_, last)
    if best is None or best.operands[0] != scores:
        return None
    inside = (*_down_to(total, added), *_down_to(top, best))
    return Softmax(scores, node.result(), (node, power.node, shifted.node, *inside))


def _reduced(value: Value, op: AnyOp, last: int) -> Node | None:
    """The reduction along the last axis that `value` is, with that axis of size 1."""
    shape = value.tensor.shape
    while value.node.op in (RESHAPE, BROADCAST):
        (value,) = value.node.operands
    node = value.node
    if node.op is not op or node.attrs_as(ReduceAttrs).axes != (last,):
        return None
    rows = node.operands[0].tensor.shape
    is_spread = shape in ((*rows[:-1], 1), rows)
    return node if is_spread else None


def _down_to(value: Value, node: Node) -> Iterator[Node]:
    while value.node is not node:
        yield value.node
        (value,) = value.node.operands
    yield node


# --- sinks ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sink:
    """One more score for each query, and the nodes that add it to the others and cut it off."""

    scores: Value
    value: Value
    nodes: tuple[Node, ...]


def sink_of(cut: Node, softmax: Softmax) -> Sink | None:
    """The sink whose weights a slice of the softmax leaves out."""
    value, nodes = softmax.scores, list[Node]()
    while (inner := _unshifted(value)) is not None:
        value, passed = inner
        nodes += passed
    joined, removed = value.node, only_cut(cut)
    last = value.tensor.rank - 1
    if joined.op is not CONCAT or removed is None or removed.axis != last:
        return None
    if joined.attrs_as(AxisAttrs).axis != last or len(joined.operands) != 2:
        return None
    for scores, sink in (joined.operands, joined.operands[::-1]):
        first = Dim.of(0) if scores == joined.operands[0] else Dim.of(1)
        kept = removed.start == first and cut.result().tensor.shape == scores.tensor.shape
        if sink.tensor.shape[-1] == 1 and kept:
            return Sink(scores, sink, (cut, *nodes, joined))
    return None


def _unshifted(scores: Value) -> tuple[Value, tuple[Node, ...]] | None:
    """Scores before a conversion, or before their own maximum is subtracted: a softmax does that
    anyway."""
    node, last = scores.node, scores.tensor.rank - 1
    if node.op is CAST:
        return node.operands[0], (node,)
    if node.op is not sub:
        return None
    value, top = node.operands
    best = _reduced(top, max_, last)
    if best is None or best.operands[0] != value:
        return None
    return value, (node, *_down_to(top, best))


# --- scores ---------------------------------------------------------------------------------------

Positions = Callable[[Node], tuple[int, ...]]
"""Through which operands a score may come, the likelier first."""


def _first(node: Node) -> tuple[int, ...]:
    return (0,)


def _either(node: Node) -> tuple[int, ...]:
    return (0, 1)


def _branches(node: Node) -> tuple[int, ...]:
    return (1, 2)


STEPS: Final[dict[AnyOp, Positions]] = {
    mul: _either,
    div: _first,
    ADD: _either,
    sub: _first,
    select: _branches,
    tanh: _first,
    CAST: _first,
    RESHAPE: _first,
    TRANSPOSE: _first,
}
"""The ops that make a score of a product or of another score."""


def scores_of(value: Value) -> Scores | Refusal:
    """The product that scores come from. Values are looked at once, however often they are used."""
    reached: dict[Value, tuple[Step, ...]] = {value: ()}
    waiting = [value]
    while waiting:
        current = waiting.pop()
        node, steps = current.node, reached[current]
        if node.op is DOT:
            return Scores(node, steps)
        if node.op not in STEPS or len(steps) == MOST_STEPS:
            continue
        for position in reversed(STEPS[node.op](node)):
            operand = node.operands[position]
            keeps_size = operand.tensor.size == current.tensor.size
            if keeps_size and operand not in reached:
                reached[operand] = (Step(node, position), *steps)
                waiting.append(operand)
    return Refusal("its softmax is not of products")
