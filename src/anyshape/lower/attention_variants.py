"""The forms of attention that level 2 chooses from, and what they cost.

Register tiles hold as many queries as a vector has lanes, at least; for fewer than that most of
their work is wasted. The form for few queries wastes none, but takes longer for each: it sums
across lanes, and its products are not kept in registers.
"""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.loop import Buffer
from anyshape.lower.attention import attention_kernel
from anyshape.lower.attention_few import few_queries_kernel
from anyshape.lower.attention_form import AttentionForm
from anyshape.lower.attention_plan import AttentionPlan, FewQueriesPlan
from anyshape.lower.effort import EXP, Effort, Variant, region_effort
from anyshape.lower.tiling import Tiling
from anyshape.sym import Answer, Dim, Facts, FactScope, Less, Symbol, ceildiv

SOFTMAX = EXP + 4
"""Operations for each score."""

SUM_ACROSS = 96
"""Operations that a sum across lanes takes, and what waits for it."""


def attention_variants(
    form: AttentionForm,
    tiling: Tiling,
    inputs: Sequence[Buffer],
    outputs: Sequence[Buffer],
    facts: Facts,
    sizes: tuple[Symbol, ...],
) -> tuple[Variant, ...]:
    """One or both; one where the facts leave no choice."""
    tiles, few = AttentionPlan(form, tiling), FewQueriesPlan(form, tiling)
    lanes = tiles.columns // tiling.vectors
    scope = FactScope.of(facts)
    variants: list[Variant] = []
    if scope.proves(Less(tiles.queries, Dim.of(lanes // 2))) is not Answer.TRUE:
        kernel = attention_kernel(tiles, inputs, outputs, facts, sizes)
        variants.append(Variant("tiles", kernel, _effort_of_tiles(tiles, lanes)))
    if scope.proves(Less(tiles.queries, Dim.of(lanes))) is not Answer.FALSE:
        kernel = few_queries_kernel(few, inputs, outputs, facts, sizes)
        variants.append(Variant("few queries", kernel, _effort_of_few(few)))
    return tuple(variants)


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
    return region_effort(plan.form.region).bytes
