"""Sizes as models write them: `seq`, `past + seq`, `floor(height/2 - 1/2) + 1`, `Dimension.0`.

What is an expression over sizes is read as one, with exact fractions. Anything else is an opaque
name: an axis that is called so.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from anyshape.base.errors import AnyshapeError
from anyshape.base.lexer import is_name
from anyshape.sym import Dim, Symbol, maximum, minimum

LONGEST = 400
"""Characters: a longer text is a name."""


@dataclass(frozen=True, slots=True)
class _Fraction:
    """A size over a positive number."""

    above: Dim
    below: int = 1

    @property
    def whole(self) -> Dim:
        if self.below != 1:
            raise _NoSizeError
        return self.above


class _NoSizeError(Exception):
    """The text is no expression over sizes."""


def parsed(text: str) -> Dim:
    """The dim that a `dim_param` stands for."""
    if is_name(text) or len(text) > LONGEST:
        return Dim.of(Symbol(text))
    try:
        dim = _read(ast.parse(text.strip(), mode="eval").body).whole
    except (_NoSizeError, AnyshapeError, SyntaxError, ValueError, RecursionError, MemoryError):
        return Dim.of(Symbol(text))
    return dim if dim.constant is None else Dim.of(Symbol(text))


def _read(tree: ast.expr) -> _Fraction:
    match tree:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return _Fraction(Dim.of(number))
        case ast.Name(id=name):
            return _Fraction(Dim.of(Symbol(name)))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _read(operand)
            return _Fraction(-inner.above, inner.below)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_read(left), _read(right))
        case ast.Call(func=ast.Name(id=name), args=args) if name.lower() in _FUNCTIONS:
            return _FUNCTIONS[name.lower()]([_read(each) for each in args])
        case _:
            raise _NoSizeError


def _sum(x: _Fraction, y: _Fraction) -> _Fraction:
    return _Fraction(x.above * y.below + y.above * x.below, x.below * y.below)


def _difference(x: _Fraction, y: _Fraction) -> _Fraction:
    return _sum(x, _Fraction(-y.above, y.below))


def _product(x: _Fraction, y: _Fraction) -> _Fraction:
    return _Fraction(x.above * y.above, x.below * y.below)


def _quotient(x: _Fraction, y: _Fraction) -> _Fraction:
    number = y.above.constant
    if number is None or number <= 0:
        raise _NoSizeError
    return _Fraction(x.above * y.below, x.below * number)


def _floor_quotient(x: _Fraction, y: _Fraction) -> _Fraction:
    return _floor([_quotient(x, y)])


def _remainder(x: _Fraction, y: _Fraction) -> _Fraction:
    number = y.whole.constant
    if number is None or number <= 0:
        raise _NoSizeError
    return _Fraction(x.whole % number)


_OPERATORS: dict[type, Callable[[_Fraction, _Fraction], _Fraction]] = {
    ast.Add: _sum, ast.Sub: _difference, ast.Mult: _product, ast.Div: _quotient,
    ast.FloorDiv: _floor_quotient, ast.Mod: _remainder,
}  # fmt: skip


def _floor(args: list[_Fraction]) -> _Fraction:
    (x,) = _exactly(args, 1)
    return _Fraction(x.above if x.below == 1 else x.above // x.below)


def _ceiling(args: list[_Fraction]) -> _Fraction:
    (x,) = _exactly(args, 1)
    return _Fraction(x.above if x.below == 1 else -(-x.above // x.below))


def _least(args: list[_Fraction]) -> _Fraction:
    return _Fraction(minimum(*(each.whole for each in _exactly(args, 2))))


def _greatest(args: list[_Fraction]) -> _Fraction:
    return _Fraction(maximum(*(each.whole for each in _exactly(args, 2))))


def _exactly(args: list[_Fraction], count: int) -> list[_Fraction]:
    if len(args) != count:
        raise _NoSizeError
    return args


_FUNCTIONS: dict[str, Callable[[list[_Fraction]], _Fraction]] = {
    "floor": _floor, "ceiling": _ceiling, "ceil": _ceiling, "min": _least, "max": _greatest,
}  # fmt: skip
