"""Checks of values (`imported.value_checks`) under the names that torch's ops have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from anyshape.base.location import Location
from anyshape.frontend.aten.calls import Call
from anyshape.frontend.aten.walk import TAKES_NUMBERS, location_of, target_name
from anyshape.frontend.builder.checks import check_values
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.frontend.imported import value_checks
from anyshape.ir.checks import ValueCheck
from anyshape.ir.types import Shape
from anyshape.sym import Dim


def check_indices(
    call: Call,
    indices: Tensor,
    size: Dim,
    axis: int,
    *,
    from_end: bool = False,
    result: Sequence[Dim] = (),
) -> None:
    name = op_name(call)
    value_checks.check_indices(name, indices, size, axis, from_end=from_end, result=result)


def check_count(call: Call, count: Tensor, size: Dim) -> None:
    value_checks.check_count(op_name(call), count, size)


def check_divisor(call: Call, divisor: Tensor, result: Shape) -> None:
    value_checks.check_divisor(op_name(call), divisor, result)


def check_unit(call: Call, x: Tensor) -> None:
    """All elements are from 0 to 1, and none is NaN."""
    check = ValueCheck("unit", op_name(call), active().locate(), x.shape)
    check_values(~((x >= 0) & (x <= 1)), Dim.of(1), check, Dim.of(1))


def check_truth(call: Call, truth: Tensor) -> None:
    """What a model asserts of its data holds."""
    location = taken_at(call.node.args[0]) or active().locate()
    check = ValueCheck("assertion", "assert", location, truth.shape)
    check_values(~truth, Dim.of(1), check, Dim.of(1))


def taken_at(node: Any) -> Location | None:
    """The line that took what is asserted out of a tensor: torch places assertions where it
    likes."""
    while isinstance(node, torch.fx.Node) and node.op == "call_function":
        before = [each for each in node.args if isinstance(each, torch.fx.Node)]
        if target_name(node) in TAKES_NUMBERS or not before:
            return location_of(node)
        node = before[0]
    return None


def op_name(call: Call) -> str:
    """`embedding` for `aten.embedding.default`: the op of the model, before it was decomposed."""
    original = call.node.meta.get("original_aten")
    name = target_name(call.node) if original is None else str(original)
    return name.removeprefix("aten.").partition(".")[0]
