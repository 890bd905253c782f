"""Masks of attention that say how far a query sees, as bounds.

Models often compute where a query may look from positions, or keep a triangle for it:

    key <= query + offset                no key after the query: causality
    query - key < window                 none further back than that
    |query - key| <= distance            none further away

Kernels then skip the keys that nobody sees, and no mask is made. Of a conjunction, such as with a
mask of padding, the rest stays a mask. Either way a hidden score is minus infinity, so nothing
changes; and nothing may be added to it afterwards, as infinity and NaN would show.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce

from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Value
from anyshape.ir.rewrite import Decision
from anyshape.ir.rewrite.rebuild import Rebuilder, rebuild_graph
from anyshape.ir.types import bool_
from anyshape.ops.attention import AttentionAttrs, masks_and_sink
from anyshape.ops.known import ATTENTION, BROADCAST, LOGICAL_AND
from anyshape.passes.infra import PassContext
from anyshape.passes.mask_bands import Band, MaskBands
from anyshape.sym import Dim


@dataclass(frozen=True)
class CausalMasks:
    """Replaces masks that are bounds of what queries see by these bounds."""

    name: str = "causal-masks"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        return rebuild_graph(_Recogniser(self.name, ctx), graph)


class _Recogniser(Rebuilder):
    def __init__(self, name: str, ctx: PassContext) -> None:
        self.name = name
        self.ctx = ctx
        self.known: dict[tuple[Dim, Dim], MaskBands] = {}

    def replace(self, node: Node, builder: Builder) -> tuple[Value, ...]:
        if node.op is not ATTENTION or len(node.operands) < 4:
            return node.results
        attrs = node.attrs_as(AttentionAttrs)
        masks, sink = masks_and_sink(node.operands, attrs)
        settled = _up_to_last_addition(masks)
        if attrs.causal != "none" or attrs.hidden != -math.inf or settled == len(masks):
            return node.results
        parts = {mask: tuple(_conjuncts(mask)) for mask in masks[settled:]}
        bands = {part: self._band(part, node, builder) for own in parts.values() for part in own}
        bounds = _Bounds.of([band for band in bands.values() if band is not None])
        if bounds is None:
            return node.results
        rest = list(masks[:settled])
        for mask, own in parts.items():
            others = [part for part in own if not bounds.say(bands[part])]
            rest += [_together(others, mask, builder)] if others else []
        self.ctx.decisions.record(Decision(self.name, True, bounds.why, node, builder.location))
        operands = [*node.operands[:3], *rest, *([] if sink is None else [sink])]
        return builder.node(node.op, operands, bounds.in_attrs(attrs, node)).results

    def _band(self, part: Value, node: Node, builder: Builder) -> Band | None:
        queries, keys = (node.operands[n].tensor.shape[-2] for n in (0, 1))
        known = self.known.setdefault((queries, keys), MaskBands(queries, keys, builder.weights))
        return known.of(part)


def _up_to_last_addition(masks: tuple[Value, ...]) -> int:
    """How many masks there are up to the last that is added: after it, bounds may come last."""
    floats = [count for count, mask in enumerate(masks, 1) if mask.tensor.dtype != bool_]
    return floats[-1] if floats else 0


@dataclass(frozen=True, slots=True)
class _Bounds:
    """How far queries see."""

    low: Dim | None
    high: Dim | None

    @staticmethod
    def of(bands: list[Band]) -> _Bounds | None:
        """The first bound of either kind, if there is one."""
        low = next((band.low for band in bands if band.low is not None), None)
        high = next((band.high for band in bands if band.high is not None), None)
        return None if low is None and high is None else _Bounds(low, high)

    def say(self, band: Band | None) -> bool:
        """Whether a band is true wherever these bounds are."""
        if band is None:
            return False
        return band.low in (None, self.low) and band.high in (None, self.high)

    @property
    def why(self) -> str:
        if self.low is None:
            return "its mask hides the keys after each query"
        return "its mask hides the keys that are far from each query"

    def in_attrs(self, attrs: AttentionAttrs, node: Node) -> AttentionAttrs:
        queries, keys = (node.operands[n].tensor.shape[-2] for n in (0, 1))
        if self.high == 0:
            return replace(attrs, causal="top_left", low=self.low)
        if self.high == keys - queries:
            return replace(attrs, causal="bottom_right", low=self.low)
        return replace(attrs, low=self.low, high=self.high)


def _conjuncts(mask: Value) -> Iterator[Value]:
    """Conditions that all must hold, each once and in a shape of its own."""
    waiting, seen = [mask], set[Value]()
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        if value.node.op in (BROADCAST, LOGICAL_AND):
            waiting += reversed(value.node.operands)
        else:
            yield value


def _together(parts: list[Value], mask: Value, builder: Builder) -> Value:
    """All the conditions as one mask, which is as large as it has to be."""
    rest = reduce(lambda x, y: builder.emit("logical_and", x, y), parts)
    pairs = zip(reversed(rest.tensor.shape), reversed(mask.tensor.shape), strict=False)
    if all(size in (1, full) for size, full in pairs):
        return rest
    return builder.emit("broadcast", rest, shape=mask.tensor.shape)
