"""Ops in which the tokens of a sequence meet: attention under the mask, sums and maxima."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from anyshape.dynamic.ragged_places import Mask, Place, Rows, Tokens
from anyshape.dynamic.ragged_rules import TokenRules
from anyshape.frontend.builder.checks import check_values
from anyshape.frontend.builder.convert import asarray, cast_to
from anyshape.frontend.builder.movement import broadcast_to, gather, moveaxis
from anyshape.frontend.builder.ragged import (
    segment_first,
    segment_ids,
    segment_lengths,
    segment_max,
    segment_sum,
)
from anyshape.frontend.builder.tensor import Tensor
from anyshape.ir.checks import ValueCheck
from anyshape.ir.node import Node
from anyshape.ops import reduce
from anyshape.ops.attention import AttentionAttrs
from anyshape.ops.cumulative import CumulativeAttrs
from anyshape.ops.movement import SliceAttrs
from anyshape.ops.ragged import RaggedAttentionAttrs
from anyshape.ops.reduce import ReduceAttrs
from anyshape.sym import Dim


class SegmentRules(TokenRules):
    """Rules by op: what goes along the padded axis goes along segments."""

    def _attention(self, node: Node, given: list[Place]) -> Place:
        attrs = node.attrs_as(AttentionAttrs)
        q, k, v, *masks = given
        if replace(attrs, scale=None, cap=None, hidden=-np.inf, unseen="zeros") != AttentionAttrs():
            raise self.refusal("attention that is causal, or has a window or a sink")
        for x in (q, k, v):
            if not isinstance(x, Tokens) or (x.batch, x.seq) != (0, 2) or x.tensor.ndim != 4:
                raise self.refusal("attention whose operands are not [batch, heads, seq, width]")
        hides = [self._hides(mask, attrs.hidden) for mask in masks]
        if not any(hides):
            raise self.refusal("attention without the mask: it sees padding")
        values = [*self._values(given[:3]), self.tracer.value(self.offsets)]
        ids = self.tracer.value(segment_ids(self.offsets, self.total))
        kept = RaggedAttentionAttrs(attrs.scale, attrs.cap)
        return Tokens(self.tracer.node("ragged_attention", [*values, ids], kept)[0], 0, 2)

    def _running_total(self, node: Node, given: list[Place]) -> Place:
        """Along a sequence, from its own beginning: whole numbers only, because the total of all
        tokens, less what came before, would round by what other sequences hold."""
        (x,), attrs = given, node.attrs_as(CumulativeAttrs)
        axis, forward = attrs.axis, attrs == CumulativeAttrs(attrs.axis)
        if isinstance(x, Mask) and x.seq == axis and forward:
            shape = [self.total if place == axis else 1 for place in range(x.rank)]
            number = cast_to(self.positions + 1, node.result().tensor.dtype)
            return Tokens(number.reshape(*shape) * asarray(x.valid), x.batch, axis)
        if not isinstance(x, Tokens) or x.seq != axis or not forward:
            return self._rowwise(node, given)
        if x.tensor.dtype.is_float:
            raise self.refusal(f"{node.op.name} of floats goes along the axis '{self.seq}'")
        total = self._same(node, given)
        starts = gather(self.offsets, segment_ids(self.offsets, self.total))
        return Tokens(total - gather(total - x.tensor, starts, axis=x.seq), x.batch, x.seq)

    def _reduce(self, node: Node, given: list[Place]) -> Place:
        (x,), attrs = given, node.attrs_as(ReduceAttrs)
        axes = {axis % node.operands[0].tensor.rank for axis in attrs.axes}

        def left(axis: int) -> int:
            return axis if attrs.keepdims else axis - sum(1 for each in axes if each < axis)

        if isinstance(x, Rows) and x.batch not in axes:
            return Rows(self._kept(node, given), left(x.batch))
        if isinstance(x, Tokens) and x.seq not in axes and x.batch not in axes:
            batch = None if x.batch is None else left(x.batch)
            return Tokens(self._same(node, given), batch, left(x.seq))
        if isinstance(x, Mask) and axes == {x.seq} and x.batch is not None:
            return Rows(self._number_of_tokens(node, x, attrs), left(x.batch))
        if isinstance(x, Tokens) and axes == {x.seq} and x.batch is not None:
            return Rows(self._pooled(node, x), left(x.batch))
        raise self.refusal(f"{node.op.name} along the axis '{self.seq}'")

    def _slice(self, node: Node, given: list[Place]) -> Place:
        """The first token of each sequence, which then must have one; or parts of other axes."""
        (x,), attrs = given, node.attrs_as(SliceAttrs)
        shape = node.operands[0].tensor.shape

        def is_whole(axis: int) -> bool:
            ends = attrs.starts[axis] == 0 and attrs.stops[axis] == shape[axis]
            return ends and attrs.steps[axis] == 1

        if isinstance(x, Rows) and is_whole(x.batch):
            return Rows(self._kept(node, given), x.batch)
        if not isinstance(x, Tokens) or x.batch is None or not is_whole(x.batch):
            raise self._unknown(node)
        if is_whole(x.seq):
            return Tokens(self._same(node, given), x.batch, x.seq, x.padding)
        first = attrs.starts[x.seq] == 0 and attrs.stops[x.seq] == 1
        others = all(is_whole(axis) for axis in range(len(shape)) if axis != x.seq)
        if not first or not others:
            raise self._unknown(node)
        empty = segment_lengths(self.offsets) == 0
        check = ValueCheck("empty", f"{self.seq}.offsets", self.location, empty.shape)
        check_values(empty, Dim.of(1), check, Dim.of(1))
        return Rows(self._by_sequence(node, x, segment_first), x.batch)

    def _number_of_tokens(self, node: Node, mask: Mask, attrs: ReduceAttrs) -> Tensor:
        is_sum = node.op is reduce.sum_ and mask.valid.dtype != np.bool_
        if not is_sum or mask.padded != 0 or mask.valid != 1:
            raise self.refusal(f"{node.op.name} of the mask along the axis '{self.seq}'")
        lengths = cast_to(segment_lengths(self.offsets), node.result().tensor.dtype)
        assert mask.batch is not None
        result = node.result().tensor
        batch = mask.batch - (not attrs.keepdims and mask.batch > (mask.seq or 0))
        shape = [Dim.of(self.over) if axis == batch else 1 for axis in range(result.rank)]
        return broadcast_to(lengths.reshape(*shape), result.shape)

    def _pooled(self, node: Node, x: Tokens) -> Tensor:
        """Along the tokens of each sequence."""
        pools = {reduce.sum_: (segment_sum, 0.0), reduce.max_: (segment_max, -np.inf)}
        pool, neutral = pools.get(node.op, (None, None))
        if pool is None:
            raise self.refusal(f"{node.op.name} along the axis '{self.seq}'")
        if x.padding != neutral:
            fix = f"let padding be {neutral} there, by the mask"
            raise self.refusal(f"{node.op.name} along '{self.seq}' counts padding", fix)
        return self._by_sequence(node, x, pool)

    def _by_sequence(
        self, node: Node, x: Tokens, pool: Callable[[Tensor, Tensor], Tensor]
    ) -> Tensor:
        """What a function of rows and offsets makes of tokens, in the shape of the result."""
        assert x.batch is not None
        first = moveaxis(x.tensor, x.seq, 0)
        batch = x.batch + (x.batch < x.seq)
        rows = first.reshape(*(dim for axis, dim in enumerate(first.shape) if axis != batch))
        made = moveaxis(pool(rows, self.offsets), 0, batch - 1)
        return made.reshape(*node.result().tensor.shape)
