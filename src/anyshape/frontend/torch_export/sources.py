"""What is captured: modules as they are, functions as modules; compiled TorchScript is refused."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch

from anyshape.base.errors import InputError

_SCRIPTED: Any = (torch.jit.ScriptModule, torch.jit.ScriptFunction)


def refuse_scripted(source: Any) -> None:
    """TorchScript has no Python code that could be followed."""
    if isinstance(source, _SCRIPTED):
        raise _scripted("source", type(source).__name__)
    modules: dict[str, Any] = dict(_named_modules(source))
    for name, part in modules.items():
        if isinstance(part, _SCRIPTED):
            raise _scripted(f"source.{name}", type(part).__name__)


def _named_modules(source: Any) -> Any:
    return source.named_modules() if hasattr(source, "named_modules") else ()


def _scripted(path: str, kind: str) -> InputError:
    problem = f"is a {kind} of TorchScript, whose Python code is gone"
    return InputError(
        path, problem, "compile the module before torch.jit.script or torch.jit.trace"
    )


def as_module(function: Callable[..., Any]) -> Any:
    """A module that calls a function. Modules that the function uses are its parts: their weights
    are found by the names that the function has for them."""
    try:
        inspect.signature(function)
    except ValueError:
        name = getattr(function, "__name__", "function")
        problem = f"is {name}, whose parameters Python cannot tell"
        raise InputError("source", problem, f"compile(lambda x: {name}(x), args)") from None
    kind = type(_graph_name(function), (torch.nn.Module,), {})
    module: Any = kind()
    for name, part in _modules_of(function).items():
        module.add_module(f"{name}_" if hasattr(module, name) else name, part)
    module.forward = function
    return module


def _graph_name(function: Any) -> str:
    name = getattr(function, "__name__", "")
    return name if name.isidentifier() else "function"


def _modules_of(function: Any) -> dict[str, Any]:
    """The modules among what a function refers to: its object, its closure, its globals."""
    used = {"self": getattr(function, "__self__", None)}
    plain = inspect.unwrap(getattr(function, "__func__", function))
    if inspect.isfunction(plain):
        seen = inspect.getclosurevars(plain)
        used.update({**seen.globals, **seen.nonlocals})
    return {name: part for name, part in used.items() if isinstance(part, torch.nn.Module)}
