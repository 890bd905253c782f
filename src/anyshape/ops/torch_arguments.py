"""The arguments of a call of torch, as text and back.

    x0, [n0, 3], dim=1, dtype=torch.float32

Python's syntax for a call, of which only values are allowed: nothing in it is executed. `x0` is an
operand, `n0` a size. `item(x0)` is the number in an operand of rank 0, and `as_complex(x0)` the
complex tensor of an operand whose last axis has the two parts of each element. `written(x0)` is a
copy of an operand that the op writes into, and `written(x0, 1, 2, n0)` the slice `x0[:, 2:n0]` of a
copy: the copies are further results.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

_NUMBERS: Mapping[str, float] = {"inf": math.inf, "nan": math.nan}
FUNCTIONS = frozenset({"item", "as_complex", "device", "complex", "written"})
"""What an argument may be passed through."""
_RESERVED = FUNCTIONS | _NUMBERS.keys() | {"torch"}


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of one call, read."""

    positional: tuple[ast.expr, ...]
    named: tuple[tuple[str, ast.expr], ...]

    @staticmethod
    @lru_cache(maxsize=4096)
    def read(text: str) -> Arguments:
        """ValueError for what is no list of arguments."""
        try:
            call = ast.parse(f"f({text})", mode="eval").body
        except SyntaxError as error:
            raise ValueError(f"is no list of arguments: {error.msg}") from None
        if not isinstance(call, ast.Call) or any(word.arg is None for word in call.keywords):
            raise ValueError("is no list of arguments")
        named = tuple((word.arg or "", word.value) for word in call.keywords)
        arguments = Arguments(tuple(call.args), named)
        for value in arguments.values():
            _check(value)
        return arguments

    def values(self) -> Iterator[ast.expr]:
        yield from self.positional
        yield from (value for _, value in self.named)

    def written(self) -> frozenset[str]:
        """The arguments, by name, that an op may write into: copies, and nothing at all."""
        return frozenset(name for name, value in self.named if _is_written(value))

    def names(self) -> Iterator[str]:
        """The operands and sizes that are mentioned."""
        for value in self.values():
            names = (node.id for node in ast.walk(value) if isinstance(node, ast.Name))
            yield from (name for name in names if name not in _RESERVED)


def _is_written(value: ast.expr) -> bool:
    match value:
        case ast.Call(func=ast.Name(id="written")) | ast.Constant(value=None):
            return True
        case _:
            return False


def _check(value: ast.expr) -> None:
    match value:
        case ast.Constant() | ast.Name() | ast.Attribute(value=ast.Name(id="torch")):
            return
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant() | ast.Name()):
            return
        case ast.List(elts=items):
            pass
        case ast.Call(func=ast.Name(id=name), args=items, keywords=[]) if name in FUNCTIONS:
            pass
        case _:
            raise ValueError(f"has '{ast.unparse(value)}', which is no argument")
    for item in items:
        _check(item)


@dataclass(frozen=True, slots=True)
class Evaluator:
    """Gives arguments their values: `names` are operands and sizes, `constant` finds what torch has
    under a name, `functions` are those of `FUNCTIONS`."""

    names: Mapping[str, Any]
    constant: Callable[[str], Any]
    functions: Mapping[str, Callable[..., Any]]

    def value(self, expression: ast.expr) -> Any:
        match expression:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return _NUMBERS[name] if name in _NUMBERS else self.names[name]
            case ast.Attribute(attr=name):
                return self.constant(name)
            case ast.UnaryOp(operand=operand):
                return -self.value(operand)
            case ast.List(elts=items):
                return [self.value(item) for item in items]
            case ast.Call(func=ast.Name(id=name), args=items):
                return self.functions[name](*map(self.value, items))
            case _:
                raise AssertionError("checked when it was read")
