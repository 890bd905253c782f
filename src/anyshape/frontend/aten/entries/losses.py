"""Losses that refuse some of their data."""

from __future__ import annotations

from typing import Any

from anyshape.frontend.aten.calls import Call, NoEntryError, entry
from anyshape.frontend.aten.value_checks import check_unit
from anyshape.frontend.builder import reduce
from anyshape.frontend.builder.elementwise import maximum
from anyshape.frontend.builder.functions import log, log1p
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
    loss = loss if weight is None else loss * weight
    if reduction == _NONE:
        return loss
    return reduce.mean(loss) if reduction == _MEAN else reduce.sum(loss)


@entry("aten.multi_margin_loss.default", "aten.multilabel_margin_loss_forward.default")
def margin_loss(call: Call, *_: Any, **__: Any) -> Tensor:
    """By torch's kernels: its decompositions take classes that are none, and count the labels of
    several in another way than the kernel."""
    raise NoEntryError
