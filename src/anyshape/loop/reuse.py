"""Keeping what two loops of a task both compute.

The sum of a softmax and its result need the same exponentials. Lowering computes them in each loop;
here the first of two loops over the same range stores them in scratch, and the second loads them:

    for k < n1 { … v = exp(x[k] - m); kept0[k] = v; total <- v }
    for j < n1 { v = kept0[j]; y[j] = v / total }

Only what costs more than a store and a load is kept. Whether two values are the same is found by
numbering: equal ops on equal numbers have equal numbers, the loops' indices counting as one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from anyshape.ir.opdef import lookup
from anyshape.loop.ir import (
    Apply,
    Buffer,
    For,
    Guard,
    Index,
    Let,
    Literal,
    Load,
    Local,
    Number,
    Scalar,
    Statement,
    Store,
    Update,
)
from anyshape.loop.printer import row_major
from anyshape.sym import Dim, Symbol

WORTH = 8
"""From this many cheap ops on, a value is worth a store and a load, as one costly op is."""

_Key = tuple[Dim, int]  # how far a loop goes, and the number of a value
_INDEX = Dim.of(Symbol("index"))  # stands for the index of whichever loop


@dataclass(frozen=True, slots=True)
class Reused:
    """Statements in which nothing costly is computed twice, and the scratch that they need."""

    body: tuple[Statement, ...]
    scratch: tuple[Buffer, ...] = ()


def reuse_costly(body: Sequence[Statement], strip: tuple[Symbol, int] | None = None) -> Reused:
    """Lets the loops among these statements share what they compute.

    `strip` is the index of a loop around the statements, and how far it goes at most.
    """
    keeper = _Reuser(strip)
    for statement in body:
        keeper.add(statement)
    return Reused(keeper.body(), tuple(keeper.scratch.values()))


@dataclass
class _Straight:
    """A loop without inner loops, and the number of each local that it defines."""

    loop: For
    numbers: dict[str, int] = field(default_factory=dict[str, int])
    kept: dict[str, _Key] = field(default_factory=dict[str, _Key])  # locals that it stores


class _Reuser:
    """Sees the statements one after the other."""

    def __init__(self, strip: tuple[Symbol, int] | None) -> None:
        self.strip = strip
        self.statements: list[Statement | _Straight] = []
        self.scratch: dict[_Key, Buffer] = {}
        self._numbers: dict[Hashable, int] = {}
        self._costs: list[tuple[int, frozenset[int]]] = []  # of a number: its own, and its operands
        self._maker: dict[_Key, tuple[_Straight, str]] = {}

    def body(self) -> tuple[Statement, ...]:
        return tuple(self._finished(s) if isinstance(s, _Straight) else s for s in self.statements)

    def add(self, statement: Statement) -> None:
        if not isinstance(statement, For) or not _is_straight(statement):
            self.statements.append(statement)
            return
        found = _Straight(statement)
        for let in statement.body:
            if isinstance(let, Let):
                found.numbers[let.local.name] = self._number(let.value, found)
        found.loop = replace(statement, body=self._reading(found))
        for let in found.loop.body:
            if isinstance(let, Let):
                name = let.local.name
                self._maker.setdefault((statement.extent, found.numbers[name]), (found, name))
        self.statements.append(found)

    def _reading(self, loop: _Straight) -> tuple[Statement, ...]:
        """The body with loads from scratch, and without what is then not needed."""
        needed: set[str] = set()
        body: list[Statement] = []
        for statement in reversed(loop.loop.body):
            is_let = isinstance(statement, Let)
            if is_let and statement.local.name not in needed:
                continue
            body.append(self._loaded(loop, statement) if is_let else statement)
            needed |= {local.name for local in _locals(body[-1])}
        return tuple(reversed(body))

    def _loaded(self, loop: _Straight, let: Let) -> Let:
        key = loop.loop.extent, loop.numbers[let.local.name]
        made = self._maker.get(key)
        if made is None or not self._is_worth_keeping(key):
            return let
        maker, name = made
        if key not in self.scratch:
            shape = (loop.loop.extent, *([Dim.of(self.strip[1])] if self.strip else []))
            kept = Buffer(f"kept{len(self.scratch)}", let.local.dtype, shape, row_major(shape))
            self.scratch[key] = kept
            maker.kept[name] = key
        return Let(let.local, Load(self.scratch[key], self._place(loop)))

    def _place(self, loop: _Straight) -> Index:
        """Where a loop finds the value of an iteration."""
        return (Dim.of(loop.loop.index), *([Dim.of(self.strip[0])] if self.strip else []))

    def _finished(self, loop: _Straight) -> For:
        body: list[Statement] = []
        for statement in loop.loop.body:
            body.append(statement)
            if isinstance(statement, Let) and statement.local.name in loop.kept:
                kept = self.scratch[loop.kept[statement.local.name]]
                body.append(Store(kept, self._place(loop), statement.local))
        return replace(loop.loop, body=tuple(body))

    # --- numbers ------------------------------------------------------------------------------

    def _number(self, value: Scalar, loop: _Straight) -> int:
        index = {loop.loop.index: _INDEX}
        match value:
            case Local(name, _):
                return loop.numbers.get(name) or self._new(value, 0)
            case Literal():
                return self._new(value, 0)
            case Load(buffer, place):
                return self._new((buffer.name, _moved(place, index)), 1)
            case Number(dim):
                return self._new(dim.substitute(index), 1)
            case Apply(op, args, dtype):
                operands = tuple(self._number(arg, loop) for arg in args)
                worth = 1 if lookup(op).is_cheap else WORTH
                return self._new((op, operands, dtype.name), worth, operands)
            case Guard(conditions, inside, outside):
                tests = tuple(test.substitute(index) for test in conditions)
                sides = self._number(inside, loop), self._number(outside, loop)
                return self._new((tests, sides), 1, sides)
            case _:
                assert_never(value)

    def _new(self, key: Hashable, cost: int, operands: tuple[int, ...] = ()) -> int:
        """Numbers start at 1."""
        number = self._numbers.setdefault(key, len(self._numbers) + 1)
        if number > len(self._costs):
            self._costs.append((cost, frozenset(operands)))
        return number

    def _is_worth_keeping(self, key: _Key) -> bool:
        if key in self.scratch:
            return True
        seen: set[int] = set()
        todo, total = [key[1]], 0
        while todo and total <= WORTH:
            at = todo.pop()
            if at not in seen:
                seen.add(at)
                cost, operands = self._costs[at - 1]
                kept = (key[0], at) in self.scratch
                total += 1 if kept else cost
                todo += () if kept else operands
        return total > WORTH


def _is_straight(loop: For) -> bool:
    """Whether each of its values depends on the index alone, and on what is known outside."""
    states = {state.local.name for state in loop.accumulators}
    return all(isinstance(s, Let | Store | Update) for s in loop.body) and not any(
        local.name in states for statement in loop.body for local in _locals(statement)
    )


def _moved(place: Sequence[Dim], index: Mapping[Symbol, Dim]) -> tuple[Dim, ...]:
    return tuple(dim.substitute(index) for dim in place)


def _locals(statement: Statement) -> Iterator[Local]:
    """The locals that a statement without inner ones reads."""
    if isinstance(statement, Let | Store | Update):
        yield from _locals_of(statement.value)


def _locals_of(value: Scalar) -> Iterator[Local]:
    match value:
        case Local():
            yield value
        case Apply(_, args, _):
            for arg in args:
                yield from _locals_of(arg)
        case Guard(_, inside, outside):
            yield from _locals_of(inside)
            yield from _locals_of(outside)
        case Load() | Literal() | Number():
            pass
        case _:
            assert_never(value)
