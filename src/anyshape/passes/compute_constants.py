"""What depends on constants alone is computed when compiling, and is a constant from then on.

    x @ (w * scale).mT        the product reads w * scale, in panels like any other weight

`fold` has evaluated small constants, for laws that look at them. This pass takes what is left, of
any size, and hands all of it as one graph to whoever compiles: the kernels that would have computed
it on every call compute it once, and results stay bit for bit what they were. Memory is bounded:
all pieces together hold at most `growth` of the weights more than the weights that they replace.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from anyshape.base.errors import EvaluationError
from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.rewrite import Decision
from anyshape.ir.rewrite.rebuild import Rebuilder, rebuild_graph
from anyshape.ir.types import Array
from anyshape.passes.constant_work import (
    Piece,
    constant_pieces,
    value_bytes,
    weight_bytes,
    weights_of,
)
from anyshape.passes.infra import PassContext
from anyshape.sym import Facts


@dataclass(frozen=True)
class ComputeConstants:
    """Computes what needs no input once, when compiling."""

    growth: float = 0.25
    name: str = "constants"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        pieces = constant_pieces(graph)
        if not pieces:
            return graph
        taken = self._within_bound(pieces, graph, ctx)
        arrays = self._computed(taken, graph, ctx)
        new = rebuild_graph(_Settled(arrays), graph)
        return replace(new, weights=new.weights.subset(weights_of(new.body)))

    def _within_bound(self, pieces: Sequence[Piece], graph: Graph, ctx: PassContext) -> list[Piece]:
        """Those that the bound on memory allows: first what needs none."""
        held = sum(map(weight_bytes, set(weights_of(graph.body))))
        most = left = int(held * self.growth)
        taken: list[Piece] = []
        for piece in sorted(pieces, key=lambda each: each.growth):
            objection = _objection(piece, left, most)
            if objection:
                self._decide(False, objection, piece.roots, graph, ctx)
            else:
                left -= max(0, piece.growth)
                taken.append(piece)
        return taken

    def _computed(
        self, pieces: Sequence[Piece], graph: Graph, ctx: PassContext
    ) -> Mapping[Value, Array]:
        roots = tuple(root for piece in pieces for root in piece.roots)
        if not roots:
            return {}
        body = Region((), roots, Facts())
        weights = graph.weights.subset(weights_of(body))
        constants = Graph(f"{graph.name}.constants", (), body, weights, graph.locations)
        try:
            arrays = ctx.compute(constants)
        except EvaluationError as error:  # the same will be told when it runs
            self._decide(False, f"{error.op}: {error.problem}", roots, graph, ctx)
            return {}
        for piece in pieces:
            self._decide(True, _gain(piece), piece.roots, graph, ctx)
        return dict(zip(roots, arrays, strict=True))

    def _decide(
        self, taken: bool, why: str, roots: Iterable[Value], graph: Graph, ctx: PassContext
    ) -> None:
        for root in roots:
            location = graph.locations.of(root.node)
            ctx.decisions.record(Decision(self.name, taken, why, root.node, location))


def _objection(piece: Piece, left: int, most: int) -> str | None:
    if piece.growth <= 0:
        return None
    if not piece.pays:
        return f"it saves cheap ops only, and would hold {piece.growth} bytes more"
    if piece.growth <= left:
        return None
    return f"it would hold {piece.growth} bytes more, and {left} of {most} are left"


def _gain(piece: Piece) -> str:
    held = sum(map(value_bytes, piece.roots))
    freed = sum(map(weight_bytes, piece.frees))
    return f"computed once: {held} bytes in place of {freed}"


class _Settled(Rebuilder):
    """Puts constants in the place of what was computed."""

    def __init__(self, arrays: Mapping[Value, Array]) -> None:
        self.arrays = arrays
        self.results: dict[Node, tuple[Value, ...]] = {}  # of a new node, those of the old one

    def rebuilt(self, node: Node, operands: tuple[Value, ...], builder: Builder) -> Node:
        new = super().rebuilt(node, operands, builder)
        self.results[new] = node.results
        return new

    def replace(self, node: Node, builder: Builder) -> tuple[Value, ...]:
        pairs = zip(self.results.pop(node), node.results, strict=True)
        return tuple(
            builder.constant(self.arrays[old]) if old in self.arrays else new for old, new in pairs
        )
