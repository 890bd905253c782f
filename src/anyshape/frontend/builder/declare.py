"""What a user declares about axes: the names in annotations, `axes=` and `where=`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from anyshape.base.errors import TraceError
from anyshape.base.location import Location
from anyshape.frontend.builder.annotation import Parameters
from anyshape.sym import Axis, FactScope, Predicate, Symbol, parse_predicate


@dataclass(frozen=True, slots=True)
class Declarations:
    """Axes and predicates given beside the annotations, and where they were given."""

    axes: tuple[Axis, ...] = ()
    where: tuple[str, ...] = ()
    strict: bool = False
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """The facts at the entry of a function, and the names that its sizes may use."""

    scope: FactScope
    names: frozenset[str]


def entry(function: str, parameters: Parameters, given: Declarations) -> Entry:
    """Declares every axis and assumes every predicate, in the user's words."""
    predicates = [parse_predicate(words) for words in given.where]
    annotated = list(dict.fromkeys(_annotated(parameters)))
    known = {symbol.name for symbol in (*annotated, *_symbols(predicates))}
    _check_used(function, given, known)
    scope = FactScope(strict=given.strict)
    stated = {axis.name: axis for axis in given.axes}
    for symbol in annotated:
        scope.declare(stated.get(symbol.name, Axis(symbol.name)))
    for axis in given.axes:
        scope.declare(axis)
    for words, predicate in zip(given.where, predicates, strict=True):
        scope.assume(predicate, words=words, where=given.location)
    return Entry(scope, frozenset(known))


def _annotated(parameters: Parameters) -> Iterator[Symbol]:
    """The names in annotations, in the order of reading."""
    for _, type_ in parameters.tensors:
        for dim in type_.shape:
            named = (symbol for symbol in dim.symbols if not symbol.is_fresh)
            yield from sorted(named, key=str)


def _symbols(predicates: list[Predicate]) -> Iterator[Symbol]:
    for predicate in predicates:
        yield from predicate.symbols


def _check_used(function: str, given: Declarations, known: set[str]) -> None:
    """An axis that nothing has is a slip of the pen."""
    for axis in given.axes:
        if axis.name not in known:
            raise TraceError(
                function,
                f"axis '{axis.name}' is declared, but no parameter has it",
                f"use one of the names in the annotations: {', '.join(sorted(known)) or 'none'}",
                given.location,
            )
