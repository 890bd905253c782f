"""Laws of single arithmetic ops that traits cannot express.

Mind the floats: `x * 0` is NaN for an infinite x, `x - x` too, and the sign of a zero matters.
"""

from __future__ import annotations

from anyshape.ir.build import Builder
from anyshape.ir.node import Value
from anyshape.ir.rewrite import Match, Rule, Var, op
from anyshape.ir.types import FLOATS, INTEGERS
from anyshape.passes.rules.common import filled, keeps_type

x, y = Var("x"), Var("y")
f = Var("x", dtypes=FLOATS)
i = Var("x", dtypes=INTEGERS)


def zeros(found: Match, builder: Builder) -> Value:
    return filled(builder, 0, found.root.tensor)


RULES: tuple[Rule, ...] = (
    Rule("add-negative-zero", "x + -0.0 -> x (floats)", f + -0.0, x, (keeps_type,)),
    Rule("sub-zero", "x - 0 -> x", x - 0, x, (keeps_type,)),
    Rule("div-one", "x / 1 -> x", x / 1, x, (keeps_type,)),
    Rule("pow-one", "pow(x, 1) -> x", op("pow", x, 1), x, (keeps_type,)),
    Rule("floordiv-one", "x // 1 -> x (integers)", op("floordiv", i, 1), x, (keeps_type,)),
    Rule("mod-one", "x % 1 -> 0 (integers)", op("mod", i, 1), zeros),
    Rule("mul-zero", "x * 0 -> 0 (integers)", i * 0, zeros),
    Rule("sub-self", "x - x -> 0 (integers)", i - i, zeros),
    Rule("add-negated", "x + -y -> x - y", x + -y, x - y),
    Rule("sub-negated", "x - -y -> x + y", x - -y, x + y),
)
