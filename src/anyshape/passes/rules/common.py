"""Conditions, guards and small builders that several topics share."""

from __future__ import annotations

import numpy as np

from anyshape.ir.build import Builder
from anyshape.ir.node import Value
from anyshape.ir.rewrite import Match, Refusal
from anyshape.ir.types import TensorType


def keeps_type(found: Match) -> Refusal | None:
    """The captured `x` has the type of the whole, so the rest does not broadcast it up."""
    if found.same_type(found.root, found["x"]):
        return None
    return Refusal(f"x is {found['x'].type}, the result is {found.root.type}")


def is_constant(value: Value) -> bool:
    return value.node.op.name == "constant"


def is_computed(value: Value) -> bool:
    return not is_constant(value)


def filled(builder: Builder, number: float, type_: TensorType) -> Value:
    """A tensor of that type all of whose elements are `number`."""
    scalar = builder.constant(np.array(number).astype(type_.dtype.numpy))
    return builder.emit("broadcast", scalar, shape=type_.shape) if type_.rank else scalar
