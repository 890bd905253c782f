"""`x[index] = values`: the tensor that `x` names becomes one with other elements.

Tensors are values: nothing is written to. The object takes another value, so whoever holds it sees
the assignment, as with an array. That would not be true of everything NumPy does, so the rest is
refused: parameters, which are arrays of the caller; views, and tensors of which there are views;
tensors of the function around a branch or a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from anyshape.frontend.builder.convert import ArrayLike, asarray, cast_to
from anyshape.frontend.builder.elementwise import where
from anyshape.frontend.builder.index import (
    check_masks,
    is_mask,
    places_of,
    put,
    spread,
    without_masks,
)
from anyshape.frontend.builder.movement import ravel
from anyshape.frontend.builder.tracer import active, is_tensor
from anyshape.ir.node import Value
from anyshape.ops import movement

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor

VIEWS: Final = frozenset(
    {movement.reshape, movement.transpose, movement.slice_, movement.reverse, movement.broadcast}
)
"""Ops whose results share their memory with the operand, in NumPy."""


def assign(x: Tensor, index: Any, values: ArrayLike) -> None:
    """Gives `x` the value that an array would have."""
    _check_own(x)
    new = assigned(x, index, values)
    x.value = active().value(new)


def assigned(x: Tensor, index: Any, values: ArrayLike) -> Tensor:
    """`x` with other elements where `index` says; they are converted to its dtype."""
    items: list[Any] = list(cast(Sequence[Any], index)) if isinstance(index, tuple) else [index]
    updates = cast_to(asarray(values), x.dtype)
    check_masks(x, items)
    if len(items) == 1 and is_mask(items[0]) and updates.ndim == 0:
        mask = items[0]
        return where(mask.reshape(*mask.shape, *(1,) * (x.ndim - mask.ndim)), updates, x)
    items = without_masks(items)
    if items and all(is_tensor(item) for item in items):
        return put(x, dict(enumerate(items)), updates, "set")
    return _by_place(x, items, updates)


def _by_place(x: Tensor, items: Sequence[Any], updates: Tensor) -> Tensor:
    """The same index of the elements' numbers says where they go."""
    places = places_of(x, items)
    given = ravel(spread(updates, places.shape))
    written = active().emit("scatter", ravel(x), ravel(places), given, axis=0)
    return written.reshape(x.shape)


def _check_own(x: Tensor) -> None:
    tracer = active()
    if x.tracer is not tracer:
        raise tracer.refuse(
            "a tensor of the function around is assigned to inside a branch or loop",
            "give it back as a result, or carry it",
        )
    if tracer.is_param(x):
        raise tracer.refuse(
            "a parameter is assigned to, and arrays of callers stay as they are",
            "assign to a tensor of its own: x = x.astype(x.dtype)",
        )
    if any(_share(x.value, other.value) for other in tracer.alive() if other is not x):
        raise tracer.refuse(
            "a tensor is assigned to that shares its elements with another, as NumPy's views do",
            "take slices, reshapes and transposes behind the assignment, or del them before",
        )


def _share(one: Value, other: Value) -> bool:
    """Whether one is a view of the other, or both are of a third. Two equal values are not: they
    may have been made twice."""
    mine, theirs = _bases(one), _bases(other)
    return one in theirs or other in mine or bool(set(mine) & set(theirs))


def _bases(value: Value) -> list[Value]:
    """What a view is a view of, and what that is one of; not the number that fills a tensor."""
    bases: list[Value] = []
    while value.node.op in VIEWS:
        value = value.node.operands[0]
        if value.tensor.rank:
            bases.append(value)
    return bases
