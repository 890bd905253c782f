"""Elements at computed places, and sorting."""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.frontend.aten.calls import Call, NoEntryError, entry
from anyshape.frontend.aten.value_checks import check_indices, op_name
from anyshape.frontend.builder import source
from anyshape.frontend.builder.axes import normal_axis
from anyshape.frontend.builder.elementwise import where
from anyshape.frontend.builder.index import getitem, put
from anyshape.frontend.builder.late import argwhere
from anyshape.frontend.builder.late import nonzero as nonzero_indices
from anyshape.frontend.builder.movement import gather
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.ir.attrs import make_attrs
from anyshape.ir.opdef import lookup
from anyshape.ir.types import bool_
from anyshape.sym import Dim

FROM_FRONT = frozenset({"index_add", "index_copy"})
"""Ops that torch decomposes into `index_put`, which takes indices below 0, and that do not."""


@entry("aten.index.Tensor")
def index(call: Call, x: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """None takes a whole axis. A mask alone selects rows."""
    if _is_mask_alone(indices):
        return _indexed(x, indices)
    items = _without_masks(indices)
    result = _indexed(x, items)
    _check_items(call, x, items, indices, result.shape)
    return result


@entry("aten._unsafe_index.Tensor")
def unsafe_index(call: Call, x: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """What torch's own decompositions index with: they are in range."""
    return _indexed(x, indices if _is_mask_alone(indices) else _without_masks(indices))


def _is_mask_alone(indices: Sequence[Tensor | None]) -> bool:
    (*_, last) = indices
    return len(indices) == 1 and last is not None and last.dtype == bool_ and last.ndim > 0


def _indexed(x: Tensor, items: Sequence[Tensor | None]) -> Tensor:
    return getitem(x, tuple(slice(None) if item is None else item for item in items))


def _without_masks(indices: Sequence[Tensor | None]) -> list[Tensor | None]:
    """A mask means the indices of its true elements, one tensor for each axis."""
    items: list[Tensor | None] = []
    for item in indices:
        if item is not None and item.dtype == bool_:
            items.extend(nonzero_indices(item))
        else:
            items.append(item)
    return items


def _check_items(
    call: Call,
    x: Tensor,
    items: Sequence[Tensor | None],
    given: Sequence[Tensor | None],
    result: Sequence[Dim],
) -> None:
    """Those that were `given` as indices; what masks mean is in range."""
    from_end = op_name(call) not in FROM_FRONT
    for axis, item in enumerate(items):
        if item is not None and any(item is each for each in given):
            check_indices(call, item, x.shape[axis], axis, from_end=from_end, result=result)


@entry("aten.index_select.default")
def index_select(call: Call, x: Tensor, dim: int, indices: Tensor) -> Tensor:
    axis = normal_axis(dim, x.ndim)
    check_indices(call, indices, x.shape[axis], axis)
    return gather(x, indices, axis)


@entry("aten.gather.default")
def take_along(
    call: Call, x: Tensor, dim: int, indices: Tensor, sparse_grad: bool = False
) -> Tensor:
    axis = normal_axis(dim, x.ndim)
    check_indices(call, indices, x.shape[axis], axis)
    return active().emit("take_along", x, indices, axis=axis)


@entry("aten.index_put.default")
def index_put(
    call: Call,
    x: Tensor,
    indices: Sequence[Tensor | None],
    values: Tensor,
    accumulate: bool = False,
) -> Tensor:
    items = _without_masks(indices)
    _check_items(call, x, items, indices, _looked_at(call, x, items))
    return unsafe_index_put(call, x, indices, values, accumulate)


def _looked_at(call: Call, x: Tensor, items: Sequence[Tensor | None]) -> tuple[Dim, ...]:
    """Sizes of which none is 0 if torch looks at the indices: those of what is written, or for
    `index_add` of what it is written into."""
    shapes = [item.shape for item in items if item is not None]
    whole = [size for size, item in zip(x.shape, items, strict=False) if item is None]
    into = x.shape if op_name(call) == "index_add" else ()
    return (*active().broadcast("add", shapes), *whole, *x.shape[len(items) :], *into)


@entry("aten._unsafe_index_put.default")
def unsafe_index_put(
    call: Call,
    x: Tensor,
    indices: Sequence[Tensor | None],
    values: Tensor,
    accumulate: bool = False,
) -> Tensor:
    """Several index tensors broadcast together. One value for a whole mask needs no indices."""
    value, first = call.operand(values), indices[0]
    if len(indices) == 1 and first is not None and first.dtype == bool_ and values.ndim == 0:
        mask = first.reshape((*first.shape, *(1,) * (x.ndim - first.ndim)))
        return where(mask, x + value if accumulate else value, x)
    items = enumerate(_without_masks(indices))
    positions = {axis: item for axis, item in items if item is not None}
    adds = "max" if x.dtype == bool_ else "add"  # a sum of truths is their disjunction
    return put(x, positions, value, adds if accumulate else "set")


@entry("aten.one_hot.default")
def one_hot(call: Call, x: Tensor, num_classes: int | Dim = -1) -> Tensor:
    """Without a number of classes, the greatest index says how many there are."""
    if isinstance(num_classes, int) and num_classes < 1:
        raise NoEntryError
    check_indices(call, x, Dim.of(num_classes), 0)
    return source.one_hot(x, num_classes, call.dtype)


@entry("aten.nonzero.default")
def nonzero(call: Call, x: Tensor) -> Tensor:
    return argwhere(x)


# --- order ----------------------------------------------------------------------------------------


def _two(op: str, x: Tensor, **attrs: object) -> tuple[Tensor, ...]:
    tracer = active()
    record = make_attrs(op, lookup(op).attrs, attrs)
    return tracer.node(op, [tracer.value(x)], record)


@entry("aten.sort.default")
def sort(call: Call, x: Tensor, dim: int = -1, descending: bool = False) -> tuple[Tensor, ...]:
    return _two("sort", x, axis=normal_axis(dim, x.ndim), descending=descending)


@entry("aten.sort.stable")
def sort_stable(
    call: Call, x: Tensor, *, stable: bool | None, dim: int = -1, descending: bool = False
) -> tuple[Tensor, ...]:
    return _two("sort", x, axis=normal_axis(dim, x.ndim), descending=descending)


@entry("aten.topk.default")
def topk(
    call: Call, x: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Tensor, ...]:
    return _two("topk", x, axis=normal_axis(dim, x.ndim), k=k, largest=largest)
