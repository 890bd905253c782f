"""What users say of the axes of a model beside their ranges: `where="kv == seq"`.

A model is captured at sizes that satisfy it, and its graph begins with it as facts. Axes that are
equal by it are one axis for the framework that captures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import cast

from anyshape.base.errors import AxisDeclarationError, FactViolationError, OptionError
from anyshape.base.location import Location
from anyshape.sym import (
    Axis,
    Broadcastable,
    Equal,
    Fact,
    Facts,
    FactScope,
    Origin,
    Symbol,
    parse_predicate,
)
from anyshape.sym.refine import RefinedFacts, refined_facts


def stated(where: object, location: Location | None) -> tuple[Fact, ...]:
    """The predicates as facts in the user's words; what is none is refused."""
    given = [where] if isinstance(where, str) else where
    items = cast(Sequence[object], given) if isinstance(given, (tuple, list)) else (given,)
    texts = [item for item in items if isinstance(item, str)]
    if len(texts) != len(items):
        raise OptionError("where", repr(where), 'a predicate as text, or a list: ["kv == seq"]')
    place = str(location or "")
    return tuple(Fact(parse_predicate(text), Origin.USER, text, place) for text in texts)


def check_known(where: Iterable[Fact], known: Iterable[Symbol]) -> None:
    """A predicate is about axes that the model has."""
    names = {symbol.name for symbol in known}
    for fact in where:
        for symbol in sorted(fact.predicate.symbols, key=str):
            if symbol.name not in names:
                problem = f"is in where='{fact.words}', and no input has it"
                fix = f"use the names of axes: {', '.join(sorted(names)) or 'there are none'}"
                raise AxisDeclarationError(symbol.name, problem, fix)


def check_consistent(axes: Iterable[Axis], where: Iterable[Fact]) -> None:
    """Refuses what contradicts declarations, or another predicate."""
    scope = FactScope()
    for axis in axes:
        scope.declare(axis)
    for fact in where:
        scope.assume_fact(fact)


def check_example(where: Iterable[Fact], sizes: Mapping[Symbol, int]) -> None:
    """The user's example is one of the calls that are promised."""
    for fact in where:
        if fact.predicate.symbols <= sizes.keys() and not fact.holds(sizes):
            symbols = sorted(fact.predicate.symbols, key=str)
            given = ", ".join(f"{symbol}={sizes[symbol]}" for symbol in symbols)
            raise FactViolationError(str(fact), fact.source, given, ["the example has these sizes"])


def without_ones(where: Iterable[Fact]) -> tuple[Fact, ...]:
    """The same for sizes that broadcast without being 1."""
    return tuple(
        replace(fact, predicate=Equal(*fact.predicate.sides))
        if isinstance(fact.predicate, Broadcastable)
        else fact
        for fact in where
    )


def settled(axes: Sequence[Axis], where: Sequence[Fact]) -> RefinedFacts:
    """The axes that are left when those are gone that others give."""
    return refined_facts(Facts(tuple(axes), tuple(where)))
