"""The search for a contradiction in a system.

Rows near the question are collected with the definitions of the quotients, minima and broadcasts
that they contain, with ranges and with products, and given to Fourier-Motzkin elimination. When
that finds nothing, alternatives are tried one after the other: a system is refuted when every case
of an alternative is. Both the number of rows and the number of cases are limited.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from anyshape.sym.decide.define import Split, compounds, definition
from anyshape.sym.decide.effort import Effort
from anyshape.sym.decide.equalities import Contradiction
from anyshape.sym.decide.fourier import TooManyRows, infeasible
from anyshape.sym.decide.products import bound_rows, product_rows
from anyshape.sym.decide.system import System
from anyshape.sym.dim import Dim
from anyshape.sym.factor import CompoundFactor
from anyshape.sym.predicate import Predicate
from anyshape.sym.symbol import Symbol

_MAX_ROWS = 40
_MAX_CASES = 48


_CASE_STEPS = 100
"""What a case takes beside the terms that it looks at."""


@dataclass(slots=True)
class _Budget:
    effort: Effort
    cases: int = _MAX_CASES


def refuted(
    system: System, predicates: tuple[Predicate, ...], effort: Effort | None = None
) -> bool:
    """Whether it is certain that the predicates cannot hold together with the system.

    Raises Exhausted when that takes too many steps.
    """
    focus = frozenset[Symbol]().union(*(predicate.symbols for predicate in predicates))
    return _case_refuted(system, predicates, focus, (), _Budget(effort or Effort()))


def _case_refuted(
    system: System,
    case: tuple[Predicate, ...],
    focus: frozenset[Symbol],
    tried: tuple[Split, ...],
    budget: _Budget,
) -> bool:
    budget.effort.spend(_CASE_STEPS)
    system = system.copy(budget.effort)
    try:
        for predicate in case:
            system.add(predicate)
        budget.cases -= 1
        view = _view(system, focus)
        if _has_no_solution(view, system, budget.effort):
            return True
    except Contradiction:
        return True
    for split in view.splits:
        if split not in tried:
            return _split_refuted(system, split, focus, (*tried, split), budget)
    return False


def _split_refuted(
    system: System,
    split: Split,
    focus: frozenset[Symbol],
    tried: tuple[Split, ...],
    budget: _Budget,
) -> bool:
    return all(
        budget.cases > 0 and _case_refuted(system, case, focus, tried, budget)
        for case in split.cases
    )


@dataclass(slots=True)
class _View:
    """The part of a system that a question can depend on."""

    symbols: set[Symbol]
    rows: dict[Dim, None] = field(default_factory=dict[Dim, None])
    splits: dict[Split, None] = field(default_factory=dict[Split, None])
    defined: set[CompoundFactor] = field(default_factory=set[CompoundFactor])

    def take(self, row: Dim, system: System) -> None:
        if row in self.rows or row.is_constant:
            return
        self.rows[row] = None
        self.symbols |= row.symbols
        for factor in compounds(row):
            if factor not in self.defined:
                self.defined.add(factor)
                meaning = definition(factor, system.interval)
                self.splits |= dict.fromkeys(meaning.splits)
                for consequence in meaning.nonnegative:
                    self.take(system.reduce(consequence), system)


def _has_no_solution(view: _View, system: System, effort: Effort) -> bool:
    """With products of rows, and without them if these are too many: knowing more never hides what
    follows from less."""
    rows = list(view.rows)
    products = product_rows(rows, system.interval)
    for known in ([*rows, *products], rows) if products else (rows,):
        with suppress(TooManyRows):
            return infeasible(_with_ranges(known, system), effort)
    return False


def _with_ranges(rows: Sequence[Dim], system: System) -> list[Dim]:
    monomials = {monomial: None for row in rows for monomial, _ in row.terms if monomial}
    dims = (Dim.of_terms({monomial: 1}) for monomial in monomials)
    return [*rows, *(row for dim in dims for row in bound_rows(dim, system.interval))]


def _view(system: System, focus: frozenset[Symbol]) -> _View:
    view = _View({s for symbol in focus for s in system.reduce(Dim.of(symbol)).symbols})
    waiting = list(system.nonnegative)
    while waiting and len(view.rows) < _MAX_ROWS:
        near = [row for row in waiting if not row.symbols.isdisjoint(view.symbols)]
        if not near:
            break
        for row in near[: _MAX_ROWS - len(view.rows)]:
            view.take(row, system)
        waiting = [row for row in waiting if row not in view.rows]
    near_symbols = view.symbols | focus
    for split in system.splits:
        symbols = (system.reduce(Dim.of(symbol)).symbols | {symbol} for symbol in split.symbols)
        if not all(near_symbols.isdisjoint(found) for found in symbols):
            view.splits[split] = None
    return view
