"""What `compile` is given by mistake, and the line that was meant."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, cast

from anyshape.base.errors import InputError, OptionKindError

_KINDS: Mapping[str, tuple[type | tuple[type, ...], str, str]] = {
    "args": ((tuple, list), "a tuple of the example's arguments", "compile(model, (x,), ...)"),
    "kwargs": (
        Mapping,
        "a dict of the example's arguments",
        "compile(model, kwargs={'x': x}, ...)",
    ),
    "axes": (Mapping, "a dict from names of inputs to names of axes", ""),
    "names": (Mapping, "a dict from torch's symbols to names of axes", "names={'s43': 'batch'}"),
}


def check_kinds(source: object, **given: object) -> None:
    """Refuses arguments of `compile` that are of another kind than they must be."""
    for name, value in given.items():
        kind, expected, fix = _KINDS[name]
        if value is not None and not isinstance(value, kind):
            fix = fix or f"axes={_axes_meant(source, value)}"
            raise OptionKindError(name, type(value).__name__, expected, fix)


def _axes_meant(source: object, value: object) -> str:
    """The dict for axes that were given in the order of the parameters."""
    names = _parameters(source)
    if isinstance(value, (tuple, list)) and names:
        items = list(cast(Sequence[Any], value))
        if all(isinstance(item, (tuple, list)) for item in items) and len(items) <= len(names):
            return str({name: tuple(item) for name, item in zip(names, items, strict=False)})
        if all(item is None or isinstance(item, str) for item in items):
            return str({names[0]: tuple(items)})
    return str({names[0] if names else "x": ("batch", None)})


def _parameters(source: object) -> list[str]:
    try:
        return list(inspect.signature(getattr(source, "forward", cast(Any, source))).parameters)
    except (TypeError, ValueError):
        return []


def no_model(source: object) -> InputError:
    """For a source that nothing can be made of."""
    if isinstance(source, type):
        fix = f"make a model of it: compile({source.__name__}(...), args)"
        return InputError("source", f"is the class {source.__name__}, no model", fix)
    problem = f"is a {type(source).__name__}, no model"
    return InputError("source", problem, "pass a Graph, a jitted function, or a torch module")
