"""Python's functions of numbers, on sizes: `float(n)`, `int(n / 2)`, `math.sqrt(n)`.

What these give is a number of Python's, which holds for one size. For the model's code they stay
symbolic while torch traces, as torch's own functions of the same meaning do:

    int(...), float(...), sqrt(...)   calls of global names load another name: the functions that
                                      the model may call have other bytecode within
    math.sqrt(...)                    the function in the module `math` is another one within

Other uses of the names stay as they are (`isinstance(n, int)`, `dtype=float`), and so does a call
that is not found: its size is taken as a number then, which is a condition or refused.

A float of a size is computed by the graph. An *integer* of one is not, unless every step on the
way is exact by IEEE 754: a logarithm that is off by its last digit may be below 3 where Python's
is 3.
"""

from __future__ import annotations

import builtins
import math
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dis import EXTENDED_ARG, opmap
from types import CodeType, FunctionType
from typing import Any
from unittest.mock import patch

import torch
from torch._export import verifier
from torch._ops import HigherOrderOperator, OpOverload

from anyshape.frontend.aten.torch_paths import TORCH_FOLDER
from anyshape.frontend.torch_export.askers import is_models_own
from anyshape.frontend.torch_export.reached_functions import mentioned_names, reached_functions

Function = Callable[..., Any]
own: Any = torch

_EXACT = frozenset(
    {"Add", "Mul", "IntTrueDiv", "FloatTrueDiv", "ToFloat", "FloorDiv", "Mod", "PythonMod", "Max"}
    | {"Min", "OpaqueUnaryFn_sqrt", "FloorToInt", "CeilToInt", "TruncToInt", "RoundToInt"}
)
"""What torch's expressions are made of where a float has but one right value."""


def _is_symbolic(x: Any) -> bool:
    return type(x) is torch.SymInt or type(x) is torch.SymFloat


def _is_exact(expression: Any) -> bool:
    if expression.is_Symbol or expression.is_number:
        return True
    if type(expression).__name__ == "FloatPow":  # of which a root is exact
        return expression.args[1] == 0.5 and _is_exact(expression.args[0])
    return type(expression).__name__ in _EXACT and all(map(_is_exact, expression.args))


# --- the functions --------------------------------------------------------------------------------


def _integer(x: Any) -> Any:
    return own.sym_int(x) if _is_exact(x.node.expr) else int(x)


def _root(x: Any) -> Any:
    return own.sym_sqrt(x)


def _logarithm(x: Any, base: float | None = None) -> Any:
    natural = own._sym_log2(x) * math.log(2)
    return natural if base is None else natural / math.log(base)


def _integer_root(x: Any) -> Any:
    return own.sym_int(own.sym_sqrt(x))  # exact up to 2**52


def _quotient_and_rest(x: Any, y: Any) -> tuple[Any, Any]:
    return x // y, x % y


_OF_SIZES: dict[Function, Function] = {
    int: _integer,
    float: own.sym_float,
    divmod: _quotient_and_rest,
    math.sqrt: _root,
    math.isqrt: _integer_root,
    math.log: _logarithm,
    math.log2: own._sym_log2,
}
"""What Python's functions are on sizes."""


def _on_sizes(function: Function, of_sizes: Function) -> Function:
    def called(*args: Any, **kwargs: Any) -> Any:
        symbolic = any(map(_is_symbolic, args)) and not kwargs
        if not symbolic or not _asks_for_model(sys._getframe(1)):  # pyright: ignore[reportPrivateUsage]
            return function(*args, **kwargs)
        return of_sizes(*args)

    return called


_LAYERS = f"{TORCH_FOLDER}nn/"


def _asks_for_model(frame: Any) -> bool:
    return is_models_own(frame) or frame.f_code.co_filename.startswith(_LAYERS)


# --- where the model calls them -------------------------------------------------------------------


_REPLACED = {function: _on_sizes(function, of_sizes) for function, of_sizes in _OF_SIZES.items()}


def _other(function: Function) -> str:
    return f"__{function.__name__}_of_sizes"


for _function, _replacement in _REPLACED.items():
    setattr(builtins, _other(_function), _replacement)
"""For good: another thread may be inside of a function when its code is what it was again."""


@contextmanager
def number_functions(module: Any) -> Generator[None]:
    """Within, calls of these functions in what the model calls take sizes."""
    with ExitStack() as stack:
        stack.enter_context(any_function())
        for function, other in _REPLACED.items():
            if getattr(math, function.__name__, None) is function:
                stack.enter_context(patch.object(math, function.__name__, other))
        for function in reached_functions(module):
            names = _called_names(function)
            if names:
                stack.callback(setattr, function, "__code__", function.__code__)
                function.__code__ = _calling(function.__code__, names)
        yield


def any_function() -> AbstractContextManager[Any]:
    """Within, torch does not object to functions in a program that are no ops; whoever imports it
    knows them, or refuses them by name."""
    return patch.object(verifier.Verifier, "allowed_op_types", _allowed)


def _allowed(_: Any) -> tuple[type, ...]:
    return OpOverload, HigherOrderOperator, FunctionType


def _called_names(function: FunctionType) -> dict[str, str]:
    """The names in a function's code, and in code inside it, that are one of these functions, with
    those of their replacements."""
    found = {name: _value(function, name) for name in mentioned_names(function.__code__)}
    return {name: _OTHERS[id(value)] for name, value in found.items() if id(value) in _OTHERS}


_OTHERS = {id(function): _other(function) for function in _REPLACED}


def _value(function: FunctionType, name: str) -> Any:
    """What a global name is in a function; names of attributes may be none."""
    return function.__globals__.get(name, getattr(builtins, name, None))


_LOAD_GLOBAL = opmap["LOAD_GLOBAL"]


def _calling(code: CodeType, others: Mapping[str, str]) -> CodeType:
    """The code with calls of global names replaced. CPython marks in LOAD_GLOBAL's argument, by its
    last bit, that what it loads is called; the other bits are the name's index."""
    names = (*code.co_names, *others.values())
    words, extended = bytearray(code.co_code), 0
    for i in range(0, len(words), 2):
        argument = words[i + 1] | extended << 8
        is_call = words[i] == _LOAD_GLOBAL and argument & 1
        other = others.get(names[argument >> 1]) if is_call else None
        if other is not None and not extended and (index := names.index(other)) < 128:
            words[i + 1] = index << 1 | 1
        extended = argument if words[i] == EXTENDED_ARG else 0
    inner = (_calling(c, others) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.replace(co_names=names, co_code=bytes(words), co_consts=tuple(inner))
