"""Rules that follow from what ops declare: traits and neutral elements.

An op gets these laws by its entry alone; nothing here names an op.
"""

from __future__ import annotations

from anyshape.analysis.constants import is_constant
from anyshape.ir.attrs import schema
from anyshape.ir.opdef import AnyOp, Trait
from anyshape.ir.rewrite import Match, Refusal, Rule, Var, const, op
from anyshape.passes.rules.common import OPS, is_computed, keeps_type

x = Var("x")


def _involution(entry: AnyOp) -> Rule:
    name = entry.name
    return Rule(f"{name}-involution", f"{name}({name}(x)) -> x", op(name, op(name, x)), x)


def _idempotent_unary(entry: AnyOp) -> Rule:
    name = entry.name
    law = f"{name}({name}(x)) -> {name}(x)"
    return Rule(f"{name}-idempotent", law, op(name, op(name, x)), op(name, x))


def _idempotent_binary(entry: AnyOp) -> Rule:
    name = entry.name
    return Rule(f"{name}-idempotent", f"{name}(x, x) -> x", op(name, x, x), x)


def _neutral(entry: AnyOp) -> Rule:
    assert entry.neutral is not None
    name, neutral = entry.name, entry.neutral
    law = f"{name}(x, {neutral}) -> x"
    pattern = op(name, x, const(neutral))
    return Rule(f"{name}-neutral", law, pattern, x, (zero_is_exact, keeps_type))


def zero_is_exact(found: Match) -> Refusal | None:
    """Adding +0.0 to a float turns -0.0 into +0.0; only -0.0 is neutral, and has its own rule."""
    entry = found.root.node.op
    if entry.neutral == 0 and found.root.tensor.dtype.is_float:
        return Refusal(f"{entry.name} with +0.0 turns -0.0 into +0.0")
    return None


def _constant_right(entry: AnyOp) -> Rule:
    name = entry.name
    constant, computed = Var("c", is_constant), Var("y", is_computed)
    pattern = op(name, constant, computed).in_order()
    law = f"{name}(c, y) -> {name}(y, c)"
    return Rule(f"{name}-constant-right", law, pattern, op(name, computed, constant))


def _plain(arity: int, trait: Trait) -> list[AnyOp]:
    """Ops of that many operands that have the trait and no attributes that could differ."""
    return [
        entry
        for entry in OPS
        if entry.has(trait) and entry.signature.limit == arity and not schema(entry.attrs)
    ]


RULES: tuple[Rule, ...] = (
    # Constants move right first, so that the other rules meet one order.
    *map(_constant_right, _plain(2, Trait.COMMUTATIVE)),
    *(_neutral(entry) for entry in OPS if entry.neutral in (0, 1)),
    *map(_involution, _plain(1, Trait.INVOLUTION)),
    *map(_idempotent_unary, _plain(1, Trait.IDEMPOTENT)),
    *map(_idempotent_binary, _plain(2, Trait.IDEMPOTENT)),
)
