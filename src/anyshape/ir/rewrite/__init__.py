"""Rewriting: patterns, rules as data, and the engine that applies them to a fixpoint.

    x = Var("x")
    rule = Rule("mul-one", "x * 1 -> x", x * 1, x, (keeps_type,))

`pattern` says what to look for, `match` finds it, `template` builds what stands in its place,
`rule` holds the three together, `engine` walks regions, `decision` records what was done and why.
"""

from anyshape.ir.rewrite.decision import Decision, DecisionLog, Refusal
from anyshape.ir.rewrite.engine import RuleSet, rewrite
from anyshape.ir.rewrite.inline import inline_region
from anyshape.ir.rewrite.match import Match, constant_array, is_splat, match
from anyshape.ir.rewrite.pattern import (
    AttrCapture,
    Bound,
    Const,
    OpPattern,
    Pattern,
    Var,
    attr,
    const,
    op,
)
from anyshape.ir.rewrite.rebuild import Rebuilder, rebuild_graph
from anyshape.ir.rewrite.rule import Condition, Rule, Transform

__all__ = [
    "AttrCapture",
    "Bound",
    "Condition",
    "Const",
    "Decision",
    "DecisionLog",
    "Match",
    "OpPattern",
    "Pattern",
    "Rebuilder",
    "Refusal",
    "Rule",
    "RuleSet",
    "Transform",
    "Var",
    "attr",
    "const",
    "constant_array",
    "inline_region",
    "is_splat",
    "match",
    "op",
    "rebuild_graph",
    "rewrite",
]
