"""Laws of control flow: a branch that is known, a loop that never runs.

Both refuse an op that bears late axes: its sizes would have to be replaced throughout the graph.
"""

from __future__ import annotations

from anyshape.ir.build import Builder
from anyshape.ir.node import Value
from anyshape.ir.rewrite import Match, Refusal, Rule, inline_region, is_splat, op
from anyshape.passes.rules.common import is_constant


def sizes_are_known(found: Match) -> Refusal | None:
    late = found.root.node.late
    return Refusal(f"it bears late axes: {', '.join(map(str, late))}") if late else None


def predicate_is_known(found: Match) -> Refusal | None:
    predicate = found.root.node.operands[0]
    return None if is_constant(predicate) else Refusal(f"{predicate.node} is not a constant")


def taken_branch(found: Match, builder: Builder) -> Value:
    node = found.root.node
    predicate, *captures = node.operands
    branch = node.regions[0 if is_splat(predicate, True, found.weights) else 1]
    return inline_region(branch, captures, builder)[found.root.index]


def never_runs(found: Match) -> Refusal | None:
    condition = found.root.node.regions[0].results[0]
    if is_splat(condition, False, found.weights):
        return None
    return Refusal(f"its condition is {condition.node}")


def initial_value(found: Match, builder: Builder) -> Value:
    return found.root.node.operands[found.root.index]


RULES: tuple[Rule, ...] = (
    Rule(
        "cond-known",
        "cond(true, …) -> the body of then; cond(false, …) -> the body of else",
        op("cond", ...).result(None),
        taken_branch,
        (predicate_is_known, sizes_are_known),
    ),
    Rule(
        "while-never",
        "while(false, x, …) -> x",
        op("while", ...).result(None),
        initial_value,
        (never_runs, sizes_are_known),
    ),
)
