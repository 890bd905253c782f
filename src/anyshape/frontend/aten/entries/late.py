"""Results whose sizes the data decide: values that occur, how often, and what is repeated."""

from __future__ import annotations

from anyshape.frontend.aten.calls import Call, NoEntryError, entry
from anyshape.frontend.aten.value_checks import check_indices
from anyshape.frontend.builder import late
from anyshape.frontend.builder.convert import as_index
from anyshape.frontend.builder.source import zeros
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.ir.types import bool_, f32, f64, i64
from anyshape.sym import Dim, Equal


@entry("aten.masked_select.default")
def masked_select(call: Call, x: Tensor, mask: Tensor) -> Tensor:
    return late.masked_select(x, mask)


@entry("aten._unique2.default")
def unique(
    call: Call,
    x: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> tuple[Tensor, ...]:
    """In order, asked for or not. torch takes each NaN for a value of its own."""
    found = late.occurring(x, in_order=False, equal_nan=False)
    return _occurring(found, return_inverse, return_counts)


@entry("aten.unique_consecutive.default")
def unique_consecutive(
    call: Call,
    x: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> tuple[Tensor, ...]:
    if dim is not None:
        raise NoEntryError
    found = late.occurring(x, in_order=True, equal_nan=False)
    return _occurring(found, return_inverse, return_counts)


def _occurring(found: late.Occurring, inverse: bool, counts: bool) -> tuple[Tensor, ...]:
    """What is not asked for is empty."""
    return (
        found.values,
        found.inverse() if inverse else zeros(0, i64),
        found.counts() if counts else zeros(0, i64),
    )


@entry("aten.bincount.default")
def bincount(
    call: Call, x: Tensor, weights: Tensor | None = None, minlength: int | Dim = 0
) -> Tensor:
    """Weights are summed in f64, unless they are f32."""
    if x.dtype == bool_:
        raise NoEntryError
    if weights is not None and weights.dtype != f32:
        weights = weights.astype(f64)
    index = as_index(x)
    found = late.counted(index, weights, late.greatest_and_one(index, minlength))
    check_indices(call, index, found.shape[0], 0)
    return found


@entry("aten.repeat_interleave.Tensor")
def repeat_interleave(
    call: Call, repeats: Tensor, *, output_size: int | Dim | None = None
) -> Tensor:
    """For each result, the index of what is repeated there."""
    places = late.repeated(as_index(repeats))
    if output_size is not None:
        why = "repeat_interleave: output_size is the sum of repeats"
        active().require(Equal(places.shape[0], Dim.of(output_size)), why)
    return places.astype(call.dtype)
