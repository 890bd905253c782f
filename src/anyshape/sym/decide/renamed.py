"""Statements under names of their own: those that differ in nothing but names have one form.

Thousands of axes often have the same few things said of each. What can be proved does not depend on
what axes are called, so a question about one of them has the answer of the same question about
another. Names are given in the order of the statements; fresh symbols stay fresh.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from anyshape.sym.axis import Axis, Range
from anyshape.sym.decide.statements import Statement, symbols_of
from anyshape.sym.dim import Dim
from anyshape.sym.predicate import Predicate
from anyshape.sym.rebuild import Substitution
from anyshape.sym.symbol import Symbol

Names = Mapping[Symbol, Dim]

NOT_RENAMED: Final[Names] = {}

Form = tuple[tuple[tuple[str, Sequence[Range], int], ...], tuple[Predicate, ...]]
"""Axes, as the arguments that make them, and facts."""


def own_form(statements: Sequence[Statement]) -> tuple[Names, Form]:
    """Names for all symbols, and what is said under them."""
    names: dict[Symbol, Dim] = {}
    for statement in statements:
        _give_names(symbols_of(statement), names)
    names = Substitution(names)  # questions share what they have in common with facts
    axes = [statement for statement in statements if isinstance(statement, Axis)]
    facts = (statement for statement in statements if not isinstance(statement, Axis))
    return names, (
        tuple((str(names[axis.symbol]), axis.ranges, axis.multiple_of) for axis in axes),
        tuple(fact.substitute(names) for fact in facts),
    )


def own_statements(form: Form) -> tuple[tuple[Axis, ...], tuple[Predicate, ...]]:
    """What a form says."""
    axes, facts = form
    made = (Axis(name, ranges=ranges, multiple_of=multiple) for name, ranges, multiple in axes)
    return tuple(made), facts


def names_in(symbols: frozenset[Symbol], names: Names) -> Names:
    """The names with more of them for symbols of which nothing is said."""
    if symbols <= names.keys():
        return names
    more = dict(names)
    _give_names(symbols - names.keys(), more)
    return more


def _give_names(symbols: Iterable[Symbol], names: dict[Symbol, Dim]) -> None:
    for symbol in sorted(symbols, key=lambda symbol: symbol.sort_key):
        if symbol not in names:
            fresh = "?" if symbol.is_fresh else "n"
            names[symbol] = Dim.of(Symbol(f"{fresh}{len(names):02}"))
