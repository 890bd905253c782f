"""`x[...]` with everything NumPy takes.

Integers, slices, `...` and None first: together at most one slice, one reverse and one reshape.
Then index tensors: they broadcast together, and one gather over the merged axes takes them all.
A mask alone selects rows; beside other indices it means the places where it holds.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from anyshape.frontend.builder.arrays import as_array, is_array
from anyshape.frontend.builder.assemble import pad
from anyshape.frontend.builder.axes import describe
from anyshape.frontend.builder.bounds import Span, single, span_of, whole
from anyshape.frontend.builder.convert import asarray
from anyshape.frontend.builder.elementwise import logical_and, where
from anyshape.frontend.builder.late import nonzero, selected
from anyshape.frontend.builder.movement import broadcast_to, from_front, gather, permuted, squeeze
from anyshape.frontend.builder.source import iota
from anyshape.frontend.builder.tracer import active, is_tensor
from anyshape.ir.types import Array, Shape, bool_, i64
from anyshape.sym import Dim, Equal, product

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from anyshape.frontend.builder.tensor import Tensor

Basic = int | Dim | slice
Item = Any  # what users write between brackets; `_sorted_item` refuses what is no index


Indices = tuple["Basic | Tensor | None", ...]
"""An index with `...` written out: one entry per axis, None for each new axis."""


def getitem(x: Tensor, index: Item) -> Tensor:
    """The part of `x` that `index` names."""
    items = cast(tuple[Item, ...], index) if isinstance(index, tuple) else (index,)
    if len(items) == 1 and is_mask(items[0]) and items[0].ndim:
        return selected(items[0], x)[0]
    check_masks(x, items)
    kept, positions = _basic(x, _indices(x, items))
    return _gathered(kept, positions) if positions else kept


def _indices(x: Tensor, items: Sequence[Item]) -> Indices:
    """As in NumPy, an integer beside index tensors is one of them."""
    indices = _written_out(x, [_sorted_item(item) for item in without_masks(items)])
    if not any(is_tensor(item) for item in indices):
        return indices
    return tuple(_number(i) if isinstance(i, (int, Dim)) else i for i in indices)


def check_masks(x: Tensor, items: Sequence[Item]) -> None:
    """A mask has the sizes of the axes that it stands for."""
    taken = [_axes_taken(item) for item in items]
    axis = 0
    for item, count in zip(items, taken, strict=True):
        if is_mask(item):
            _check_mask(x, item, axis)
        axis += max(x.ndim - sum(taken), 0) if item is Ellipsis else count


def _axes_taken(item: Item) -> int:
    return item.ndim if is_mask(item) else int(item is not None and item is not Ellipsis)


def _check_mask(x: Tensor, mask: Tensor, axis: int) -> None:
    if mask.ndim > x.ndim - axis:
        raise active().refuse(
            f"a mask of {mask.ndim} axes at axis {axis} of {describe(x)}",
            "use a mask with axes of the tensor",
        )
    for flags, size in zip(mask.shape, x.shape[axis:], strict=False):
        active().require(Equal(flags, size), "a mask has the sizes of what it selects from")


def without_masks(items: Sequence[Item]) -> list[Item]:
    """A mask means the indices of its true elements, one tensor for each axis."""
    return [part for item in items for part in (nonzero(item) if _has_places(item) else (item,))]


def _has_places(item: Item) -> bool:
    return is_mask(item) and item.ndim > 0


def _number(number: int | Dim) -> Tensor:
    return asarray(number, i64)


def _sorted_item(item: Item) -> Basic | EllipsisType | Tensor | None:
    """One entry of an index as one of the forms the rest knows."""
    if item is None or item is Ellipsis or isinstance(item, (slice, Dim)):
        return cast(Any, item)
    if isinstance(item, (bool, np.bool_)) or is_mask(item):
        raise active().refuse(
            "a mask without axes as index", "use a mask with axes of the tensor, or ash.where"
        )
    if is_tensor(item):
        return item
    if isinstance(item, (int, np.integer)):
        return operator.index(cast(int, item))
    return _constant_index(item)


def is_mask(item: Item) -> TypeIs[Tensor]:
    return is_tensor(item) and item.dtype == bool_


def _constant_index(item: Item) -> Tensor:
    """An array or list of integers."""
    array = as_array(item) if is_array(item) else _listed(item)
    if array.dtype.kind not in "iu":
        fix = "np.flatnonzero(mask)" if array.dtype == np.bool_ else "integers or slices"
        raise active().refuse(f"an index of {array.dtype}", f"index with {fix}")
    return asarray(array)


def _listed(item: Item) -> Array:
    if not isinstance(item, list):
        raise active().refuse(
            f"cannot index with a {type(item).__name__}",
            "use integers, slices, `...`, None, or an integer tensor",
        )
    return np.asarray(cast(list[Any], item) or np.zeros(0, np.int64))


def _written_out(x: Tensor, items: Sequence[Basic | EllipsisType | Tensor | None]) -> Indices:
    """Whole slices in the place of `...`, or at the end."""
    taken = sum(item is not None and item is not Ellipsis for item in items)
    dots = [place for place, item in enumerate(items) if item is Ellipsis]
    if taken > x.ndim or len(dots) > 1:
        problem = f"{taken} indices" if taken > x.ndim else "two `...`"
        raise active().refuse(
            f"{problem} for {describe(x)}", f"use at most {x.ndim} indices and one `...`"
        )
    place = dots[0] if dots else len(items)
    rest = items[place + 1 :] if dots else ()
    middle = [slice(None)] * (x.ndim - taken)
    return cast(Indices, (*items[:place], *middle, *rest))


def _basic(x: Tensor, indices: Indices) -> tuple[Tensor, dict[int, Tensor]]:
    """Everything but index tensors applied, and the axes of the result where those belong."""
    old = [item for item in indices if item is not None]
    part = _sliced(x, [_span(item, size) for item, size in zip(old, x.shape, strict=True)])
    sizes = iter(part.shape)
    shape: list[Dim] = []
    positions: dict[int, Tensor] = {}
    for item in indices:
        size = Dim.of(1) if item is None else next(sizes)
        if is_tensor(item):
            positions[len(shape)] = item
        if not isinstance(item, (int, Dim)):
            shape.append(size)
    if len(old) == len(shape) == len(indices):
        return part, positions
    return active().emit("reshape", part, shape=shape), positions


def _span(item: Basic | Tensor, size: Dim) -> Span:
    if is_tensor(item):
        return whole(size)
    return span_of(item, size) if isinstance(item, slice) else single(item, size)


def _sliced(x: Tensor, spans: Sequence[Span]) -> Tensor:
    """At most one reverse and one slice."""
    backwards = tuple(axis for axis, span in enumerate(spans) if span.reverse)
    if backwards:
        x = active().emit("reverse", x, axes=backwards)
    if all(span.is_whole(size) for span, size in zip(spans, x.shape, strict=True)):
        return x
    return active().emit(
        "slice",
        x,
        starts=[span.start for span in spans],
        stops=[span.stop for span in spans],
        steps=[span.step for span in spans],
    )


# --- index tensors --------------------------------------------------------------------------------


def _gathered(x: Tensor, positions: dict[int, Tensor]) -> Tensor:
    """The elements at `positions`: axis -> indices. Their axes stand where the first one was, or
    in front if the indexed axes are not neighbours, as in NumPy."""
    merged = _merged(x, positions)
    return gather(merged.tensor, merged.indices, merged.place)


def put(x: Tensor, positions: dict[int, Tensor], values: Tensor, combine: str) -> Tensor:
    """`x` with `values` written, or combined with what is there, where `_gathered` would read."""
    merged = _merged(x, positions)
    flat, place = merged.tensor, merged.place
    wanted = (*flat.shape[:place], *merged.indices.shape, *flat.shape[place + 1 :])
    updates = spread(values, wanted)
    attrs = {"axis": place, "combine": combine}
    written = active().emit("scatter", flat, merged.indices, updates, **attrs)
    apart = active().emit("reshape", written, shape=[x.shape[axis] for axis in merged.order])
    return permuted(apart, [merged.order.index(axis) for axis in range(x.ndim)])


def spread(values: Tensor, shape: Shape) -> Tensor:
    """Values for all elements of a shape; as in NumPy, they may have more axes of size 1 before."""
    extra = max(values.ndim - len(shape), 0)
    return broadcast_to(squeeze(values, tuple(range(extra))) if extra else values, shape)


def places_of(x: Tensor, items: Sequence[Item]) -> Tensor:
    """Which elements of `x`, by their number, an index names: -1 where it is outside, which no
    scatter writes. A gather would take the nearest element instead."""
    kept, positions = _basic(iota(x.size, 0).reshape(x.shape), _indices(x, items))
    if not positions:
        return kept
    merged = _merged(kept, positions)
    index, size = merged.indices, merged.tensor.shape[merged.place]
    widths = [(0, int(axis == merged.place)) for axis in range(merged.tensor.ndim)]
    inside = logical_and(index >= 0, index < size)
    return gather(pad(merged.tensor, widths, -1), where(inside, index, size), merged.place)


@dataclass(frozen=True, slots=True)
class _Merged:
    """A tensor whose indexed axes are one axis, at `place`; `order` is that of its axes before."""

    tensor: Tensor
    indices: Tensor
    place: int
    order: tuple[int, ...]


def _merged(x: Tensor, positions: dict[int, Tensor]) -> _Merged:
    axes = list(positions)
    neighbours = axes == list(range(axes[0], axes[0] + len(axes)))
    place = axes[0] if neighbours else 0
    others = [axis for axis in range(x.ndim) if axis not in axes]
    order = (*others[:place], *axes, *others[place:])
    x = permuted(x, order)
    sizes = x.shape[place : place + len(axes)]
    shape = (*x.shape[:place], product(sizes), *x.shape[place + len(axes) :])
    flat = x if len(axes) == 1 else active().emit("reshape", x, shape=shape)
    return _Merged(flat, _linear(list(positions.values()), sizes), place, order)


def _linear(indices: list[Tensor], sizes: Shape) -> Tensor:
    """One index into the merged axes. An index outside its own axis becomes -1, which no gather
    takes: merged, it would silently be an element of the next row."""
    if len(indices) == 1:
        return from_front(indices[0], sizes[0])
    first, *others = [from_front(i, n) for i, n in zip(indices, sizes, strict=True)]
    linear = first
    for index, size in zip(others, sizes[1:], strict=True):
        inside = logical_and(index >= 0, index < size)
        linear = where(logical_and(inside, linear >= 0), linear * size + index, -1)
    return linear
