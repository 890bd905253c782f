"""The laws of canonicalization, one file per topic.

Every law here holds bit for bit on NaN, infinities and signed zeros; `tests/unit/passes` evaluates
each on such data. A law that only holds "up to rounding" belongs to a pass that asks for it.
"""

from anyshape.ir.rewrite import Rule
from anyshape.passes.rules import (
    arithmetic,
    casts,
    control,
    movement,
    reductions,
    selection,
    sizes,
    slices,
    traits,
)

CANONICAL: tuple[Rule, ...] = (
    *traits.RULES,
    *arithmetic.RULES,
    *selection.RULES,
    *casts.RULES,
    *movement.RULES,
    *slices.RULES,
    *reductions.RULES,
    *sizes.RULES,
    *control.RULES,
)

__all__ = ["CANONICAL"]
