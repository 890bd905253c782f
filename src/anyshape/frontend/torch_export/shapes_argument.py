"""`dynamic_shapes=`: what torch.export itself would fail at without naming the argument.

Everything else that is wrong with it, torch refuses in words of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

import torch

from anyshape.base.errors import InputError, OptionError

FORM = "a dict by input or a sequence in their order, such as {'x': {0: torch.export.Dim('batch')}}"


def check_dynamic_shapes(shapes: Any, inputs: Mapping[str, Any]) -> None:
    """Refuses what is no description of shapes, and axes that an input does not have."""
    if hasattr(shapes, "dynamic_shapes"):  # a ShapesCollection, or additional inputs
        return
    if not isinstance(shapes, Mapping | tuple | list):
        raise OptionError("dynamic_shapes", str(shapes), FORM)
    for path, axes, rank in _axes_by_input(shapes, inputs, ""):
        for axis in axes:
            if not isinstance(axis, int) or not -rank <= axis < rank:
                problem = f"has no axis {axis!r}, which dynamic_shapes describes"
                fix = f"describe axes from 0 to {rank - 1}" if rank else "leave it out"
                raise InputError(path, problem, fix)


def _axes_by_input(shapes: Any, inputs: Any, path: str) -> Iterator[tuple[str, list[object], int]]:
    """The axes that are described of each tensor, and how many it has."""
    if isinstance(inputs, torch.Tensor):
        if isinstance(shapes, Mapping):
            yield path, list(cast(Mapping[object, Any], shapes)), inputs.dim()
        return
    given, values = _items(shapes, inputs), dict(_items(inputs, inputs))
    for key, inner in given:
        if key in values:
            yield from _axes_by_input(inner, values[key], f"{path}.{key}" if path else str(key))


def _items(tree: Any, inputs: Any) -> list[tuple[object, Any]]:
    """Of one level of a tree; a sequence is in the order of the inputs, which may have names."""
    if isinstance(tree, Mapping):
        return list(cast(Mapping[object, Any], tree).items())
    if isinstance(tree, tuple | list):
        values = cast(list[Any], tree)
        named = list(cast(Mapping[object, Any], inputs)) if isinstance(inputs, Mapping) else []
        return list(zip(named or range(len(values)), values, strict=False))
    return []
