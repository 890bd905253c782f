"""Laws of control flow: a branch that is known, a loop that never runs.

An op that bears late axes leaves them behind; what they turned out to be stands in their place
from then on.
"""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.analysis.constants import is_constant
from anyshape.ir.build import Builder
from anyshape.ir.node import Node, Value
from anyshape.ir.rewrite import Match, Refusal, Rule, inline_region, is_splat, op
from anyshape.ir.types import TensorType, Type


def settle_sizes(node: Node, types: Sequence[Type], builder: Builder) -> None:
    """Late axes of `node` are what the results that replace its own have in their place."""
    late = {axis.symbol for axis in node.late}
    for old, new in zip(node.types, types, strict=True):
        if isinstance(old, TensorType) and isinstance(new, TensorType):
            for dim, size in zip(old.shape, new.shape, strict=True):
                if dim.symbol in late and builder.scope.resolve(dim) is dim:
                    builder.scope.adopt(dim.symbol, size)


def predicate_is_known(found: Match) -> Refusal | None:
    predicate = found.root.node.operands[0]
    return None if is_constant(predicate) else Refusal(f"{predicate.node} is not a constant")


def taken_branch(found: Match, builder: Builder) -> Value | Refusal:
    node = found.root.node
    predicate, *captures = node.operands
    branch = node.regions[0 if is_splat(predicate, True, found.weights) else 1]
    if any(type_.symbols & branch.born for type_ in branch.result_types):
        return Refusal("the branch itself computes a size of its results")
    results = inline_region(branch, captures, builder)
    settle_sizes(node, [value.type for value in results], builder)
    return results[found.root.index]


def never_runs(found: Match) -> Refusal | None:
    condition = found.root.node.regions[0].results[0]
    if is_splat(condition, False, found.weights):
        return None
    return Refusal(f"its condition is {condition.node}")


def initial_value(found: Match, builder: Builder) -> Value:
    node = found.root.node
    initial = node.operands[: len(node.types)]
    settle_sizes(node, [value.type for value in initial], builder)
    return initial[found.root.index]


RULES: tuple[Rule, ...] = (
    Rule(
        "cond-known",
        "cond(true, …) -> the body of then; cond(false, …) -> the body of else",
        op("cond", ...).result(None),
        taken_branch,
        (predicate_is_known,),
    ),
    Rule(
        "while-never",
        "while(false, x, …) -> x",
        op("while", ...).result(None),
        initial_value,
        (never_runs,),
    ),
)
