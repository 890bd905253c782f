"""torch's guards on sizes, as conditions.

A guard is a condition that Python code evaluated while torch traced it, and that chose what torch
recorded (`if seq > 1:`). Guards of torch's own code do not count: they choose between ways to
compute the same, or repeat what the ops require anyway. Guards of the model's code are required:
proven, or checked by every call.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import torch

from anyshape.base.location import Location
from anyshape.frontend.aten.symbols import dim_of
from anyshape.frontend.aten.torch_paths import TORCH_FOLDER
from anyshape.frontend.imported.conditions import AllOf, Condition, OneOf, negated
from anyshape.sym import Dim, Equal, NotEqual, Predicate


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition over torch's symbols (a sympy expression), the line that asked it, and its text
    before torch replaced symbols by others or by numbers."""

    expression: Any
    location: Location | None
    met_as: str


def model_guards(program: Any) -> list[Guard]:
    """The guards of an exported program that come from its model's code."""
    environment = shape_environment(program)
    if environment is None:
        return []
    replaced = environment.replacements  # symbols that torch found equal to others
    recorded = ((guard.expr, _location(guard.sloc)) for guard in environment.guards)
    return [
        Guard(expression.xreplace(replaced).xreplace(replaced), location, str(expression))
        for expression, location in recorded
        if not _is_torch(location)
    ]


def was_traced_here(program: Any) -> bool:
    """Whether torch still has the guards; a program loaded from a file has their text only."""
    environment = shape_environment(program)
    return environment is not None and bool(environment.guards)


def shape_environment(program: Any) -> Any:
    """torch's ShapeEnv, which knows the symbols; None for a program without any."""
    for node in program.graph.nodes:
        value = node.meta.get("val") if node.op == "placeholder" else None
        sizes: Any = value.shape if isinstance(value, torch.Tensor) else ()
        for size in sizes:
            if isinstance(size, torch.SymInt):
                return cast(Any, size).node.shape_env
    return None


def _location(source: Any) -> Location | None:
    frame = source.framework_loc
    if frame is None or isinstance(frame, str):
        return None
    return Location(str(frame.filename), int(frame.lineno or 0))


def _is_torch(location: Location | None) -> bool:
    return location is None or location.file.startswith(TORCH_FOLDER)


# --- conditions -----------------------------------------------------------------------------------


def condition_of(expression: Any, names: Mapping[str, Dim]) -> Condition:
    """A condition that torch keeps as a sympy expression."""
    kind = type(expression).__name__
    if kind in _JOINED:
        parts = (condition_of(part, names) for part in expression.args)
        return _JOINED[kind](tuple(parts))
    if kind == "Not":
        return negated(condition_of(expression.args[0], names))
    if kind in ("BooleanTrue", "BooleanFalse"):
        return kind == "BooleanTrue"
    left, right = (dim_of(side, names) for side in expression.args)
    return _RELATIONS[kind](left, right)


_JOINED: dict[str, Callable[[tuple[Condition, ...]], Condition]] = {"And": AllOf, "Or": OneOf}
_RELATIONS: dict[str, Callable[[Dim, Dim], Predicate]] = {
    "Equality": Equal, "Unequality": NotEqual, "LessThan": operator.le,
    "StrictLessThan": operator.lt, "GreaterThan": operator.ge, "StrictGreaterThan": operator.gt,
}  # fmt: skip
