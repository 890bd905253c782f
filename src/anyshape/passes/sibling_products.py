"""Products of one value with several weights become one product, of which each reader has a part.

    q, k, v = x @ wq + bq, x @ wk + bk, x @ wv + bv        y = x @ [wq wk wv] + [bq bk bv]
    silu(x @ gate) * (x @ up)                               silu(y[:, :f]) * y[:, f:]

One step reads x once, and threads share all of its tasks. Parts are slices that are read where they
are (`slices_last`), or halves of the columns that the product's own epilogue puts together
(`families/dot/match.py`). `sibling_parts.py` says what stands against it.

Weights are joined here, as they are in memory, and are held once: the store reads the parts from
the whole. Joining changes no number: a missing bias is -0.0, a missing scale 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from anyshape.analysis.constants import is_constant
from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.literal import WeightRef, WeightStore
from anyshape.ir.node import Node, Value
from anyshape.ir.rewrite import Decision, Refusal
from anyshape.ir.rewrite.rebuild import Rebuilder, rebuild_graph
from anyshape.ir.types import Array
from anyshape.ops.known import SLICE
from anyshape.ops.movement import SliceAttrs, TransposeAttrs
from anyshape.ops.source import ConstantAttrs
from anyshape.passes.constant_work import weights_of
from anyshape.passes.infra import PassContext
from anyshape.passes.sibling_parts import (
    Part,
    Products,
    StoredProduct,
    are_aligned,
    array_of,
    stored_product,
)
from anyshape.sym import Dim

BIAS, SCALE = -0.0, 1.0
"""What changes no number."""


@dataclass(frozen=True)
class SiblingProducts:
    """Joins products that share an operand, and whose other operands are constants."""

    name: str = "sibling-products"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        products = Products(graph)
        halved = {product.dot: added for product, added in products.halved()}
        gated = {dot for dot, added in halved.items() if products.are_put_together(added or dot)}
        families: list[tuple[Part, ...]] = []
        for siblings in reversed(products.siblings()):  # readers of parts before these
            pairs = tuple(_halves(siblings, products))
            taken = {part.product.dot for pair in pairs for part in pair} | gated
            left = [each for each in siblings if each.dot not in taken]
            made = [*pairs, *self._read_in_place(left, products, graph, ctx)]
            products.join(made)
            families += made
        turned = set(products.halved_groups())
        if not families and not halved and not turned:
            return graph
        for family in families:
            self._decide(True, f"{len(family)} products are one", family[0].node, graph, ctx)
        new = rebuild_graph(_Joiner(families, halved, turned), graph)
        return replace(new, weights=new.weights.subset(weights_of(new.body)))

    def _read_in_place(
        self, siblings: Sequence[StoredProduct], products: Products, graph: Graph, ctx: PassContext
    ) -> Iterator[tuple[Part, ...]]:
        """Those of which readers read slices where they are."""
        parts: list[Part] = []
        for product in siblings:
            part = products.part(product)
            if isinstance(part, Refusal):
                self._decide(False, str(part), product.dot, graph, ctx)
            else:
                parts.append(part)
        if len(parts) > 1 and are_aligned(parts):
            yield tuple(parts)

    def _decide(self, taken: bool, why: str, node: Node, graph: Graph, ctx: PassContext) -> None:
        decision = Decision(self.name, taken, why, node, graph.locations.of(node))
        ctx.decisions.record(decision)


def _halves(siblings: Sequence[StoredProduct], products: Products) -> Iterator[tuple[Part, Part]]:
    """Pairs whose elements are put together by what follows both."""
    waiting: dict[Node, StoredProduct] = {}
    for second in siblings:
        behind = list(products.epilogue(second))
        first = next((waiting[node] for node in behind if node in waiting), None)
        if first is None or first.width != second.width:
            waiting |= dict.fromkeys(behind, second)
        else:
            yield Part(first, first.dot), Part(second, second.dot)
            waiting = {node: each for node, each in waiting.items() if each is not first}


class _Joiner(Rebuilder):
    """Makes the product of a family where the first of its products is."""

    def __init__(
        self,
        families: Sequence[tuple[Part, ...]],
        halved: Mapping[Node, Node | None],
        turned: Set[Node],
    ) -> None:
        self.halved = halved
        self.turned = turned
        self.biased = {node for node in halved.values() if node is not None}
        self.family_of = {part.product.dot: parts for parts in families for part in parts}
        self.part_of = {part.node: part for parts in families for part in parts}
        self.made: dict[Part, Value] = {}
        self.slices: set[Value] = set()  # that were made
        self.old: dict[Node, Node] = {}  # of which a new node was made

    def rebuilt(self, node: Node, operands: tuple[Value, ...], builder: Builder) -> Node:
        new = super().rebuilt(node, operands, builder)
        self.old[new] = node
        return new

    def replace(self, node: Node, builder: Builder) -> tuple[Value, ...]:
        old = self.old[node]
        family, part = self.family_of.get(old, ()), self.part_of.get(old)
        if family and family[0] not in self.made:
            whole = _joined(family, node.operands[0], builder)
            self.made |= zip(family, _slices(whole, family, builder), strict=True)
            self.slices |= {self.made[each] for each in family}
        if part is not None:
            return (self.made[part],)
        if old.op is SLICE and old.operands[0].node in self.biased:
            return (_with_own_bias(node, builder),)
        if old.op is SLICE and node.operands[0] in self.slices:
            return (_sliced_once(node, builder),)
        if old in self.turned:
            return (_in_memory(node, builder),)
        return _of_constant(node, builder) if old in self.halved else node.results


def _of_constant(node: Node, builder: Builder) -> tuple[Value, ...]:
    """A product without a transpose of its constant: panels of halves are stored ones."""
    product = stored_product(node)
    if product is None or node.operands[1].node is product.constant:
        return node.results
    weight, depth = product.constant.result(), node.operands[0].tensor.rank - 1
    axis = 0 if product.depth_first else 1
    return (builder.emit("dot", node.operands[0], weight, contract=[[depth], [axis]]),)


def _sliced_once(node: Node, builder: Builder) -> Value:
    """A slice of a part as a slice of the whole: parts have all elements between their bounds."""
    (part,) = node.operands
    first, second = part.node.attrs_as(SliceAttrs), node.attrs_as(SliceAttrs)
    starts = [a + b for a, b in zip(first.starts, second.starts, strict=True)]
    stops = [a + b for a, b in zip(first.starts, second.stops, strict=True)]
    whole = part.node.operands[0]
    return builder.emit("slice", whole, starts=starts, stops=stops, steps=second.steps)


def _in_memory(node: Node, builder: Builder) -> Value:
    """A transposed constant in that order: grouped products contract one axis only."""
    perm, constant = node.attrs_as(TransposeAttrs).perm, node.operands[0].node
    turned = array_of(constant, builder.weights).transpose(perm)
    made = builder.constant(np.ascontiguousarray(turned))
    order = tuple(map(int, np.argsort(perm)))
    value = constant.attrs_as(ConstantAttrs).value
    if isinstance(value, WeightRef):
        read = partial(_transposed, _alone(made, builder), made.node, order)
        builder.weights.move(value, read)
    return made


def _transposed(store: WeightStore, made: Node, order: tuple[int, ...]) -> Array:
    return np.ascontiguousarray(array_of(made, store).transpose(order))


def _alone(constant: Value, builder: Builder) -> WeightStore:
    """A store that holds one weight, and keeps no others alive."""
    content = constant.node.attrs_as(ConstantAttrs).value
    return builder.weights.subset([content] if isinstance(content, WeightRef) else [])


def _with_own_bias(node: Node, builder: Builder) -> Value:
    """Half of a product with a bias as half of the product, with half of the bias."""
    attrs, (total,) = node.attrs_as(SliceAttrs), node.operands
    dot, bias = sorted(total.node.operands, key=is_constant)
    columns = slice(int(attrs.starts[-1]), int(attrs.stops[-1]))
    own = builder.constant(array_of(bias.node, builder.weights)[columns])
    return builder.emit("add", builder.node(node.op, [dot], attrs).result(), own)


def _joined(parts: Sequence[Part], x: Value, builder: Builder) -> Value:
    """The product of all of them, with what each of them has behind it."""
    weights = _joined_weights([part.product for part in parts], builder)
    whole = builder.emit("dot", x, weights, contract=[[x.tensor.rank - 1], [1]])
    store = builder.weights
    if any(part.bias for part in parts):
        numbers = [part.numbers(part.bias, BIAS, store) for part in parts]
        whole = builder.emit("add", whole, builder.constant(np.concatenate(numbers)))
    if any(part.scale for part in parts):
        numbers = [part.numbers(part.scale, SCALE, store) for part in parts]
        whole = builder.emit("mul", whole, builder.constant(np.concatenate(numbers)))
    return whole


def _joined_weights(products: Sequence[StoredProduct], builder: Builder) -> Value:
    """[columns, depth]; the store has each of the weights as some columns of it from now on."""
    rows = [product.rows(builder.weights) for product in products]
    whole = builder.constant(np.concatenate(rows))
    store, first = _alone(whole, builder), 0
    for product in products:
        last = first + product.width
        product.move(builder.weights, partial(_rows_of, store, whole.node, first, last))
        first = last
    return whole


def _rows_of(store: WeightStore, whole: Node, first: int, last: int) -> Array:
    return array_of(whole, store)[first:last]


def _slices(whole: Value, parts: Sequence[Part], builder: Builder) -> Iterator[Value]:
    shape, first = whole.tensor.shape, 0
    steps, zeros = [1] * len(shape), [Dim.of(0)] * (len(shape) - 1)
    for part in parts:
        last = first + part.product.width
        starts, stops = [*zeros, Dim.of(first)], [*shape[:-1], Dim.of(last)]
        yield builder.emit("slice", whole, starts=starts, stops=stops, steps=steps)
        first = last
