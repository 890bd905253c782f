"""Reductions that combine nothing: over no axes, or over axes of size 1."""

from __future__ import annotations

from anyshape.ir.build import Builder
from anyshape.ir.node import Value
from anyshape.ir.opdef import AnyOp
from anyshape.ir.rewrite import Match, Refusal, Rule, Var, attr, op
from anyshape.ops.known import SUM
from anyshape.ops.reduce import ReduceAttrs
from anyshape.passes.rules.common import OPS
from anyshape.sym import Dim, Equal

x = Var("x")


def single_elements(found: Match) -> Refusal | None:
    """Every reduced axis has provably size 1."""
    shape = found["x"].tensor.shape
    for axis in found.ints("axes"):
        if not found.proves(Equal(shape[axis], Dim.of(1))):
            return Refusal(f"axis {axis} has size {shape[axis]}")
    return None


def starts_exactly(found: Match) -> Refusal | None:
    """A float sum starts from +0.0, so even that of -0.0 alone is +0.0."""
    if found.root.node.op is SUM and found.root.tensor.dtype.is_float:
        return Refusal("a float sum turns -0.0 into +0.0")
    return None


def reshaped(found: Match, builder: Builder) -> Value:
    return builder.emit("reshape", found["x"], shape=found.root.tensor.shape)


def _of_one(entry: AnyOp) -> Rule:
    name = entry.name
    law = f"{name}(x, axes) -> reshape(x) where each axis has size 1"
    pattern = op(name, x, axes=attr("axes"))
    return Rule(f"{name}-of-one", law, pattern, reshaped, (single_elements, starts_exactly))


def _has_law(entry: AnyOp) -> bool:
    # A mean is always a float sum, to which `starts_exactly` would always object.
    return entry.attrs is ReduceAttrs and entry.name != "mean"


RULES: tuple[Rule, ...] = tuple(_of_one(entry) for entry in OPS if _has_law(entry))
