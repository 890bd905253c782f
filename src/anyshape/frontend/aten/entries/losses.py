"""Losses that refuse some of their data."""

from __future__ import annotations

from typing import Any

from anyshape.frontend.aten.calls import Call, NoEntryError, entry
from anyshape.frontend.aten.value_checks import check_unit
from anyshape.frontend.builder import reduce
from anyshape.frontend.builder.elementwise import maximum
from anyshape.frontend.builder.functions import exp, log, log1p
from anyshape.frontend.builder.tensor import Tensor

_NONE, _MEAN = 0, 1


@entry("aten.binary_cross_entropy.default")
def binary_cross_entropy(
    call: Call, x: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = _MEAN
) -> Tensor:
    """Of probabilities; logarithms end at -100, as torch has it."""
    check_unit(call, x)
    check_unit(call, target)
    likely, unlikely = maximum(log(x), -100), maximum(log1p(-x), -100)
    loss = (target - 1) * unlikely - target * likely
    return _reduced(loss if weight is None else loss * weight, reduction)


@entry("aten.soft_margin_loss.default")
def soft_margin_loss(call: Call, x: Tensor, target: Tensor, reduction: int = _MEAN) -> Tensor:
    """Each step rounds 16-bit floats, as in the kernel; torch's decomposition does so once."""
    return _reduced(log1p(exp(call.operand(-x) * call.operand(target))), reduction)


def _reduced(loss: Tensor, reduction: int) -> Tensor:
    if reduction == _NONE:
        return loss
    return reduce.mean(loss) if reduction == _MEAN else reduce.sum(loss)


@entry("aten.multi_margin_loss.default", "aten.multilabel_margin_loss_forward.default")
def margin_loss(call: Call, *_: Any, **__: Any) -> Tensor:
    """By torch's kernels: its decompositions take classes that are none, and count the labels of
    several in another way than the kernel."""
    raise NoEntryError
