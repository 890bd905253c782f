"""Conditions, guards and small builders that several topics share."""

from __future__ import annotations

import numpy as np

import anyshape.ops  # noqa: F401  # pyright: ignore[reportUnusedImport]
from anyshape.analysis.constants import is_constant
from anyshape.ir.build import Builder
from anyshape.ir.node import Value
from anyshape.ir.opdef import AnyOp, all_ops
from anyshape.ir.rewrite import Match, Refusal
from anyshape.ir.types import TensorType

OPS: tuple[AnyOp, ...] = tuple(all_ops())
"""Every op, for rules that follow from what ops declare; the import above has registered them."""


def keeps_type(found: Match) -> Refusal | None:
    """The captured `x` has the type of the whole, so the rest does not broadcast it up."""
    if found.same_type(found.root, found["x"]):
        return None
    return Refusal(f"x is {found['x'].type}, the result is {found.root.type}")


def is_computed(value: Value) -> bool:
    return not is_constant(value)


def filled(builder: Builder, number: float, type_: TensorType) -> Value:
    """A tensor of that type all of whose elements are `number`."""
    scalar = builder.constant(np.array(number).astype(type_.dtype.numpy))
    return builder.emit("broadcast", scalar, shape=type_.shape) if type_.rank else scalar
