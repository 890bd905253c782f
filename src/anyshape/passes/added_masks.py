"""Masks that are added to scores and hide the keys outside of a band.

Such a mask is 0 where a query sees a key, and one and the same number elsewhere: -inf, or one that
is far below any score.

    triu(full(-inf), 1)      where(seen, 0, -inf)      (1 - tril(ones)) * -1e9      log(tril(ones))

It is a choice between two numbers, or some ops on such a choice; stored matrices are looked at by
`mask_bands.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from anyshape.ir.node import Node, Value
from anyshape.ir.opdef import AnyOp
from anyshape.ir.types import Array, bool_
from anyshape.ops.elementwise import div, log, mul, neg, select, sub
from anyshape.ops.known import ADD, BROADCAST, CAST, RESHAPE
from anyshape.passes.attention_score import uniform_number
from anyshape.passes.mask_bands import DEEPEST


@dataclass(frozen=True, slots=True)
class Choice:
    """`seen` where a condition holds, and `hidden` where it does not."""

    condition: Value
    seen: float
    hidden: float


def choice_of(value: Value, depth: int = DEEPEST) -> Choice | None:
    """The condition that a value depends on, and the numbers that it is."""
    node = value.node
    if depth == 0:
        return None
    if node.op is select:
        condition, *others = node.operands
        seen, hidden = map(uniform_number, others)
        return None if seen is None or hidden is None else Choice(condition, seen, hidden)
    if node.op is CAST and node.operands[0].tensor.dtype == bool_:
        return Choice(node.operands[0], 1.0, 0.0)
    if node.op in (BROADCAST, RESHAPE):
        (inner,) = node.operands
        same = inner.tensor.shape[-2:] == value.tensor.shape[-2:]
        return choice_of(inner, depth - 1) if same else None
    return _computed(node, depth) if node.op in _NUMPY else None


def _computed(node: Node, depth: int) -> Choice | None:
    """An op on a choice and on numbers."""
    numbers = [uniform_number(operand) for operand in node.operands]
    chosen = [n for n, number in enumerate(numbers) if number is None]
    if len(chosen) != 1:
        return None
    choice = choice_of(node.operands[chosen[0]], depth - 1)
    if choice is None:
        return None
    seen, hidden = (
        _applied(node, [answer if number is None else number for number in numbers])
        for answer in (choice.seen, choice.hidden)
    )
    return None if math.isnan(seen + hidden) else Choice(choice.condition, seen, hidden)


def _applied(node: Node, numbers: list[float]) -> float:
    """The op on numbers, in its own dtypes."""
    pairs = zip(numbers, node.operands, strict=True)
    arrays = [np.asarray(number, value.tensor.dtype.numpy) for number, value in pairs]
    with np.errstate(all="ignore"):
        found: Any = _NUMPY[node.op](*arrays)
    return float(np.asarray(found).astype(node.result().tensor.dtype.numpy))


def _itself(x: Array) -> Array:
    return x


_NUMPY: Final[dict[AnyOp, Callable[..., Any]]] = {
    ADD: np.add,
    sub: np.subtract,
    mul: np.multiply,
    div: np.divide,
    neg: np.negative,
    log: np.log,
    CAST: _itself,
}
"""What masks are computed with."""
