"""The forms of attention that level 2 chooses from, and what they cost.

Register tiles hold as many queries as a vector has lanes, at least; for fewer than that most of
their work is wasted. The form for few queries wastes none, but takes longer for each: it sums
across lanes, and its products are not kept in registers.
"""

from __future__ import annotations

from anyshape.families.attention.few_queries import few_queries_kernel
from anyshape.families.attention.kernel import attention_kernel
from anyshape.families.attention.key_parts import key_parts_kernel
from anyshape.families.attention.match import AttentionMatch
from anyshape.families.attention.plan import AttentionPlan, FewQueriesPlan, KeyPartsPlan
from anyshape.families.attention.ragged import RaggedPlan, ragged_kernel
from anyshape.families.attention.sight import most_score_of
from anyshape.families.family import Job
from anyshape.lower.effort import EXP, Effort, Variant, region_effort
from anyshape.sym import Answer, Dim, FactScope, Less, ceildiv

SOFTMAX = EXP + 4
"""Operations for each score."""

SUM_ACROSS = 96
"""Operations that a sum across lanes takes, and what waits for it."""


def attention_variants(match: AttentionMatch, job: Job) -> tuple[Variant, ...]:
    """One or both; one where the facts leave no choice."""
    scope = FactScope.of(job.facts)
    most_score = most_score_of(match, scope)
    tiles = AttentionPlan(match, job.region, job.tiling, most_score)
    few = FewQueriesPlan(match, job.region, job.tiling, most_score)
    lanes = tiles.columns // job.tiling.vectors
    given = job.inputs, job.outputs, job.facts, job.sizes
    variants: list[Variant] = []
    if scope.proves(Less(tiles.queries, Dim.of(lanes // 2))) is not Answer.TRUE:
        kernel = attention_kernel(tiles, *given)
        variants.append(Variant("tiles", kernel, _effort_of_tiles(tiles, lanes)))
    if scope.proves(Less(tiles.queries, Dim.of(lanes))) is not Answer.FALSE:
        kernel = few_queries_kernel(few, *given)
        variants.append(Variant("few queries", kernel, _effort_of_few(few)))
    return tuple(variants)


def part_variant(match: AttentionMatch, job: Job) -> Variant:
    """The only form of parts of the keys."""
    plan = KeyPartsPlan(match, job.region, job.tiling)
    kernel = key_parts_kernel(plan, job.inputs, job.outputs, job.facts, job.sizes)
    return Variant("parts of keys", kernel, _effort_of_few(plan))


def ragged_variant(match: AttentionMatch, job: Job) -> Variant:
    """The only form of segments. Their lengths are data: they count as if they were all alike."""
    plan = RaggedPlan(match, job.region, job.tiling)
    kernel = ragged_kernel(plan, job.inputs, job.outputs, job.facts, job.sizes)
    scores = plan.batches * plan.heads * plan.queries * plan.usual_keys
    effort = Effort(2 * scores * (plan.width + plan.value_width), scores * SOFTMAX, _bytes(plan))
    return Variant("segments", kernel, effort)


def _effort_of_tiles(plan: AttentionPlan, lanes: int) -> Effort:
    """Products of a vector take as long if only some of its lanes are queries."""
    keys = plan.batches * plan.heads * plan.keys
    whole = ceildiv(plan.queries, lanes) * lanes
    flops = 2 * keys * (whole * plan.width + plan.queries * plan.value_width)
    return Effort(flops, keys * whole * SOFTMAX, _bytes(plan))


def _effort_of_few(plan: FewQueriesPlan) -> Effort:
    scores = plan.batches * plan.heads * plan.keys * plan.queries
    flops = 2 * scores * plan.value_width
    return Effort(flops, scores * (plan.width + SUM_ACROSS + SOFTMAX), _bytes(plan))


def _bytes(plan: AttentionPlan) -> Dim:
    return region_effort(plan.region).bytes
