"""Pools: windows of one, two or three axes, each of its own rank in torch; with a batch or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from anyshape.frontend.aten.calls import TABLE, Call, entry
from anyshape.frontend.builder import adaptive_pool, pool
from anyshape.frontend.builder.axes import Size
from anyshape.frontend.builder.movement import transpose
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.sym import Dim

Sizes = Sequence[Size]
Pool = Callable[..., Any]


def _each(rank: int, given: Sizes) -> list[Size]:
    """One number stands for all axes."""
    return list(given) * rank if len(given) == 1 else list(given)


def _axes(
    rank: int, x: Tensor, size: Sizes, step: Sizes, padding: Sizes, gap: Sizes, ceil_mode: bool
) -> list[pool.Along]:
    _require_channels(x, rank)
    given = _each(rank, size), _each(rank, step or size), _each(rank, gap), _each(rank, padding)
    return pool.alongs(x, rank, *given, ceil_mode)


def _max_pool(rank: int, reduced: Callable[[Tensor, Sequence[pool.Along]], Any]) -> Pool:
    """With or without the places of what is greatest."""

    def apply(
        call: Call,
        x: Tensor,
        size: Sizes,
        step: Sizes = (),
        padding: Sizes = (0,),
        dilation: Sizes = (1,),
        ceil_mode: bool = False,
    ) -> Any:
        return reduced(x, _axes(rank, x, size, step, padding, dilation, ceil_mode))

    return apply


def _avg_pool(rank: int) -> Pool:
    def apply(
        call: Call,
        x: Tensor,
        size: Sizes,
        step: Sizes = (),
        padding: Sizes = (0,),
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        axes = _axes(rank, x, size, step, padding, (1,), ceil_mode)
        return pool.avg_along(x, axes, count_include_pad, divisor_override)

    return apply


def _require_channels(x: Tensor, rank: int) -> None:
    """torch takes a batch of nothing, and no other axis without elements."""
    channels, *places = x.shape[x.ndim - rank - 1 :]
    active().require(channels >= 1, "a pool needs a channel")
    for size in places:
        active().require(size >= 1, "a pool needs a place")


def _require_elements(call: Call, x: Tensor, rank: int) -> None:
    """Windows that always have results need something to see."""
    for axis in range(x.ndim - rank, x.ndim):
        active().require(x.shape[axis] >= 1, f"{call.node.target}: axis {axis} is not empty")


def _adaptive_avg_pool(rank: int) -> Pool:
    def apply(call: Call, x: Tensor, counts: Sizes) -> Tensor:
        dims = [Dim.of(n) for n in _each(rank, counts)]
        if any(dim != 1 for dim in dims):  # one of all is the mean, also of nothing
            _require_elements(call, x, rank)
        return adaptive_pool.adaptive_avg_pool(x, dims)

    return apply


def _adaptive_max_pool(rank: int) -> Pool:
    def apply(call: Call, x: Tensor, counts: Sizes) -> list[Tensor]:
        dims = [Dim.of(n) for n in _each(rank, counts)]
        _require_elements(call, x, rank)
        values, places = adaptive_pool.adaptive_max_with_places(x, dims)
        is_read = any(user.args[1] == 1 for user in call.node.users)
        return [values if is_read else adaptive_pool.adaptive_max_pool(x, dims), places]

    return apply


@entry("aten.im2col.default")
def im2col(
    call: Call, x: Tensor, size: Sizes, dilation: Sizes, padding: Sizes, step: Sizes
) -> Tensor:
    """What each window sees, as columns: `[batch, channels * inside, places]`."""
    batched = x if x.ndim == 4 else x.reshape((1, *x.shape))
    axes = _axes(2, batched, size, step, padding, dilation, False)
    seen = transpose(pool.windows_along(batched, axes, 0), (0, 1, 4, 5, 2, 3))
    batch, channels, *inside = seen.shape
    rows, columns = channels * inside[0] * inside[1], inside[2] * inside[3]
    return seen.reshape((batch, rows, columns) if x.ndim == 4 else (rows, columns))


for _rank in (1, 2, 3):
    TABLE[f"aten.max_pool{_rank}d.default"] = _max_pool(_rank, pool.max_along)
    TABLE[f"aten.max_pool{_rank}d_with_indices.default"] = _max_pool(
        _rank, pool.greatest_with_places
    )
    TABLE[f"aten.avg_pool{_rank}d.default"] = _avg_pool(_rank)
    TABLE[f"aten.adaptive_avg_pool{_rank}d.default"] = _adaptive_avg_pool(_rank)
    TABLE[f"aten.adaptive_max_pool{_rank}d.default"] = _adaptive_max_pool(_rank)
for _rank in (2, 3):
    TABLE[f"aten._adaptive_avg_pool{_rank}d.default"] = _adaptive_avg_pool(_rank)
