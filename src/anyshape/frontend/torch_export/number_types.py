"""Sizes are of Python's types for the model's code, as they are in eager mode.

While torch traces, a size is a `SymInt`, which is no `int`, so that

    if isinstance(size, int):      takes another branch
    if type(size) is int:          than in eager mode

and nothing is asked. `isinstance` reads an object's `__class__`, which is `int` then for whoever is
the model's code. `type` reads nothing of the object: modules with functions that the model may call
and that call `type` have a `type` of their own within, which is Python's but for sizes. torch's own
code goes on with its own types.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dis import opmap
from threading import get_ident
from types import CodeType, FunctionType
from typing import Any
from unittest.mock import patch

import torch

from anyshape.frontend.torch_export.askers import is_models_own, is_torchs_or_ours
from anyshape.frontend.torch_export.reached_functions import mentioned_names, reached_functions

_NUMBERS: dict[type, type] = {torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool}


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
    """Within, `type(size)` is `int` in the modules of what the model calls."""
    with ExitStack() as stack:
        for names in _modules_with_type(module):
            stack.enter_context(patch.dict(names, {"type": _Type}))
        yield


def _modules_with_type(module: Any) -> list[dict[str, Any]]:
    """The global names of functions that the model may call and that use `type`."""
    functions = filter(_compares_types, reached_functions(module))
    found = {id(function.__globals__): function.__globals__ for function in functions}
    return [names for names in found.values() if "type" not in names]


def _compares_types(function: FunctionType) -> bool:
    return "type" in mentioned_names(function.__code__) and _calls_type(function.__code__)


def _calls_type(code: CodeType) -> bool:
    """Whether a name that the code mentions is that of the function: others have attributes of
    that name. The last bit of LOAD_GLOBAL's argument says that what is loaded is called."""
    words = zip(code.co_code[0::2], code.co_code[1::2], strict=True)
    loaded = {argument >> 1 for op, argument in words if op == _LOAD_GLOBAL}
    if "type" in {code.co_names[i] for i in loaded if i < len(code.co_names)}:
        return True
    return any(_calls_type(part) for part in code.co_consts if isinstance(part, CodeType))


_LOAD_GLOBAL = opmap["LOAD_GLOBAL"]


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
