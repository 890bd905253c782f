"""The functions that a model's `forward` may lead to, found by names, without running any.

Not all of them are called, and what is called in a way that names do not tell is not among them:
whoever changes something about these functions may miss one, and must not be wrong then.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from inspect import unwrap
from types import CodeType, FunctionType, ModuleType
from typing import Any, cast

_FOREIGN = frozenset({"torch", "numpy", "anyshape", "sympy", *sys.stdlib_module_names})
"""Packages whose functions get no size, or are ready for torch's."""


def reached_functions(module: Any) -> list[FunctionType]:
    """Those of a torch module and its parts."""
    reached = _Reached()
    for each in module.modules():
        reached.add(type(each))
        for value in cast("dict[str, Any]", vars(each)).values():
            reached.add(value)
    return reached.functions()


class _Reached:
    """Functions that `forward` leads to: by global names, and by names of members of classes."""

    def __init__(self) -> None:
        self.seen: set[int] = set()
        self.mentioned: set[str] = {"forward"}
        self.members: dict[str, list[Any]] = {}  # of classes, that nothing mentions so far
        self.waiting: list[FunctionType] = []

    def add(self, value: Any) -> None:
        if id(value) in self.seen or not isinstance(value, (FunctionType, type)):
            return
        self.seen.add(id(value))
        if str(value.__module__).partition(".")[0] in _FOREIGN:
            return
        if isinstance(value, FunctionType):
            self.waiting.append(value)
            return
        for base in value.__bases__:
            self.add(base)
        for name, member in vars(value).items():
            self._add_member(name, _function(member))

    def _add_member(self, name: str, member: Any) -> None:
        if name in self.mentioned or name.startswith("__"):  # Python calls those itself
            self.add(member)
        else:
            self.members.setdefault(name, []).append(member)

    def functions(self) -> list[FunctionType]:
        found: list[FunctionType] = []
        while self.waiting:
            function = self.waiting.pop()
            found.append(function)
            names = mentioned_names(function.__code__)
            self.mentioned |= names
            members = [m for name in names & self.members.keys() for m in self.members.pop(name)]
            called = _called(names, function.__globals__)
            for value in (unwrap(function), *_enclosed(function), *members, *called):
                self.add(value)
        return found


def _function(value: Any) -> Any:
    """The function that a member of a class is made of."""
    if isinstance(value, (staticmethod, classmethod)):
        return cast(Any, value).__func__
    return value.fget if isinstance(value, property) else value


def mentioned_names(code: CodeType) -> set[str]:
    """Names of globals and attributes that a function uses, those inside it too."""
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(mentioned_names, inner))


def _enclosed(function: FunctionType) -> list[Any]:
    values: list[Any] = []
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # not assigned yet
            values.append(cell.cell_contents)
    return values


def _called(mentioned: set[str], names: dict[str, Any]) -> Iterator[Any]:
    """What names are global, and attributes of modules that are."""
    for value in (names[name] for name in mentioned & names.keys()):
        if isinstance(value, ModuleType):
            yield from (vars(value)[name] for name in mentioned & vars(value).keys())
        yield value
