"""Names for the axes of a model's inputs, as users give them.

    axes = {"input_ids": ("batch", "seq"), "mask": ("batch", None, Axis("seq", max=512))}

One entry per input, built like the input itself: where that is a list or a dict of tensors, so is
the entry. One item per axis: a name, an `Axis` that says more, or None for a size that stays as it
is in the example. Inputs without an entry keep all their sizes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch.utils import _pytree as pytree

from anyshape.base.errors import InputError
from anyshape.sym import Axis

Position = str | Axis | int | None


@dataclass(frozen=True)
class NamedAxes:
    """The axes, and for each leaf of the inputs the names of its dynamic positions."""

    axes: tuple[Axis, ...]
    leaves: tuple[Mapping[int, str], ...]


def leaves_of(inputs: Mapping[str, Any]) -> list[tuple[tuple[Any, ...], Any]]:
    """The leaves of all inputs with their key paths, in torch's order."""
    found, _ = pytree.tree_flatten_with_path(dict(inputs))
    return cast(list[tuple[tuple[Any, ...], Any]], found)


def path_text(path: Sequence[Any]) -> str:
    """`past_key_values[0][1]`."""
    return f"{path[0].key}{pytree.keystr(tuple(path[1:]))}"


def named_axes(example: Mapping[str, Any], given: Mapping[str, Any]) -> NamedAxes:
    """What `given` says of an example's tensors; what does not fit them is refused."""
    for name in sorted(given.keys() - example.keys()):
        raise InputError(name, "has axes, but the call has no such argument", _among(example))
    axes: dict[str, Axis] = {}
    leaves: list[Mapping[int, str]] = []
    for path, leaf in leaves_of(example):
        positions = _positions(path, leaf, given)
        leaves.append({i: axis.name for i, axis in positions.items()})
        for axis in positions.values():
            axes[axis.name] = _more_said(axes.get(axis.name), axis)
    return NamedAxes(tuple(axes.values()), tuple(leaves))


def _among(example: Mapping[str, Any]) -> str:
    return f"name axes of {', '.join(example)}"


def _more_said(known: Axis | None, axis: Axis) -> Axis:
    """An axis may be named many times and described once."""
    return axis if known is None or known == Axis(known.name) else known


def _positions(path: Sequence[Any], leaf: Any, given: Mapping[str, Any]) -> dict[int, Axis]:
    entry: Any = given
    for key in path:
        entry = _inside(entry, key)
        if entry is None:
            return {}
    if not isinstance(leaf, torch.Tensor) or len(entry) != leaf.dim():
        shape = list(leaf.shape) if isinstance(leaf, torch.Tensor) else type(leaf).__name__
        problem = f"has axes {tuple(map(str, entry))}, the example is {shape}"
        raise InputError(path_text(path), problem, "give a name or None for each position")
    named = ((i, item) for i, item in enumerate(entry) if isinstance(item, (str, Axis)))
    return {i: item if isinstance(item, Axis) else Axis(item) for i, item in named}


def _inside(entry: Any, key: Any) -> Any:
    """The part of an entry that stands at a key of the input."""
    if isinstance(entry, Mapping):
        return cast(Mapping[Any, Any], entry).get(key.key)
    index = getattr(key, "idx", None)
    return entry[index] if index is not None else getattr(entry, key.name, None)
