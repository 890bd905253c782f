"""Names for the axes of a model's inputs, as users give them.

    axes = {"input_ids": ("batch", "seq"), "mask": ("batch", "past + seq", None)}
    axes = {"x": (Axis("batch", min=1, max=64), None)}

One entry per input, built like the input itself: where that is a list or a dict of tensors, so is
the entry. One item per axis: a name, an expression over names, an `Axis` that says more, or None
for a size that stays as it is in the example. Inputs without an entry keep all their sizes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch.utils import _pytree as pytree

from anyshape.base.errors import DimError, InputError
from anyshape.ir.types import no_size
from anyshape.sym import Axis, Dim

Position = str | Axis | None
Places = Mapping[int, Dim]
"""The dims of a tensor's dynamic positions."""


@dataclass(frozen=True)
class NamedAxes:
    """The axes, and for each leaf of the inputs the dims of its dynamic positions, its name, and
    its number of axes."""

    axes: tuple[Axis, ...]
    leaves: tuple[Places, ...]
    paths: tuple[str, ...]
    ranks: tuple[int, ...]


def leaves_of(inputs: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The leaves of all inputs with their paths, in torch's order."""
    found, _ = pytree.tree_flatten_with_path(dict(inputs))
    return [(path_text(path), leaf) for path, leaf in found]


def path_text(path: Sequence[Any]) -> str:
    """`past_key_values[0][1]`."""
    return f"{path[0].key}{pytree.keystr(tuple(path[1:]))}"


def named_axes(example: Mapping[str, Any], given: Mapping[str, Any]) -> NamedAxes:
    """What `given` says of an example's tensors; what does not fit them is refused."""
    for name in sorted(given.keys() - example.keys()):
        fix = f"name axes of {', '.join(example)}"
        raise InputError(name, "has axes, but the call has no such argument", fix)
    axes: dict[str, Axis] = {}
    leaves: list[Places] = []
    found, _ = pytree.tree_flatten_with_path(dict(example))
    for path, leaf in found:
        positions = _positions(path, leaf, given)
        leaves.append({i: _dim(item) for i, item in positions.items()})
        for axis in (axis for item in positions.values() for axis in _axes(item)):
            axes[axis.name] = _more_said(axes.get(axis.name), axis)
    paths = tuple(path_text(path) for path, _ in found)
    ranks = tuple(len(getattr(leaf, "shape", ())) for _, leaf in found)
    return NamedAxes(tuple(axes.values()), tuple(leaves), paths, ranks)


def _dim(item: str | Axis) -> Dim:
    return Dim.of(item.name if isinstance(item, Axis) else item)


def _axes(item: str | Axis) -> list[Axis]:
    """The axes that an item names."""
    if isinstance(item, Axis):
        return [item]
    return [Axis(symbol.name) for symbol in sorted(Dim.of(item).symbols, key=str)]


def is_bare(axis: Axis) -> bool:
    """Whether only the name is given."""
    return axis == Axis(axis.name)


def _more_said(known: Axis | None, axis: Axis) -> Axis:
    """An axis may be named many times and described once."""
    return axis if known is None or is_bare(known) else known


def _positions(path: Sequence[Any], leaf: Any, given: Mapping[str, Any]) -> dict[int, str | Axis]:
    entry: Any = given
    for key in path:
        entry = _inside(entry, key)
        if entry is None:
            return {}
    if not isinstance(entry, (tuple, list)):
        problem = f"has the axes {entry!r}"
        raise InputError(path_text(path), problem, "give a tuple: a name or None for each position")
    entry = cast(Sequence[Any], entry)
    if not isinstance(leaf, torch.Tensor) or len(entry) != leaf.dim():
        shape = list(leaf.shape) if isinstance(leaf, torch.Tensor) else type(leaf).__name__
        problem = f"has axes {tuple(map(str, entry))}, the example is {shape}"
        raise InputError(path_text(path), problem, "give a name or None for each position")
    for position, (item, size) in enumerate(zip(entry, leaf.shape, strict=True)):
        _check_item(path, position, item)
        if isinstance(item, int) and item != size:
            problem = f"has {size} at axis {position}, where axes say {item}"
            raise InputError(path_text(path), problem, f"pass an example with {item}, or give None")
    return {i: item for i, item in enumerate(entry) if isinstance(item, (str, Axis))}


def _check_item(path: Sequence[Any], position: int, item: object) -> None:
    """A name, an expression, an Axis, a number or None."""
    if item is not None and (isinstance(item, bool) or not isinstance(item, (str, Axis, int))):
        problem = f"has {item!r} as axis {position}"
        raise InputError(path_text(path), problem, "give a name, an ash.Axis or None")
    if isinstance(item, str) and (problem := no_size(Dim.of(item))):
        raise DimError(item, problem, "use a name or None for a size that varies")


def _inside(entry: Any, key: Any) -> Any:
    """The part of an entry that stands at a key of the input."""
    if isinstance(entry, Mapping):
        return cast(Mapping[Any, Any], entry).get(key.key)
    index = getattr(key, "idx", None)
    return entry[index] if index is not None else getattr(entry, key.name, None)
