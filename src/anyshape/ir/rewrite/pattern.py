"""Patterns: what a rule looks for, written with the operators of the IR itself.

    x = Var("x")
    x * 1                                       a product with a constant whose elements are all 1
    -(-x)                                       two negations
    op("transpose", op("transpose", x, perm=attr("p")), perm=attr("q"))
    op("maximum", x, x)                         both operands are the identical value
    op("concat", ..., axis=attr("axis"))        any operands

A pattern is plain data: it can be printed, compared, and used as a template for building too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import EllipsisType
from typing import cast

from anyshape.ir.attrs import AttrValue
from anyshape.ir.node import Value
from anyshape.ir.types import DType

Guard = Callable[[Value], bool]
"""A named question about one value, without facts."""


class _Operators:
    """What all patterns share: operators that make bigger ones."""

    def __add__(self, other: Operand) -> OpPattern:
        return op("add", _pattern(self), other)

    def __radd__(self, other: float) -> OpPattern:
        return op("add", other, _pattern(self))

    def __sub__(self, other: Operand) -> OpPattern:
        return op("sub", _pattern(self), other)

    def __rsub__(self, other: float) -> OpPattern:
        return op("sub", other, _pattern(self))

    def __mul__(self, other: Operand) -> OpPattern:
        return op("mul", _pattern(self), other)

    def __rmul__(self, other: float) -> OpPattern:
        return op("mul", other, _pattern(self))

    def __truediv__(self, other: Operand) -> OpPattern:
        return op("div", _pattern(self), other)

    def __rtruediv__(self, other: float) -> OpPattern:
        return op("div", other, _pattern(self))

    def __neg__(self) -> OpPattern:
        return op("neg", _pattern(self))

    def bind(self, name: str) -> Bound:
        """The same, with the value it matches captured."""
        return Bound(name, _pattern(self))


@dataclass(frozen=True)
class Var(_Operators):
    """Any value. Met twice, it must be the identical one."""

    name: str
    where: Guard | None = None
    dtypes: tuple[DType, ...] = ()  # empty: any

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Const(_Operators):
    """A constant of any shape all of whose elements are `number`; -0.0 is not 0.0."""

    number: float

    def __str__(self) -> str:
        return str(self.number)


@dataclass(frozen=True)
class AttrCapture:
    """Any value of an attribute. Met twice, it must be the same."""

    name: str

    def __str__(self) -> str:
        return self.name


AttrPattern = AttrCapture | AttrValue


@dataclass(frozen=True)
class OpPattern(_Operators):
    """A result of an op. Attributes that are not mentioned may have any value."""

    op: str
    operands: tuple[Pattern, ...] | None  # None: any
    attrs: tuple[tuple[str, AttrPattern], ...] = ()
    index: int | None = 0  # None: any
    ordered: bool = False

    def result(self, index: int | None) -> OpPattern:
        """The same with another of the op's results; with None, any of them."""
        return replace(self, index=index)

    def in_order(self) -> OpPattern:
        """The same with operands as written even if the op is commutative."""
        return replace(self, ordered=True)

    def __str__(self) -> str:
        operands = "…" if self.operands is None else ", ".join(map(str, self.operands))
        attrs = ", ".join(f"{name}={value}" for name, value in self.attrs)
        shown = f" {{{attrs}}}" if attrs else ""
        which = "" if self.index == 0 else "#any" if self.index is None else f"#{self.index}"
        return f"{self.op}({operands}){shown}{which}"


@dataclass(frozen=True)
class Bound(_Operators):
    """A pattern whose value is captured under a name. Met twice, it must be the identical one."""

    name: str
    pattern: Pattern

    def __str__(self) -> str:
        return f"{self.name}={self.pattern}"


Pattern = Var | Const | OpPattern | Bound
Operand = Pattern | float


def const(number: float) -> Const:
    return Const(number)


def attr(name: str) -> AttrCapture:
    return AttrCapture(name)


def op(name: str, *operands: Operand | EllipsisType, **attrs: AttrPattern) -> OpPattern:
    """A pattern for op `name`; `...` as the only operand stands for any operands."""
    given = tuple(attrs.items())
    if operands == (...,):
        return OpPattern(name, None, given)
    return OpPattern(name, tuple(_operand(operand) for operand in operands), given)


def _operand(operand: Operand | EllipsisType) -> Pattern:
    if operand is ...:
        raise ValueError("'...' must be the only operand of a pattern")
    return const(operand) if isinstance(operand, int | float) else operand


def _pattern(operators: _Operators) -> Pattern:
    """Every subclass of _Operators is a member of the union."""
    return cast(Pattern, operators)
