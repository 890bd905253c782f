"""Laws of select."""

from __future__ import annotations

from anyshape.ir.rewrite import Rule, Var, op
from anyshape.passes.rules.common import keeps_type

c, x, y = Var("c"), Var("x"), Var("y")

RULES: tuple[Rule, ...] = (
    Rule("select-true", "select(true, x, y) -> x", op("select", True, x, y), x, (keeps_type,)),
    Rule("select-false", "select(false, y, x) -> x", op("select", False, y, x), x, (keeps_type,)),
    Rule("select-same", "select(c, x, x) -> x", op("select", c, x, x), x, (keeps_type,)),
    Rule(
        "select-not",
        "select(not c, x, y) -> select(c, y, x)",
        op("select", op("logical_not", c), x, y),
        op("select", c, y, x),
    ),
)
