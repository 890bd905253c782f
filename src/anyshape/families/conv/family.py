"""Convolutions, with what follows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from anyshape.families.body import Body
from anyshape.families.conv.byte_depthwise import ByteDepthwisePlan, byte_depthwise_kernel
from anyshape.families.conv.depthwise import depthwise_kernel
from anyshape.families.conv.depthwise_plan import DepthwisePlan
from anyshape.families.conv.kernel import conv_kernel
from anyshape.families.conv.match import ConvMatch, conv_match, is_spatial_pad
from anyshape.families.conv.plan import MOST_PLACES, MOST_ROWS, ConvPlan
from anyshape.families.conv.winograd import winograd_kernel
from anyshape.families.conv.winograd_plan import MOST_TILES, WinogradPlan, direct_effort
from anyshape.families.family import Family, Job, Lowered
from anyshape.ir.node import Node
from anyshape.ir.rewrite import Refusal
from anyshape.lower.effort import Variant
from anyshape.lower.packing import Packing
from anyshape.ops.known import CONV, WINOGRAD


class Conv(Family[ConvMatch]):
    """Kernels of register tiles, over bands of the input. Level 2 says how large blocks are."""

    name: ClassVar[str] = "convolution"

    def anchors(self, node: Node) -> bool:
        return node.op in (CONV, WINOGRAD)

    def match(self, body: Body) -> ConvMatch | Refusal:
        return conv_match(body)

    def computes(self, body: Body, anchor: Node, node: Node) -> bool:
        """Padding: bands have it around what they copy. Patches have zeros there alone."""
        del body
        return anchor.op is CONV and is_spatial_pad(node)

    def lower(self, match: ConvMatch, job: Job) -> Lowered:
        plan = _plan_of(match)(match, job.tiling)
        facts = replace(job.facts, axes=(*job.facts.axes, *plan.own_axes))
        sizes = (*job.sizes, MOST_ROWS, MOST_PLACES)
        own = replace(job, facts=facts, sizes=sizes, dims=(*job.dims, *plan.block))
        packed = {match.weights_param: plan.packing()} if match.stored else {}
        if isinstance(plan, ByteDepthwisePlan):
            return Lowered(byte_depthwise_kernel(plan, own), own.dims, packed)
        if isinstance(plan, DepthwisePlan):
            return Lowered(depthwise_kernel(plan, own), own.dims, packed)
        if match.has_points:
            return _in_both_forms(WinogradPlan(match, job.tiling), own, packed)
        return Lowered(conv_kernel(plan, own), own.dims, packed)


def _plan_of(match: ConvMatch) -> type[ConvPlan]:
    if match.is_in_pairs:
        return ByteDepthwisePlan
    return DepthwisePlan if match.is_depthwise else ConvPlan


def _in_both_forms(plan: WinogradPlan, job: Job, packed: Mapping[int, Packing]) -> Lowered:
    """With fewer multiplications where level 2 finds that to pay, and directly elsewhere."""
    form = plan.form
    facts = replace(job.facts, axes=(*job.facts.axes, *plan.own_axes))
    own = replace(job, facts=facts, sizes=(*job.sizes, MOST_TILES), dims=(*job.dims, plan.block))
    direct = direct_effort(form, job.region)
    kernel = winograd_kernel(plan, own)
    return Lowered(
        conv_kernel(plan.direct, own),
        own.dims,
        {**packed, form.points_param: plan.packing()},
        name="direct",
        effort=direct,
        others=(Variant("winograd", kernel, plan.effort(direct)),),
    )
