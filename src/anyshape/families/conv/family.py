"""Convolutions, with what follows them."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from anyshape.families.body import Body
from anyshape.families.conv.depthwise import depthwise_kernel
from anyshape.families.conv.depthwise_plan import DepthwisePlan
from anyshape.families.conv.kernel import conv_kernel
from anyshape.families.conv.match import ConvMatch, conv_match, is_spatial_pad
from anyshape.families.conv.plan import MOST_PLACES, MOST_ROWS, ConvPlan
from anyshape.families.family import Family, Job, Lowered
from anyshape.ir.node import Node
from anyshape.ir.rewrite import Refusal
from anyshape.ops.known import CONV


class Conv(Family[ConvMatch]):
    """Kernels of register tiles, over bands of the input. Level 2 says how large blocks are."""

    name: ClassVar[str] = "convolution"

    def anchors(self, node: Node) -> bool:
        return node.op is CONV

    def match(self, body: Body) -> ConvMatch | Refusal:
        return conv_match(body)

    def computes(self, body: Body, anchor: Node, node: Node) -> bool:
        """Padding: bands have it around what they copy."""
        del body, anchor
        return is_spatial_pad(node)

    def lower(self, match: ConvMatch, job: Job) -> Lowered:
        plan = (DepthwisePlan if match.is_depthwise else ConvPlan)(match, job.tiling)
        facts = replace(job.facts, axes=(*job.facts.axes, *plan.own_axes))
        sizes = (*job.sizes, MOST_ROWS, MOST_PLACES)
        own = replace(job, facts=facts, sizes=sizes, dims=(*job.dims, *plan.block))
        packed = {match.weights_param: plan.packing()} if match.stored else {}
        if isinstance(plan, DepthwisePlan):
            return Lowered(depthwise_kernel(plan, own), own.dims, packed)
        return Lowered(conv_kernel(plan, own), own.dims, packed)
