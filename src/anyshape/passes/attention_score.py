"""Steps of a score, one after the other, as attributes and masks of attention.

What is known of a score is the number that products are scaled by, the cap, the masks in their
order, and queries and keys with their axes in the order of the scores. A step that attention does
not have, or not at this place, is refused.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from anyshape.analysis.constants import is_number
from anyshape.ir.build import Builder
from anyshape.ir.literal import TensorLiteral
from anyshape.ir.node import Node, Value
from anyshape.ir.opdef import AnyOp
from anyshape.ir.rewrite import Refusal
from anyshape.ir.types import wide_of
from anyshape.ops.attention import AttentionAttrs
from anyshape.ops.elementwise import div, mul, rsqrt, select, sqrt, sub, tanh
from anyshape.ops.known import ADD, BROADCAST, CAST, RESHAPE, TRANSPOSE
from anyshape.ops.movement import TransposeAttrs
from anyshape.ops.source import ConstantAttrs
from anyshape.passes.attention_layout import (
    Sides,
    below_views,
    reshaped,
    sides_of,
    with_views,
)
from anyshape.passes.attention_pattern import Scores, Step
from anyshape.passes.rules.sizes import size_of
from anyshape.sym import Dim


@dataclass
class Score:
    """What the steps so far make of the products."""

    builder: Builder
    product: Node
    steps: tuple[Step, ...]
    factor: float = 1.0  # of the products
    outer: float = 1.0  # of the tanh
    is_capped: bool = False
    roots: list[Dim] = field(default_factory=list[Dim])  # sizes, divided by the root of which
    factors: list[Value] = field(default_factory=list[Value])  # the same, and others, as values
    masks: list[Value] = field(default_factory=list[Value])
    hidden: float | None = None
    order: list[int | None] = field(default_factory=list[int | None])  # None: an axis of size 1
    sides: Sides | None = None

    @staticmethod
    def of(scores: Scores, builder: Builder) -> Score | Refusal:
        """The score that the steps make."""
        score = Score(builder, scores.product, scores.steps)
        score.order = [*range(scores.product.result().tensor.rank)]
        for step in scores.steps:
            refusal = _ON[step.node.op](score, step)
            if refusal is not None:
                return refusal
        return score._plain() or score

    # --- arrangement --------------------------------------------------------------------------

    def convert(self, step: Step) -> Refusal | None:
        """Conversions change rounding; which of them may be left out is asked of all at once."""
        return None

    def transpose(self, step: Step) -> Refusal | None:
        if self.masks:
            return Refusal("its scores are transposed after a mask")
        self.order = [self.order[axis] for axis in step.node.attrs_as(TransposeAttrs).perm]
        return None

    def reshape(self, step: Step) -> Refusal | None:
        """Leading axes may become others, and axes of size 1 may come and go."""
        if self.masks:
            return Refusal("its scores are reshaped after a mask")
        refusal = self._arranged()
        if refusal is not None or self.sides is None:
            return refusal
        shape, plane = step.node.result().tensor.shape, self.sides.shape[-2:]
        if shape[-2:] == plane:
            leading, order = shape[:-2], list[int | None](range(len(shape)))
        else:
            counts = itertools.count()
            order = [None if dim == 1 else next(counts) for dim in shape]
            leading = tuple(dim for dim in shape if dim != 1)
            leading, rest = leading[:-2], leading[-2:]
            if rest != plane:
                return Refusal("its scores are reshaped")
        sides = self.sides.with_leading(leading, self.builder)
        if isinstance(sides, Refusal):
            return sides
        self.sides, self.order = sides, order
        return None

    def _arranged(self) -> Refusal | None:
        """From here on the order of the axes is settled, but for those of size 1."""
        axes = [axis for axis in self.order if axis is not None]
        if self.sides is None:
            sides = sides_of(self.product, axes, self.builder)
            if isinstance(sides, Refusal):
                return sides
            self.sides, self.order = sides, list(range(len(axes)))
        elif axes != sorted(axes):
            return Refusal("its scores are transposed late")
        return None

    def _plain(self) -> Refusal | None:
        """Whether scores have the axes of their sides, as masks need it."""
        refusal = self._arranged()
        return refusal or (Refusal("its scores are reshaped") if None in self.order else None)

    # --- arithmetic ---------------------------------------------------------------------------

    def scale(self, step: Step) -> Refusal | None:
        (other,) = step.others
        if self.masks:
            return Refusal("its scores are scaled after a mask")
        number = uniform_number(other)
        if number is None:
            return _broadcasts(step) or self._scale_by(step, other)
        by = _factor(step.node.op, number)
        if by is None:
            return Refusal(f"its scores are scaled by {number}")
        if self.is_capped:
            self.outer *= by
        else:
            self.factor *= by
        return _broadcasts(step)

    def _scale_by(self, step: Step, other: Value) -> Refusal | None:
        """A factor that is computed: queries are multiplied with it."""
        dtype, is_divisor = other.tensor.dtype, step.node.op is div
        if self.is_capped or any(dim != 1 for dim in other.tensor.shape):
            return Refusal("its scores are scaled by more than a number")
        if wide_of(dtype) != dtype:
            return Refusal("its scores are scaled by a number that is computed in 16 bits")
        self.roots += [size for size in [_size_under_root(other, is_divisor)] if size is not None]
        factor = reshaped(other, (), self.builder)
        if is_divisor:
            one = self.builder.constant(np.ones((), dtype.numpy))
            factor = self.builder.emit("div", one, factor)
        self.factors.append(factor)
        return None

    def cap(self, step: Step) -> Refusal | None:
        if self.is_capped or self.masks:
            return Refusal("its scores are capped after a mask, or twice")
        self.is_capped = True
        return None

    # --- masks --------------------------------------------------------------------------------

    def add(self, step: Step) -> Refusal | None:
        (mask,) = step.others
        self.masks.append(self.builder.emit("neg", mask) if step.node.op is sub else mask)
        return _broadcasts(step) or self._plain()

    def select(self, step: Step) -> Refusal | None:
        condition, other = step.others
        number = uniform_number(other)
        if number is None or math.isnan(number):
            return Refusal("its scores are replaced by more than a number")
        if self.hidden not in (None, number):
            return Refusal(f"its scores are replaced by {self.hidden} and by {number}")
        self.hidden = number
        is_seen = step.position == 1  # the score stands where the condition holds
        self.masks.append(condition if is_seen else self.builder.emit("logical_not", condition))
        return _broadcasts(step) or self._plain()

    # --- attributes ---------------------------------------------------------------------------

    def attrs(self, factor: float) -> AttentionAttrs:
        """Of the attention, where operands bring a factor of their own."""
        assert self.sides is not None
        factor *= self.factor
        hidden = -math.inf if self.hidden is None else self.hidden
        if self.is_capped:
            scale, cap = factor * self.outer, self.outer
            return AttentionAttrs("none", scale, cap, hidden, unseen="nan")
        by_width = self.is_by_width and factor == 1
        return AttentionAttrs("none", None if by_width else factor, None, hidden, unseen="nan")

    @property
    def is_by_width(self) -> bool:
        """Whether all that is computed at run time is the root of the width."""
        assert self.sides is not None
        width = self.sides.queries.tensor.shape[-1]
        return len(self.factors) == 1 and self.roots == [width] and self.factor == 1


_ON: Final[dict[AnyOp, Callable[[Score, Step], Refusal | None]]] = {
    mul: Score.scale,
    div: Score.scale,
    ADD: Score.add,
    sub: Score.add,
    select: Score.select,
    tanh: Score.cap,
    CAST: Score.convert,
    RESHAPE: Score.reshape,
    TRANSPOSE: Score.transpose,
}
"""What becomes of each op that `attention_pattern.STEPS` lets through."""


def _broadcasts(step: Step) -> Refusal | None:
    if step.score.tensor.shape == step.node.result().tensor.shape:
        return None
    return Refusal(f"{step.node.op.name} broadcasts its scores")


# --- numbers --------------------------------------------------------------------------------------


def uniform_number(value: Value) -> float | None:
    """The number that all elements of a constant are."""
    while value.node.op in (BROADCAST, RESHAPE):
        (value,) = value.node.operands
    if not is_number(value.node):
        return None
    content = value.node.attrs_as(ConstantAttrs).value
    return float(content.array.item()) if isinstance(content, TensorLiteral) else None


def _factor(op: AnyOp, number: float) -> float | None:
    """What a product or quotient with a number multiplies by, if that can be taken back."""
    if number == 0 or not math.isfinite(number):
        return None
    return number if op is mul else 1 / number


def without_factor(value: Value, builder: Builder) -> tuple[Value, float]:
    """The value before it is multiplied with numbers, and their product."""
    factor, between = 1.0, list[Node]()
    while True:
        value, views = below_views(value)
        between += views
        by = _own_factor(value.node)
        if by is None:
            return with_views(value, between, builder), factor
        factor *= by
        value = value.node.operands[0]


def _own_factor(node: Node) -> float | None:
    """The number that a node multiplies its first operand with, if that is all it does."""
    if node.op not in (mul, div):
        return None
    x, other = node.operands
    number = uniform_number(other)
    same = x.tensor.shape == node.result().tensor.shape
    return _factor(node.op, number) if number is not None and same else None


def _size_under_root(value: Value, is_divisor: bool) -> Dim | None:
    """The size by whose root a score is divided, if its factor is that."""
    value = _unspread(value)
    if value.node.op is not (sqrt if is_divisor else rsqrt):
        return None
    return size_of(_unspread(value.node.operands[0]))


def _unspread(value: Value) -> Value:
    while value.node.op in (RESHAPE, BROADCAST, CAST):
        (value,) = value.node.operands
    return value
