"""Sizes are of Python's types for the model's code, as they are in eager mode.

While torch traces, a size is a `SymInt`, which is no `int`, so that

    if isinstance(size, int):      takes another branch
    if type(size) is int:          than in eager mode

and nothing is asked. `isinstance` reads an object's `__class__`, which is `int` then for whoever is
the model's code. `type` reads nothing of the object: modules with functions that the model may call
and that mention both `type` and `int` have a `type` of their own within, which is Python's but for
sizes. torch's own code goes on with its own types.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from inspect import unwrap
from threading import get_ident
from types import CodeType, FunctionType, ModuleType
from typing import Any, cast
from unittest.mock import patch

import torch

from anyshape.frontend.torch_export.askers import is_models_own, is_torchs_or_ours
from anyshape.frontend.torch_export.integer_calls import integer_calls

_NUMBERS: dict[type, type] = {torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool}
_FOREIGN = frozenset({"torch", "numpy", "anyshape", "sympy", *sys.stdlib_module_names})
"""Packages whose functions get no size, or are ready for torch's."""


def number_classes() -> list[AbstractContextManager[Any]]:
    """Within these, a size is an instance of `int` where the model's code asks."""
    return [_classed(kind, number) for kind, number in _NUMBERS.items()]


class _TypeOfNumbers(type):
    """Calls of the class below are calls of `type`."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        kind = type(*args, **kwargs)
        return _NUMBERS.get(kind, kind) if len(args) == 1 else kind

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, type)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, type)


class _Type(type, metaclass=_TypeOfNumbers):
    """`type` for the model's modules."""


@contextmanager
def number_types(module: Any) -> Generator[None]:
    """Within, `type(size)` is `int` in the modules of what the model calls, and `int(size)` the
    size."""
    reached = _reached_functions(module)
    with ExitStack() as stack:
        for names in _modules_with_type(reached):
            stack.enter_context(patch.dict(names, {"type": _Type}))
        stack.enter_context(integer_calls(each for each in reached if _calls_int(each)))
        yield


def _reached_functions(module: Any) -> list[FunctionType]:
    """The functions that the model may call."""
    reached = _Reached()
    for each in module.modules():
        reached.add(type(each))
        for value in cast("dict[str, Any]", vars(each)).values():
            reached.add(value)
    return reached.functions()


def _modules_with_type(functions: list[FunctionType]) -> list[dict[str, Any]]:
    """The global names of those functions that use `type`."""
    comparing = filter(_compares_types, functions)
    found = {id(function.__globals__): function.__globals__ for function in comparing}
    return [names for names in found.values() if "type" not in names]


def _calls_int(function: FunctionType) -> bool:
    return "int" in _names(function.__code__)


def _compares_types(function: FunctionType) -> bool:
    names = _names(function.__code__)
    return "type" in names and not names.isdisjoint(("int", "float", "bool"))


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
            names = _names(function.__code__)
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


def _names(code: CodeType) -> set[str]:
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(_names, inner))


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


def _classed(kind: Any, number: type) -> AbstractContextManager[Any]:
    own, thread = object.__getattribute__, get_ident()

    def attribute(self: Any, name: str) -> Any:
        if name != "__class__":
            return own(self, name)
        asker = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        if is_torchs_or_ours(asker.f_code.co_filename) or get_ident() != thread:
            return kind  # torch itself asks a hundred thousand times
        return number if is_models_own(asker) else kind

    return patch.object(kind, "__getattribute__", attribute)
