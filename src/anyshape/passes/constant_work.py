"""Work on constants alone: which values of a graph it makes, and what holding them would cost.

A value is *constant* if kernels compute it from constants, with sizes that are numbers. What others
read of such values is a *root*, unless it is no work to make it:

  - views of a constant (transposes, slices, broadcasts, widening casts) are read where they are;
    a root is what is below them;
  - a reshape is a name, except for contractions, which store a constant in panels of its own axes;
  - what cheap ops make of positions alone (`iota`) is made sooner than it is read.

Roots that share weights are one *piece*: it holds its roots, and lets go of weights that nothing
else needs. So what it costs in memory is a number that no other piece changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from anyshape.analysis.constants import weight_of
from anyshape.analysis.strided_view import is_view
from anyshape.ir.graph import Graph
from anyshape.ir.literal import WeightRef
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import Trait
from anyshape.ir.types import TensorType
from anyshape.ops.checks import CheckAttrs
from anyshape.ops.known import CONSTANT, IOTA, KERNEL
from anyshape.passes.native_forms import has_kernel, is_alias, is_loop


@dataclass(slots=True)
class Piece:
    """Roots that are computed together. `frees` are weights that nothing needs afterwards."""

    roots: dict[Value, None] = field(default_factory=dict[Value, None])  # in order, each once
    frees: list[WeightRef] = field(default_factory=list[WeightRef])
    pays: bool = False  # whether it saves more than cheap ops in a loop that reads a value anyway

    @property
    def growth(self) -> int:
        """Bytes that are held beyond those of the weights it replaces."""
        held = sum(map(value_bytes, self.roots))
        return held - sum(weight_bytes(weight) for weight in self.frees)


def constant_pieces(graph: Graph) -> list[Piece]:
    """All work on constants at the top level of a graph, in its order."""
    return _Finder(graph).pieces()


def weight_bytes(weight: WeightRef) -> int:
    return int(weight.type.size) * weight.dtype.itemsize


def value_bytes(value: Value) -> int:
    return int(value.tensor.size) * value.tensor.dtype.itemsize


def weights_of(region: Region) -> Iterator[WeightRef]:
    """The weights of a region's constants, inside other regions too; some more than once."""
    for node in region.nodes():
        weight = weight_of(node)
        if weight is not None:
            yield weight
        for inner in node.regions:
            yield from weights_of(inner)


class _Finder:
    """Walks a graph once; what it notes about a constant value follows from its operands."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.constants: set[Node] = set()
        self.costly: set[Node] = set()  # more than cheap ops were needed
        self.weighted: set[Node] = set()  # some weight was
        self.piece_of: dict[Node, Node] = {}  # towards a node that stands for all of its piece
        for node in graph.nodes():
            if all(v.node in self.constants for v in node.operands) and _is_computable(node):
                self._note(node)

    def pieces(self) -> list[Piece]:
        read = self._read()
        left: set[WeightRef] = set(self._in_regions())
        found: dict[Node, Piece] = {}
        for value, by_contraction in read.items():
            root = _below_views(value, by_contraction)
            if root.node.op is CONSTANT:
                left.update(filter(None, [weight_of(root.node)]))
            elif root.node in self.weighted or root.node in self.costly:
                piece = found.setdefault(self._representative(root.node), Piece())
                piece.roots.setdefault(root)
                piece.pays |= by_contraction or root.node in self.costly
        for node in self.constants:
            weight, piece = weight_of(node), found.get(self._representative(node))
            if weight is not None and piece is not None and weight not in left:
                piece.frees.append(weight)
        return list(found.values())

    # --- the walk -----------------------------------------------------------------------------

    def _note(self, node: Node) -> None:
        self.constants.add(node)
        operands = {value.node for value in node.operands}
        if _is_costly(node) or operands & self.costly:
            self.costly.add(node)
        if weight_of(node) is not None or operands & self.weighted:
            self.weighted.add(node)
        for operand in operands & self.weighted:  # numbers are in every piece
            self.piece_of[self._representative(operand)] = self._representative(node)

    def _representative(self, node: Node) -> Node:
        """Of a node's piece; the ways to it become shorter as they are gone."""
        while (above := self.piece_of.get(node, node)) is not node:
            self.piece_of[node] = self.piece_of.get(above, above)
            node = above
        return node

    def _read(self) -> Mapping[Value, bool]:
        """The constant values that others read, and whether a contraction does."""
        read = {v: False for v in self.graph.results if v.node in self.constants}
        for node in self.graph.nodes():
            if node not in self.constants:
                contracts = _contracts(node)
                for value in node.operands:
                    if value.node in self.constants:
                        read[value] = read.get(value, False) or contracts
        return read

    def _in_regions(self) -> Iterator[WeightRef]:
        """Weights that bodies of ops refer to by themselves."""
        for node in self.graph.nodes():
            for inner in node.regions:
                yield from weights_of(inner)


def _is_computable(node: Node) -> bool:
    """Whether kernels compute it, from its operands alone, at one size."""
    if node.op is CONSTANT:
        return True
    native = has_kernel(node) or is_alias(node) or node.op is KERNEL
    plain = not (node.op.has(Trait.EFFECT) or node.late or isinstance(node.attrs, CheckAttrs))
    tensors = all(isinstance(type_, TensorType) for type_ in node.types)
    return native and plain and tensors and not node.all_symbols


def _is_costly(node: Node) -> bool:
    if node.op in (CONSTANT, IOTA) or is_view(node) or is_alias(node):
        return False
    return is_loop(node) or not node.op.has(Trait.ELEMENTWISE) or not node.op.is_cheap


def _contracts(node: Node) -> bool:
    inside = (inner for region in node.regions for inner in region.nodes())
    nodes: Iterable[Node] = inside if node.op is KERNEL else (node,)
    return any(each.op.has(Trait.CONTRACTION) for each in nodes)


def _below_views(value: Value, by_contraction: bool) -> Value:
    """What is worth holding, if anything is: a view of it needs no memory."""
    while is_view(value.node) or (is_alias(value.node) and not by_contraction):
        value = value.node.operands[0]
    return value
