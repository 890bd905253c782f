"""Attention as one kernel: an online softmax over blocks of keys."""

from __future__ import annotations

from typing import ClassVar

from anyshape.analysis.epilogue import has_run_at_end
from anyshape.families.attention.masks import is_mask_by_position
from anyshape.families.attention.match import AttentionMatch, attention_match
from anyshape.families.attention.variants import attention_variants, part_variant, ragged_variant
from anyshape.families.body import Body
from anyshape.families.family import Family, Job, Lowered
from anyshape.ir.node import Node
from anyshape.ir.opdef import Trait
from anyshape.ir.rewrite import Refusal
from anyshape.ops.known import ATTENTION, PART_ATTENTION, RAGGED_ATTENTION

_ONE_FORM = {PART_ATTENTION: part_variant, RAGGED_ATTENTION: ragged_variant}
"""Ops that have one form whatever their sizes are."""


class Attention(Family[AttentionMatch]):
    """Kernels of `attention`, with what leaves its elements where they are."""

    name: ClassVar[str] = "attention"
    keep: ClassVar[frozenset[Trait]] = frozenset({Trait.CONTRACTION})

    def anchors(self, node: Node) -> bool:
        return node.op in (ATTENTION, PART_ATTENTION, RAGGED_ATTENTION)

    def match(self, body: Body) -> AttentionMatch | Refusal:
        return attention_match(body)

    def objection(self, body: Body, anchor: Node) -> Refusal | None:
        """Vectors of a result are written as they are only where its columns stay last."""
        match = attention_match(body)
        if isinstance(match, Refusal):
            return match
        columns = anchor.result().tensor.rank - 1
        if all(has_run_at_end(order, (columns,)) for order in match.orders):
            return None
        return Refusal("a transpose would take its columns apart")

    def computes(self, body: Body, anchor: Node, node: Node) -> bool:
        """Masks that positions make: no plane of them is read from memory, or written there."""
        has_masks = anchor.op is not RAGGED_ATTENTION
        return has_masks and is_mask_by_position(body, anchor, node)

    def lower(self, match: AttentionMatch, job: Job) -> Lowered:
        if match.node.op in _ONE_FORM:
            own = _ONE_FORM[match.node.op](match, job)
            return Lowered(own.kernel, job.dims, {}, own.name, own.effort)
        own, *others = attention_variants(match, job)
        return Lowered(own.kernel, job.dims, {}, own.name, own.effort, tuple(others))
