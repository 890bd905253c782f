"""Norms over groups of channels, as rows: `[batch, group, channels of it, …]`.

One group of all channels is `[batch, channels, …]`: without a reshape in between, the norm is done
in the order of axes that convolutions around it have. 16-bit floats are computed in f32 and rounded
once.
"""

from __future__ import annotations

from typing import Any

from anyshape.frontend.aten.calls import Call, NoEntryError, entry, in_wide
from anyshape.frontend.aten.entries.layers import batch_norm
from anyshape.frontend.builder import reduce as red
from anyshape.frontend.builder.convert import cast_to
from anyshape.frontend.builder.functions import rsqrt
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.sym import Dim, Divisible


def _grouped(
    x: Tensor, groups: Dim, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The result, and of each group the mean and the inverse of the deviation."""
    channels = x.shape[1]
    why = f"a norm over {groups} groups divides {channels} channels"
    active().require(Divisible(channels, groups), why)
    split = (channels,) if groups == 1 else (groups, channels // groups)
    apart = in_wide(x).reshape((x.shape[0], *split, *x.shape[2:]))
    axes = tuple(range(len(split), apart.ndim))
    mean = red.mean(apart, axes, keepdims=True)
    scale = rsqrt(red.var(apart, axes, keepdims=True) + eps)
    found = (apart - mean) * scale
    per_channel = (*split, *(1,) * (x.ndim - 2))
    if weight is not None:
        found = found * in_wide(weight).reshape(per_channel)
    if bias is not None:
        found = found + in_wide(bias).reshape(per_channel)
    rows = (x.shape[0], groups)
    return cast_to(found.reshape(x.shape), x.dtype), mean.reshape(rows), scale.reshape(rows)


@entry("aten.group_norm.default")
def group_norm(
    call: Call,
    x: Tensor,
    groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    return _grouped(x, Dim.of(groups), weight, bias, eps)[0]


@entry("aten.native_group_norm.default")
def native_group_norm(
    call: Call,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    batch: Any,
    channels: Any,
    elements: Any,
    groups: int,
    eps: float,
) -> list[Tensor]:
    found, *moments = _grouped(x, Dim.of(groups), weight, bias, eps)
    return [found, *(cast_to(moment, x.dtype) for moment in moments)]


@entry("aten.instance_norm.default")
def instance_norm(
    call: Call,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor | None,
    variance: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor | None:
    """Each channel by itself; or by what training has found, which is a batch norm."""
    if use_input_stats and mean is None and variance is None:
        return _grouped(x, x.shape[1], weight, bias, eps)[0]
    if use_input_stats or mean is None or variance is None:
        raise NoEntryError  # it writes its averages
    return batch_norm(call, x, weight, bias, mean, variance, momentum, eps)[0]
