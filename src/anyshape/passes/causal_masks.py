"""Masks of attention that say how far a query sees, as bounds.

Models often compute where a query may look from positions, or keep a triangle for it:

    key <= query + offset                no key after the query: causality
    query - key < window                 none further back than that
    |query - key| <= distance            none further away

Kernels then skip the keys that nobody sees, and no mask is made. Of a conjunction, such as with a
mask of padding, the rest stays a mask. Where a mask replaces scores by -inf nothing may be added to
them afterwards, as infinity and NaN would show.

Masks that are added (`triu(full(-inf), 1)`), and finite numbers in place of -inf, are bounds too:
attention says by what they hide, and its kernels look whether that makes a difference
(`families/attention/checked_sight.py`). A finite number hides nothing from a query that sees no
other key, so each must see one, by its position alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from anyshape.families.attention.sight import sees_a_key
from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Value
from anyshape.ir.rewrite import Decision, Refusal
from anyshape.ir.rewrite.rebuild import Rebuilder, rebuild_graph
from anyshape.ir.types import bool_
from anyshape.ops.attention import AttentionAttrs, masks_and_sink
from anyshape.ops.elementwise import logical_not, logical_or
from anyshape.ops.known import ATTENTION, BROADCAST, LOGICAL_AND
from anyshape.passes.added_masks import choice_of
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
        if attrs.causal != "none" or (attrs.low, attrs.high) != (None, None):
            return node.results
        queries, keys = (node.operands[n].tensor.shape[-2] for n in (0, 1))
        bands = self.known.setdefault((queries, keys), MaskBands(queries, keys, builder.weights))
        masks = Masks(node, bands, builder)
        found = masks.replacing() or masks.added()
        if found is None:
            return node.results
        is_taken = isinstance(found, Value)
        why = masks.why if is_taken else found.reason
        self.ctx.decisions.record(Decision(self.name, is_taken, why, node, builder.location))
        return (found,) if is_taken else node.results


@dataclass
class Masks:
    """The masks of one attention, and what becomes of them."""

    node: Node
    bands: MaskBands
    builder: Builder
    why: str = ""

    @property
    def attrs(self) -> AttentionAttrs:
        return self.node.attrs_as(AttentionAttrs)

    @property
    def masks(self) -> tuple[Value, ...]:
        return masks_and_sink(self.node.operands, self.attrs)[0]

    def replacing(self) -> Value | Refusal | None:
        """Masks that replace scores, after the last that is added; None if they are no bounds."""
        masks, attrs = self.masks, self.attrs
        settled = _up_to_last_addition(masks)
        parts = {mask: tuple(_conjuncts(mask, self.builder)) for mask in masks[settled:]}
        found = {part: self.bands.of(part) for own in parts.values() for part in own}
        bounds = _Bounds.of([band for band in found.values() if band is not None])
        if bounds is None:
            return None
        rest = list(masks[:settled])
        for mask, own in parts.items():
            others = [part for part in own if not bounds.say(found[part])]
            rest += [_together(others, mask, self.builder)] if others else []
        if attrs.hidden == -math.inf:
            return self._built(bounds, rest, attrs)
        visible = replace(attrs, hidden=-math.inf)
        return self._if_zero(attrs.hidden, bounds, rest) or self._built(
            bounds, rest, replace(visible, outside=attrs.hidden)
        )

    def added(self) -> Value | Refusal | None:
        """A mask that is added, the last of those that are bounds; None if there is none."""
        masks = self.masks
        for place in reversed(range(len(masks))):
            hiding = self._hiding(masks[place])
            if hiding is None:
                continue
            number, bounds, others = hiding
            if number == -math.inf and self._replaces_after(place):
                return Refusal("its mask adds -inf, and another replaces scores after it")
            rest = [*masks[:place], *self._added_rest(others, masks[place]), *masks[place + 1 :]]
            attrs = replace(self.attrs, outside=number, adds=True)
            refusal = None if number == -math.inf else self._if_zero(number, bounds, rest)
            return refusal or self._built(bounds, rest, attrs)
        return None

    def _hiding(self, mask: Value) -> tuple[float, _Bounds, list[Value]] | None:
        """The number that a mask adds out of sight, the sight, and conditions beside it."""
        if not mask.tensor.dtype.is_float:
            return None
        choice = choice_of(mask)
        if choice is None:
            stored = self.bands.stored(mask)
            bounds = _Bounds.of([stored[0]]) if stored else None
            return (stored[1], bounds, []) if stored and bounds else None
        seen, number = choice.condition, choice.hidden
        if choice.hidden == 0:
            seen, number = self.builder.emit("logical_not", seen), choice.seen
        if 0 not in (choice.seen, choice.hidden) or not number < 0:
            return None
        found = {part: self.bands.of(part) for part in _conjuncts(seen, self.builder)}
        bounds = _Bounds.of([band for band in found.values() if band is not None])
        if bounds is None:
            return None
        return number, bounds, [part for part in found if not bounds.say(found[part])]

    def _added_rest(self, conditions: list[Value], mask: Value) -> list[Value]:
        """A mask that is added where more than the position of a key hides it."""
        if not conditions:
            return []
        dtype, builder = mask.tensor.dtype.numpy, self.builder
        numbers = (builder.constant(np.array(number, dtype)) for number in (0, -np.inf))
        return [builder.emit("select", _together(conditions, mask, builder), *numbers)]

    def _replaces_after(self, place: int) -> bool:
        """Whether scores are replaced, by something finite, after the mask at this place."""
        later = self.masks[place + 1 :]
        return self.attrs.hidden != -math.inf and any(m.tensor.dtype == bool_ for m in later)

    def _if_zero(self, number: float, bounds: _Bounds, rest: list[Value]) -> Refusal | None:
        """Why keys that a finite number hides may have weights."""
        queries, keys = self.bands.queries, self.bands.keys
        if rest:
            return Refusal(f"its mask hides keys by {number}, and others may hide the rest")
        if not sees_a_key(
            bounds.in_attrs(self.attrs, self.node), queries, keys, self.builder.scope
        ):
            return Refusal(f"its mask hides keys by {number}, and a query may see no other")
        return None

    def _built(self, bounds: _Bounds, rest: list[Value], attrs: AttentionAttrs) -> Value:
        self.why = bounds.why
        _, sink = masks_and_sink(self.node.operands, self.attrs)
        operands = [*self.node.operands[:3], *rest, *([] if sink is None else [sink])]
        new = bounds.in_attrs(attrs, self.node)
        return self.builder.node(self.node.op, operands, new).result()


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


def _conjuncts(mask: Value, builder: Builder) -> Iterator[Value]:
    """Conditions that all must hold, each once and in a shape of its own.

    Not one or the other is neither.
    """
    waiting, seen = [mask], set[Value]()
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        operands = value.node.operands
        if value.node.op in (BROADCAST, LOGICAL_AND):
            waiting += reversed(operands)
        elif value.node.op is logical_not and operands[0].node.op in (BROADCAST, logical_or):
            inner = reversed(operands[0].node.operands)
            waiting += [builder.emit("logical_not", operand) for operand in inner]
        elif value.node.op is logical_not and operands[0].node.op is logical_not:
            waiting += operands[0].node.operands
        else:
            yield value


def _together(parts: list[Value], mask: Value, builder: Builder) -> Value:
    """All the conditions as one mask, which is as large as it has to be."""
    rest = reduce(lambda x, y: builder.emit("logical_and", x, y), parts)
    pairs = zip(reversed(rest.tensor.shape), reversed(mask.tensor.shape), strict=False)
    if all(size in (1, full) for size, full in pairs):
        return rest
    return builder.emit("broadcast", rest, shape=mask.tensor.shape)
