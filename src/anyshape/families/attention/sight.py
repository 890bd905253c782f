"""Up to which score keys out of sight may be skipped, where scores decide that.

A hidden score that is finite has the weight 0 if the best one is greater by what exp makes 0 of.
So every query must see a key, whose score no mask makes small: then the greatest score that there
can be bounds both.
"""

from __future__ import annotations

import math

from anyshape.families.attention.match import AttentionMatch
from anyshape.ir.types import f64
from anyshape.ops.attention import ScoreAttrs
from anyshape.sym import Answer, Dim, FactScope, LessEqual

MOST = 1e37
"""A score that is less is finite, whatever its sums are rounded to."""

VANISHING = {f64: 1024.0}
"""exp of the negative of it is 0; 128 in f32."""


def most_score_of(form: AttentionMatch, scope: FactScope) -> float:
    """A bound for products as the kernel computes them, before a cap; 0 if nothing is skipped."""
    attrs = form.attrs
    most = MOST
    if math.isfinite(attrs.outside):
        queries, keys = (shape[2] for shape in form.shapes[:2])
        if form.masks or not sees_a_key(attrs, queries, keys, scope):
            return 0
        most = (-attrs.outside - VANISHING.get(form.total, 128.0)) / (2 if attrs.adds else 1)
    elif attrs.outside > 0 or attrs.hidden == math.inf:
        return 0
    return max(0, min(MOST, most)) / max(1, attrs.cap or 1)


def sees_a_key(attrs: ScoreAttrs, queries: Dim, keys: Dim, scope: FactScope) -> bool:
    """Whether each query sees a key, at all sizes at which there are keys."""
    last, low = attrs.last(queries, keys), attrs.low
    needed: list[LessEqual] = []
    if last is not None:
        needed.append(LessEqual(Dim.of(0), last))
    if low is not None:
        needed.append(LessEqual(queries + low, keys))
    if last is not None and low is not None:
        needed.append(LessEqual(low, last))
    return all(scope.proves(fact) is Answer.TRUE for fact in needed)
