"""What one compliance case is.

A case puts one op on symbolic operands and states, by hand, what must be inferred (result types and
implied facts) and, independently of the op's own reference, what must be computed. Nothing in it
depends on who computes: `evaluators.py` holds the interpreter, and later the compiled executors.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from tests.compliance.tolerance import EXACT, Tolerance

import anyshape.ops  # noqa: F401  fills the registry
from anyshape.base.lexer import Cursor
from anyshape.ir import Builder, DType, Graph, Value, lookup
from anyshape.ir.opdef import AnyOp
from anyshape.ir.text.values import read_dtype, read_shape
from anyshape.ir.types import TOKEN, TensorType, Type, bool_
from anyshape.sym import Dim, Facts, Predicate, Symbol, parse_predicate, read_facts

Array = Any
Rng = np.random.Generator
Sizes = dict[Symbol, int]
Make = Callable[..., Value | Sequence[Value]]
Expect = Callable[..., Array | tuple[Array, ...]]
Fill = Callable[[Rng, list[tuple[int, ...]], list[DType]], list[Array]]
Check = Callable[[Callable[[], tuple[Array, ...]]], None]


@dataclass(frozen=True)
class Case:
    """One op with one choice of operand types and attributes."""

    op: str
    label: str
    inputs: tuple[str, ...]  # operand types as text; `?` is a dynamic dim without a name
    make: Make  # (builder, *operands) -> result or results
    types: tuple[str, ...]  # the result types that must be inferred, as text
    expect: Expect | None  # the results, from NumPy or torch; floats come in as f64 unless exact
    facts: tuple[str, ...] = ()  # what the op implies beyond the declared facts
    given: str = ""  # declared axes and facts, as text
    domain: tuple[str, ...] = ()  # sizes that make sense although nothing forbids the others
    sizes: tuple[dict[str, int], ...] = ()  # bindings to try beside the random ones
    tolerance: Tolerance = EXACT
    fill: Fill | None = None  # makes the operands; None: by dtype
    check: Check | None = None  # instead of `expect`, for what is not a function of its operands

    def __hash__(self) -> int:
        return hash(self.id)  # sizes cannot be hashed; an id is given once

    @property
    def id(self) -> str:
        return f"{self.op}-{self.label}"

    @property
    def seed(self) -> int:
        return zlib.crc32(self.id.encode())

    def graph(self) -> Graph:
        """The op alone in a graph, made once for all that is asked of it."""
        return _graph_of(self, lookup(self.op))

    @property
    def declared(self) -> Facts:
        return read_facts(Cursor(self.given)) if self.given else Facts()

    @property
    def requirements(self) -> list[Predicate]:
        """What the sizes of a call must satisfy."""
        given = [fact.predicate for fact in self.declared.facts]
        return [*given, *map(parse_predicate, self.facts)]


@cache
def _graph_of(case: Case, _: AnyOp) -> Graph:
    """Another op of that name is in another graph."""
    builder = Builder.at_entry(case.declared)
    types = [type_of_text(text) for text in case.inputs]
    operands = [builder.param(type_) for type_ in types]
    made = case.make(builder, *operands)
    results = [made] if isinstance(made, Value) else list(made)
    names = [f"x{index}" for index in range(len(types))]
    if hidden := hidden_symbols(types):
        builder.param(TensorType(bool_, tuple(map(Dim.of, hidden))))
        names.append("sizes")
    return builder.graph(case.op, names, results)


@dataclass
class Collection:
    """Cases of one family; `add` takes each (op, label) once."""

    cases: list[Case] = field(default_factory=list)

    def add(self, *args: Any, **kwargs: Any) -> None:
        case = Case(*args, **kwargs)
        assert case.id not in {known.id for known in self.cases}, f"{case.id} is there twice"
        self.cases.append(case)


def type_of_text(text: str) -> Type:
    """`f32[batch, ?]` as a type."""
    cursor = Cursor(text)
    if cursor.accept("token"):
        return TOKEN
    type_ = TensorType(read_dtype(cursor), read_shape(cursor))
    cursor.expect_end()
    return type_


def hidden_symbols(types: Sequence[Type]) -> list[Symbol]:
    """Symbols that no size determines, like `seq` of `seq//2 + 1`: one more input has them."""
    dims = [dim for type_ in types if isinstance(type_, TensorType) for dim in type_.shape]
    symbols = {symbol for dim in dims for symbol in dim.symbols if not symbol.is_fresh}
    plain = {s for s in symbols for dim in dims if dim.coefficient(((s, 1),)) != 0}
    return sorted(symbols - plain, key=lambda symbol: symbol.name)


def emit(op: str, **attrs: object) -> Make:
    """A `make` for the op alone."""
    return lambda b, *operands: b.emit(op, *operands, **attrs)
