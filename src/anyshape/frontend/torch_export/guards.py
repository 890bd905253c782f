"""torch's guards on sizes, as conditions.

A guard is a condition that Python code evaluated while torch traced it, and that chose what torch
recorded (`if seq > 1:`). While a module is captured, we note them ourselves (see `questions`). A
program that a user exported has what torch kept of them, and refuses calls that break one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import sympy as typed_sympy  # pyright: ignore[reportMissingTypeStubs]  torch brings it
import torch

from anyshape.base.errors import UnsupportedModelError
from anyshape.base.location import Location
from anyshape.frontend.aten.symbols import dim_of
from anyshape.frontend.aten.torch_paths import TORCH_FOLDER
from anyshape.frontend.imported.conditions import AllOf, Condition, OneOf, negated
from anyshape.sym import Dim, Equal, NotEqual, Predicate

sympy: Any = typed_sympy


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition over torch's symbols (a sympy expression), the line that asked it, and its text
    before torch replaced symbols by others or by numbers. One that the model's code `chooses` by
    is a truth, after which it goes on in one of two ways."""

    expression: Any
    location: Location | None
    met_as: str
    chooses: bool = False

    def compares(self, symbol: str) -> bool:
        """Whether it compares that size, as it is, with a number."""
        sides = getattr(self.expression, "args", ())
        names = {str(side) for side in sides if not side.is_Integer}
        return len(sides) == 2 and names == {symbol}


def program_guards(program: Any) -> list[Guard]:
    """The guards that torch kept of an exported program."""
    environment = shape_environment(program)
    if environment is None:
        return []
    return [Guard(g.expr, _location(g.sloc), str(g.expr)) for g in environment.guards]


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
    if str(frame.filename).startswith(TORCH_FOLDER):
        return None
    return Location(str(frame.filename), int(frame.lineno or 0))


# --- conditions -----------------------------------------------------------------------------------


def condition_of(expression: Any, names: Mapping[str, Dim]) -> Condition | None:
    """A condition that torch keeps as a sympy expression; None for what is no arithmetic of
    integers."""
    try:
        return _condition(expression, names)
    except (UnsupportedModelError, KeyError):
        return None


def _condition(expression: Any, names: Mapping[str, Dim]) -> Condition:
    kind = type(expression).__name__
    if kind in _JOINED:
        return _JOINED[kind](tuple(_condition(part, names) for part in expression.args))
    if kind == "Not":
        return negated(_condition(expression.args[0], names))
    if kind in ("BooleanTrue", "BooleanFalse"):
        return kind == "BooleanTrue"
    relation = _RELATIONS[kind]
    left, right = (dim_of(_whole(side), names) for side in expression.args)
    return relation(left, right)


def _whole(side: Any) -> Any:
    """An integer for a float that is one, as every size is: `float(n + m) >= 0.0`."""
    if type(side).__name__ == "ToFloat":
        return side.args[0]
    return sympy.Integer(int(side)) if side.is_Float and float(side).is_integer() else side


_JOINED: dict[str, Callable[[tuple[Condition, ...]], Condition]] = {"And": AllOf, "Or": OneOf}
_RELATIONS: dict[str, Callable[[Dim, Dim], Predicate]] = {
    "Equality": Equal, "Unequality": NotEqual, "LessThan": operator.le,
    "StrictLessThan": operator.lt, "GreaterThan": operator.ge, "StrictGreaterThan": operator.gt,
}  # fmt: skip
