"""Products: `matmul` with NumPy's rules, and the general dot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from anyshape.frontend.builder.axes import describe, normal_axes
from anyshape.frontend.builder.convert import ArrayLike, asarray, cast_to, promoted, widened
from anyshape.frontend.builder.movement import broadcast_to
from anyshape.frontend.builder.tracer import active

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor

AxisPairs = tuple[Sequence[int], Sequence[int]]


def dot_general(
    lhs: ArrayLike, rhs: ArrayLike, contract: AxisPairs, batch: AxisPairs = ((), ())
) -> Tensor:
    """The sum over paired axes. The result has the batch axes, then those left of lhs and rhs."""
    left, right = promoted(lhs, rhs)
    return active().emit(
        "dot",
        left,
        right,
        contract=(normal_axes(contract[0], left.ndim), normal_axes(contract[1], right.ndim)),
        batch=(normal_axes(batch[0], left.ndim), normal_axes(batch[1], right.ndim)),
    )


def matmul(lhs: ArrayLike, rhs: ArrayLike) -> Tensor:
    """`lhs @ rhs`: the last axis of lhs with the last but one of rhs; axes before are a batch.

    An operand of rank 1 is a vector, whose axis is summed away. Batch axes broadcast.
    """
    left, right = promoted(lhs, rhs)
    if 0 in (left.ndim, right.ndim):
        raise active().refuse(
            f"matmul of {describe(left)} and {describe(right)}: a scalar is no matrix",
            "use * for products with scalars",
        )
    if right.ndim <= 2 or left.ndim == 1:
        # No batch axes in common: lhs may have any number of axes, rhs too if lhs is a vector.
        return dot_general(left, right, ((-1,), (max(right.ndim - 2, 0),)))
    return _batched(left, right)


def _batched(left: Tensor, right: Tensor) -> Tensor:
    shared = active().broadcast("dot", (left.shape[:-2], right.shape[:-2]))
    left = broadcast_to(left, (*shared, *left.shape[-2:]))
    right = broadcast_to(right, (*shared, *right.shape[-2:]))
    axes = tuple(range(len(shared)))
    return dot_general(left, right, ((-1,), (-2,)), (axes, axes))


def grouped_dot(x: ArrayLike, weights: ArrayLike, offsets: ArrayLike) -> Tensor:
    """Rows of `x` in groups, each times a matrix of its own, as tokens and experts.

    `x[tokens, k]` is sorted by group, `weights[groups, k, n]` are the matrices, and
    `offsets[groups]` say where each group ends: group g has the rows from `offsets[g - 1]`, or 0,
    to `offsets[g]`. Offsets ascend; rows after the last group give zeros.
    """
    left, right = promoted(x, weights)
    return active().emit("grouped_dot", left, right, asarray(offsets))


def vecdot(lhs: ArrayLike, rhs: ArrayLike) -> Tensor:
    """The sum of products over the last axis; those of 16-bit floats are f32, as in a dot."""
    left, right = promoted(lhs, rhs)
    total = (widened(left) * widened(right)).sum(axis=-1)
    return cast_to(total, left.dtype) if left.dtype.is_float else total


def outer(lhs: ArrayLike, rhs: ArrayLike) -> Tensor:
    """Every element of one with every element of the other."""
    return dot_general(lhs, rhs, ((), ()))
