"""Slices move to where values are made: what nobody reads is not computed.

Text models compute the hidden states of all tokens, and then read one of them:

    h = h + mlp(norm(h))        [batch, seq, width]
    logits = norm(h)[:, -1:] @ words

Rows of norms, products, activations and sums are each for themselves, so the last layer may compute
the last row alone: the slice goes in front of all of these, up to where every row is needed, such
as for keys and values. This holds for every size, because bounds are dims. No value changes, and
what was required of sizes still is.
"""

from __future__ import annotations

from dataclasses import dataclass

from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import lookup
from anyshape.ir.rewrite import Decision
from anyshape.ir.rewrite.rebuild import Rebuilder, rebuild_graph
from anyshape.ops.known import SLICE
from anyshape.ops.movement import SliceAttrs
from anyshape.passes.canonicalize import Canonicalize
from anyshape.passes.independent_axes import attrs_for
from anyshape.passes.infra import PassContext
from anyshape.passes.needed_parts import COSTLY, Needs, needs_of
from anyshape.passes.ranges import WHOLE, Cut, Part, Window
from anyshape.sym import Dim

ROUNDS = 8
"""Axes of which one place is left make transposes reshapes, and slices that meet become one: both
may let slices go further. Few models have more than one round of it."""


@dataclass(frozen=True)
class Narrowing:
    """Computes of each value only the part that is read."""

    name: str = "narrowing"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        for _ in range(ROUNDS):
            narrower = rebuild_graph(_Narrower(self.name, ctx), graph)
            if narrower == graph:
                break
            graph = Canonicalize().run(narrower, ctx)
        return graph


class _Narrower(Rebuilder):
    def __init__(self, name: str, ctx: PassContext) -> None:
        self.name = name
        self.ctx = ctx
        self.needs = Needs({}, {}, {})  # of the region that is being rebuilt

    def region(self, region: Region, builder: Builder) -> Region:
        around, self.needs = self.needs, needs_of(region, builder.scope)
        new = super().region(region, builder)
        self.needs = around
        return new

    def rebuilt(self, node: Node, operands: tuple[Value, ...], builder: Builder) -> Node:
        read = self.needs.read[node]
        reads = any(read)
        sides = zip(node.operands, operands, read, strict=True)
        operands = tuple(self._reduced(*side, builder) for side in sides)
        if node.op is SLICE and reads:
            return operands[0].node  # a slice, or what computes no more than that
        computed = self.needs.computed[node]
        if not computed:
            return super().rebuilt(node, operands, builder)
        cuts = [Cut(node, axis, part, builder.scope) for axis, part in computed.items()]
        if node.op.traits & COSTLY:
            parts = ", ".join(f"{cut.part} of axis {cut.axis}" for cut in cuts)
            self._decide(True, f"only {parts} is needed", node, builder)
        return builder.node(node.op, operands, attrs_for(cuts))

    def _reduced(self, old: Value, new: Value, wanted: Window, builder: Builder) -> Value:
        """The parts of a value that are wanted, of which some may be all there is of it."""
        computed = self.needs.computed[old.node] if wanted else WHOLE
        missing = {axis: part for axis, part in wanted.items() if axis not in computed}
        if not missing:
            return new
        shape = new.tensor.shape
        parts = [missing.get(axis, Part(Dim.of(0), size)) for axis, size in enumerate(shape)]
        attrs = SliceAttrs(
            tuple(part.start for part in parts),
            tuple(part.stop for part in parts),
            tuple(part.step for part in parts),
        )
        made = builder.node(lookup("slice"), [new], attrs)
        if old.node.operands:  # there is something that it could have moved in front of
            reasons = dict.fromkeys(self.needs.objections[old.node, axis] for axis in missing)
            self._decide(False, "; ".join(reasons), made, builder)
        return made.result()

    def _decide(self, taken: bool, why: str, node: Node, builder: Builder) -> None:
        self.ctx.decisions.record(Decision(self.name, taken, why, node, builder.location))
