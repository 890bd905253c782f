"""Pads that continue a tensor (`builder.padding`), in the order that torch has their widths."""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.frontend.aten.calls import Call, entry
from anyshape.frontend.aten.entries.movement import constant_pad
from anyshape.frontend.aten.walk import target_name
from anyshape.frontend.builder.axes import Size
from anyshape.frontend.builder.convert import ArrayLike
from anyshape.frontend.builder.padding import continued
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.sym import Dim


@entry("aten.pad.default")
def pad(
    call: Call,
    x: Tensor,
    widths: Sequence[Size],
    mode: str = "constant",
    value: ArrayLike | None = None,
) -> Tensor:
    """Pairs of widths, the last axis first."""
    if mode == "constant":
        return constant_pad(call, x, widths, 0 if value is None else value)
    if mode != "circular":
        _require_channels(x, len(widths) // 2, mode)
    for number in range(len(widths) // 2):
        low, high = (Dim.of(width) for width in widths[2 * number : 2 * number + 2])
        x = continued(x, x.ndim - 1 - number, low, high, mode)
    return x


@entry(
    *(
        f"aten.{name}_pad{rank}d.default"
        for name in ("reflection", "replication")
        for rank in (1, 2, 3)
    )
)
def edge_pad(call: Call, x: Tensor, widths: Sequence[Size]) -> Tensor:
    """By the name that torch has for each rank."""
    mode = "reflect" if "reflection" in target_name(call.node) else "replicate"
    return pad(call, x, widths, mode)


def _require_channels(x: Tensor, padded: int, mode: str) -> None:
    """torch takes a batch of nothing in front of the axes that are padded, and no other."""
    channels = x.shape[x.ndim - padded - 1]
    active().require(channels >= 1, f"pad, mode '{mode}', needs a channel")
