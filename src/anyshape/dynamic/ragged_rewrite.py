"""A padded encoder as a ragged one: the same results for every token, and no padding.

The captured graph is walked once. Each value becomes one of the places of `ragged_places.py`; an op
for which no rule here proves that tokens keep what they had is refused by name. Rules say

    elementwise, rows, products with weights, reshapes, transposes    tokens stay where they are
    positions, and tables that are cut to the length                  are read by token
    the mask, in any arithmetic with numbers                          is two numbers
    attention under the mask                                          attention within segments
    sums and maxima under the mask                                    sums and maxima of segments

A padded query or key is nothing that a sequence alone would have: that a softmax gives no weight to
keys under a mask of -1e30 or less is taken as given, as it is wherever scores are not that small.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from anyshape.base.errors import RaggedModelError
from anyshape.dynamic.ragged_places import Count, Free, Mask, Place, Rows, Size, Tokens
from anyshape.dynamic.ragged_pooling import SegmentRules
from anyshape.frontend.builder.checks import (
    RegionChecks,
    graph_with_checks,
    offence_so_far,
)
from anyshape.frontend.builder.movement import gather
from anyshape.frontend.builder.ragged import check_offsets
from anyshape.frontend.builder.tensor import Tensor
from anyshape.ir.attrs import attr_dims, map_dims
from anyshape.ir.checks import ValueCheck
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node
from anyshape.ir.opdef import PARAM, Trait, param_index
from anyshape.ir.types import TensorType, i64
from anyshape.ops import checks, cumulative, source
from anyshape.ops.known import (
    ATTENTION,
    BROADCAST,
    CONCAT,
    DOT,
    GATHER,
    IOTA,
    RESHAPE,
    SLICE,
    TAKE_ALONG,
    TRANSPOSE,
)
from anyshape.ops.movement import ShapeAttrs, SliceAttrs
from anyshape.ops.reduce import ReduceAttrs
from anyshape.ops.source import DimAttrs, IotaAttrs
from anyshape.passes.expand import Expand
from anyshape.passes.infra import run_passes
from anyshape.passes.known_indices import KnownIndices
from anyshape.passes.pipeline import SIMPLIFY
from anyshape.passes.recognise_attention import RecogniseAttention
from anyshape.sym import Broadcastable, Dim, Less, LessEqual, Symbol, minimum
from anyshape.sym.factor import Min

BEFORE: Final = (Expand(), *SIMPLIFY, KnownIndices(), RecogniseAttention())
"""What brings a captured graph into the few ops that there are rules for."""


@dataclass(frozen=True, slots=True)
class RaggedGraph:
    """The graph, its inputs that are packed, and which of its results are rows of tokens."""

    graph: Graph
    packed: frozenset[str]
    offsets: str
    of_tokens: tuple[bool, ...]


def ragged_graph(graph: Graph, seq: str, mask: str) -> RaggedGraph:
    """The graph with the axis `seq` packed; `mask` is its input that tells tokens from padding."""
    simple = run_passes(graph, BEFORE).graph
    return _Rewriter(simple, Symbol(seq), _over(simple, Symbol(seq)), mask).run()


def _over(graph: Graph, seq: Symbol) -> Symbol:
    """The axis that counts sequences: the one before `seq` in the inputs."""
    for type_ in graph.body.params:
        shape = type_.shape if isinstance(type_, TensorType) else ()
        if len(shape) >= 2 and shape[1].symbol == seq and shape[0].symbol is not None:
            return shape[0].symbol
    known = ", ".join(axis.name for axis in graph.axes) or "none"
    raise RaggedModelError(
        graph.name,
        f"no input has an axis '{seq}' behind one that counts sequences (axes: {known})",
        f'name them: axes={{"input_ids": ("batch", "{seq}")}}',
    )


class _Rewriter(SegmentRules):
    """One walk over the padded graph."""

    def run(self) -> RaggedGraph:
        with self.tracer.active():
            names, packed = self._inputs()
            chain = self.tracer.analysis(RegionChecks)
            chain.all += [self._of_tokens(check) for check in self.graph.checks]
            self.known_offsets = self.tracer.param(TensorType(i64, (Dim.of(self.over) + 1,)))
            check_offsets(f"{self.seq}.offsets", self.total, self.offsets)
            self._check_range()
            self._check_facts()
            for node in self.graph.nodes():
                if node.op is not PARAM:
                    self.location = self.graph.locations.of(node)
                    self._visit(node)
            self.location = None
            results = self.graph.results[: -1 if self.graph.checks else None]
            found = [self._result(self.places[value]) for value in results]
            name = f"{self.seq}.offsets"
            tensors = [tensor for tensor, _ in found]
            made = graph_with_checks(self.tracer, self.graph.name, [*names, name], tensors)
        return RaggedGraph(made, packed, name, tuple(is_tokens for _, is_tokens in found))

    def _inputs(self) -> tuple[list[str], frozenset[str]]:
        names: list[str] = []
        packed: set[str] = set()
        params = [node for node in self.graph.nodes() if node.op is PARAM]
        known = {param_index(node): node.result() for node in params}
        for number, (name, type_) in enumerate(
            zip(self.graph.inputs, self.graph.body.params, strict=True)
        ):
            assert isinstance(type_, TensorType), "a captured graph has tensors only"
            value = known.get(number)
            place = self._input(name, type_)
            if name != self.mask:
                names.append(name)
            if isinstance(place, Tokens):
                packed.add(name)
            if value is not None:
                self.places[value] = place
        if self.mask not in self.graph.inputs:
            inputs = ", ".join(self.graph.inputs)
            raise self.refusal(
                f"there is no input '{self.mask}' that tells tokens from padding ({inputs})",
                "pass it in the example call",
            )
        return names, frozenset(packed)

    def _input(self, name: str, type_: TensorType) -> Place:
        shape = type_.shape
        is_packed = [dim.symbol for dim in shape[:2]] == [self.over, self.seq]
        if name == self.mask:
            if not is_packed or len(shape) != 2:
                raise self.refusal(f"the mask '{name}' is {type_}, not [{self.over}, {self.seq}]")
            numbers = (np.ones((), type_.dtype.numpy), np.zeros((), type_.dtype.numpy))
            return Mask(*numbers, 2, 0, 1)
        if is_packed and not self._depends(shape[2:]):
            tensor = self.tracer.param(type_.with_shape((self.total, *shape[2:])))
            return Tokens(tensor.reshape(1, self.total, *shape[2:]), 0, 1)
        if self._depends(shape):
            raise self.refusal(f"input '{name}' is {type_}, not [{self.over}, {self.seq}, ...]")
        return Free(self.tracer.param(type_))

    def _of_tokens(self, check: ValueCheck) -> ValueCheck:
        return replace(check, shape=tuple(map(self._packed, check.shape)))

    def _check_range(self) -> None:
        """Lengths that the padded axis allows."""
        axis = self.graph.facts.axis(self.seq)
        if axis.min > 1 or axis.multiple_of > 1 or len(tuple(axis.ranges)) > 1:
            raise self.refusal(
                f"axis '{axis}' allows some lengths only", f'declare ash.Axis("{self.seq}", max=…)'
            )
        if axis.max is not None:
            self._check_length(Dim.of(axis.max), "length")

    def _check_facts(self) -> None:
        """What ops need of the padded length holds for the length of each sequence. That there is
        a token is not needed where there is none."""
        seq = Dim.of(self.seq)
        for fact in self.graph.facts.facts:
            match fact.predicate:
                case predicate if self.seq not in predicate.symbols:
                    pass
                case LessEqual(left, right) if left == seq and right.is_constant:
                    self._check_length(right, "length")
                case Less(left, right) if left == seq and right.is_constant:
                    self._check_length(right - 1, "length")
                case LessEqual(left, right) if right == seq and left.constant in (0, 1):
                    pass
                case Broadcastable(left, right) if (most := _most(left, right, seq)) is not None:
                    self._check_length(Dim.of(most), "length")
                case predicate:
                    raise self.refusal(f"'{predicate}' is needed of the padded length")

    def _result(self, place: Place) -> tuple[Tensor, bool]:
        match place:
            case Tokens(tensor, 0, 1):
                return tensor.reshape(*tensor.shape[1:]), True
            case Free(tensor) | Rows(tensor, 0):
                return tensor, False
            case _:
                raise self.refusal("a result has no row for each token, and none for each sequence")

    def _visit(self, node: Node) -> None:
        given = [self.places[value] for value in node.operands]
        if node.op is checks.first_outside:
            self._check(node, given)
        elif node.regions or len(node.results) != 1:
            self._keep(node, given)
        else:
            self.places[node.result()] = self._place(node, given)

    def _keep(self, node: Node, given: Sequence[Place]) -> None:
        """An op with several results, where it has nothing to do with tokens."""
        free = all(isinstance(place, Free) for place in given)
        if not free or node.regions or self._mentions(node):
            raise self._unknown(node)
        made = self.tracer.node(node.op.name, self._values(given), node.attrs)
        self.places.update(zip(node.results, map(Free, made), strict=True))

    def _mentions(self, node: Node) -> bool:
        """Whether a node has sizes of the padded batch."""
        shapes = (type_.shape for type_ in node.types if isinstance(type_, TensorType))
        return self._depends([*attr_dims(node.attrs), *(dim for shape in shapes for dim in shape)])

    def _check(self, node: Node, given: Sequence[Place]) -> None:
        x = self._as_tensor(given[0])
        attrs = map_dims(node.attrs, self._packed)
        values = [self.tracer.value(x.tensor), self.tracer.value(offence_so_far())]
        made = self.tracer.node(node.op.name, values, attrs)[0]
        self.tracer.analysis(RegionChecks).last = made
        self.places[node.result()] = Free(made)

    def _place(self, node: Node, given: list[Place]) -> Place:
        if node.op is source.dim_value:
            dim = node.attrs_as(DimAttrs).value
            if self._depends((dim,)):
                return Size(dim, node.result().tensor.dtype)
        if node.op is IOTA and self._depends(node.attrs_as(IotaAttrs).shape):
            return self._iota(node)
        special = self._counted(node, given)
        if special is not None:
            return special
        given = [self._as_tensor(each) if isinstance(each, Count) else each for each in given]
        if all(isinstance(place, Free) for place in given):
            return self._of_free(node, given)
        rule = self._rule(node)
        if rule is None:
            raise self._unknown(node)
        return rule(node, given)

    def _rule(self, node: Node) -> Callable[[Node, list[Place]], Place] | None:
        rules = {
            RESHAPE: self._reshape,
            TRANSPOSE: self._transpose,
            BROADCAST: self._broadcast,
            DOT: self._dot,
            GATHER: self._gather,
            TAKE_ALONG: self._take_along,
            ATTENTION: self._attention,
            SLICE: self._slice,
            CONCAT: self._concat,
            cumulative.cumsum: self._running_total,
        }
        if node.op in rules:
            return rules[node.op]
        if node.op.has(Trait.ELEMENTWISE):
            return self._elementwise
        if node.op.has(Trait.ROWWISE):
            return self._rowwise
        return self._reduce if isinstance(node.attrs, ReduceAttrs) else None

    def _of_free(self, node: Node, given: Sequence[Place]) -> Place:
        if node.op is SLICE:
            cut = self._cut(node, given)
            if cut is not None:
                return cut
        if node.op is BROADCAST and self._depends(node.attrs_as(ShapeAttrs).shape):
            return self._broadcast(node, given)
        if self._mentions(node):
            raise self._unknown(node)
        return Free(self._kept(node, given))

    def _cut(self, node: Node, given: Sequence[Place]) -> Tokens | None:
        """A table that is cut to the padded length: read by position."""
        attrs, shape = node.attrs_as(SliceAttrs), node.operands[0].tensor.shape
        cut = [i for i, dim in enumerate(attrs.stops) if self.seq in dim.symbols]
        if len(cut) != 1:
            return None
        (axis,) = cut
        others = [i for i in range(len(shape)) if i != axis]
        whole = all(attrs.starts[i] == 0 and attrs.stops[i] == shape[i] for i in others)
        stops = Dim.of(self.seq), minimum(Dim.of(self.seq), shape[axis])
        if not whole or attrs.starts[axis] != 0 or set(attrs.steps) != {1}:
            return None
        if attrs.stops[axis] not in stops:
            return None
        self._check_length(shape[axis], node.op.name)
        table = self._as_tensor(given[0]).tensor
        return Tokens(gather(table, self.positions, axis=axis), None, axis)


def _most(left: Dim, right: Dim, seq: Dim) -> int | None:
    """The number n, if the two are `seq` and `min(seq, n)`."""
    other = left if right == seq else right
    args = other.factor.args if isinstance(other.factor, Min) and seq in (left, right) else ()
    numbers = [arg.constant for arg in args if arg != seq]
    return numbers[0] if len(numbers) == 1 and len(args) == 2 else None
