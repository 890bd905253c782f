"""Constant folding: what depends on constants only is evaluated now, by the interpreter.

A node is worth replacing by its value when that saves work and does not cost memory:
  - values of more than `max_elements` are not computed;
  - `broadcast` and `iota` are rules for making elements, cheaper than the elements; they take part
    in evaluation, but their own results stay as they are unless small;
  - a weight that something else still needs is not stored a second time in another arrangement.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from anyshape.analysis.constants import weight_of
from anyshape.base.errors import EvaluationError
from anyshape.ir.attrs import attr_dims
from anyshape.ir.build import Builder
from anyshape.ir.digest import Digest
from anyshape.ir.graph import Graph
from anyshape.ir.interpret import Interpreter
from anyshape.ir.literal import INLINE_LIMIT
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import PARAM, ParamAttrs, Trait
from anyshape.ir.rewrite import Decision, DecisionLog, Rebuilder, rebuild_graph
from anyshape.ir.types import TOKEN, Array, TensorType, i8, i16, i32, u8
from anyshape.ops.known import BROADCAST, CAST, CONSTANT, IOTA
from anyshape.passes.infra import PassContext
from anyshape.sym import Dim, Facts

_GENERATORS = frozenset({BROADCAST, IOTA})


@dataclass(frozen=True)
class Fold:
    """Evaluates constant subgraphs whose results have at most `max_elements`."""

    max_elements: int = 1 << 16
    name: str = "fold"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        return rebuild_graph(_Folder(self.max_elements, graph, ctx.decisions), graph)


class _Folder(Rebuilder):
    """Evaluates as it walks; a value becomes a constant only where something else needs it."""

    def __init__(self, max_elements: int, graph: Graph, log: DecisionLog) -> None:
        self.max_elements = max_elements
        self.log = log
        self.machine = Interpreter(graph.weights, graph.locations)
        self.weight_uses = Counter(self._weights_used(graph.body))
        self.arrays: dict[Value, Array] = {}  # what is known of the new values

    def rebuilt(self, node: Node, operands: tuple[Value, ...], builder: Builder) -> Node:
        if not self._evaluated(node, operands, builder):
            operands = tuple(self._settled(value, builder) for value in operands)
        return super().rebuilt(node, operands, builder)

    def result(self, value: Value, builder: Builder) -> Value:
        return self._settled(value, builder)

    # --- evaluating ---------------------------------------------------------------------------

    def _evaluated(self, node: Node, operands: tuple[Value, ...], builder: Builder) -> bool:
        """Whether the results of `node` on `operands` are known now."""
        if not all(value in self.arrays for value in operands):
            return False
        new = Node.make(node.op, operands, node.attrs, node.types, node.regions, node.late)
        try:
            why_not = self._objection(new)
            found = () if why_not else self._evaluate(new)
        except EvaluationError as error:
            why_not, found = f"{error.op}: {error.problem}", ()
        if why_not and operands:  # symbolic sources are not worth a word
            self._record(False, why_not, new, builder)
        self.arrays.update(zip(new.results, found, strict=False))
        return not why_not

    def _objection(self, node: Node) -> str | None:
        """Why a node of constants is not to be evaluated."""
        if node.op is CONSTANT:
            return None
        if node.op.has(Trait.EFFECT) or node.regions or node.late or TOKEN in node.types:
            return "effects, regions and late axes are for run time"
        if any(not dim.is_constant for dim in _sizes(node)):
            return "its sizes are known at run time only"
        size = max((int(t.size) for t in node.types if isinstance(t, TensorType)), default=0)
        if size > self.max_elements:
            return f"{size} elements are more than max_elements={self.max_elements}"
        if size > INLINE_LIMIT and any(self._is_shared(value) for value in node.operands):
            return "the weight is used elsewhere too and would be stored twice"
        return None

    def _is_shared(self, value: Value) -> bool:
        weight = weight_of(value.node)
        return weight is not None and self.weight_uses[weight.digest] > 1

    def _evaluate(self, node: Node) -> tuple[Array, ...]:
        params = [_param(index, value) for index, value in enumerate(node.operands)]
        alone = Node.make(node.op, params, node.attrs, node.types)
        region = Region(tuple(param.type for param in params), alone.results, Facts())
        return self.machine.run(region, [self.arrays[value] for value in node.operands], {})

    def _weights_used(self, region: Region) -> Iterator[Digest]:
        """The digest of a weight for each place that goes on using it."""
        nodes = region.nodes()
        staying = [node for node in nodes if not self._becomes_small(node)]
        for value in (*region.results, *(value for node in staying for value in node.operands)):
            if weight := weight_of(value.node):
                yield weight.digest
        for node in nodes:
            for inner in node.regions:
                yield from self._weights_used(inner)

    def _becomes_small(self, node: Node) -> bool:
        """Whether it is a few elements of constants, evaluated whoever else needs these."""
        sizes = (t.size for t in node.types if isinstance(t, TensorType))
        are_constants = all(value.node.op is CONSTANT for value in node.operands)
        is_small = all(size.constant is not None and int(size) <= INLINE_LIMIT for size in sizes)
        return are_constants and is_small and self._objection(node) is None

    # --- constants ----------------------------------------------------------------------------

    def _settled(self, value: Value, builder: Builder) -> Value:
        """What a node that is not evaluated takes as operand in place of `value`."""
        node = value.node
        if value not in self.arrays or node.op is CONSTANT:
            return value
        array = self.arrays[value]
        if array.size > INLINE_LIMIT and (node.op in _GENERATORS or _widens_bytes(node)):
            operands = tuple(self._settled(operand, builder) for operand in node.operands)
            return super().rebuilt(node, operands, builder).result(value.index)
        self._record(True, f"it is constant: {value.type}", node, builder)
        return builder.constant(array)

    def _record(self, taken: bool, why: str, node: Node, builder: Builder) -> None:
        place = builder.locations.of(node)
        self.log.record(Decision("fold", taken, why, node, place))


def _widens_bytes(node: Node) -> bool:
    """Kernels read bytes as wider integers: a constant of these would be four times as large, and
    no product of bytes."""
    if node.op is not CAST or node.result().tensor.dtype is not i32:
        return False
    return node.operands[0].tensor.dtype in (i8, u8, i16)


def _param(index: int, value: Value) -> Value:
    return Node.make(PARAM, (), ParamAttrs(index), (value.type,)).result()


def _sizes(node: Node) -> list[Dim]:
    shapes = [type_.shape for type_ in node.types if isinstance(type_, TensorType)]
    return [*attr_dims(node.attrs), *(dim for shape in shapes for dim in shape)]
