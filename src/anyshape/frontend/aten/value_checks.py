"""Checks of values (`imported.value_checks`) under the names that torch's ops have."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from anyshape.frontend.aten.calls import Call
from anyshape.frontend.aten.walk import location_of, target_name
from anyshape.frontend.builder.checks import check_values
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.frontend.imported import value_checks
from anyshape.ir.checks import ValueCheck
from anyshape.ir.types import Shape
from anyshape.sym import Dim

_TAKES_TRUTH = frozenset({"aten.item.default", "aten._local_scalar_dense.default"})


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


def check_truth(call: Call, truth: Tensor) -> None:
    """What a model asserts of its data holds. torch places assertions where it likes; the line is
    the one that took the truth out of a tensor."""
    node = call.node.args[0]
    while target_name(node) not in _TAKES_TRUTH and isinstance(node.args[0], torch.fx.Node):
        node = node.args[0]
    location = location_of(node) or active().locate()
    check = ValueCheck("assertion", "assert", location, truth.shape)
    check_values(~truth, Dim.of(1), check, Dim.of(1))


def op_name(call: Call) -> str:
    """`embedding` for `aten.embedding.default`: the op of the model, before it was decomposed."""
    original = call.node.meta.get("original_aten")
    name = target_name(call.node) if original is None else str(original)
    return name.removeprefix("aten.").partition(".")[0]
