"""The prover: answers predicates about the sizes that satisfy a set of facts.

Immutable; `extended` makes a prover that knows more. As long as there are few facts, one decider
takes all of them together. Where there are many, each question has a decider of the facts that are
nearest to its symbols: leaving out facts can cost an answer, and never makes one wrong. Facts that
differ in nothing but names share a decider, which is asked in names of its own (`renamed.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import TypeVar

from anyshape.base.lazy import lazy_property
from anyshape.sym.axis import Axis
from anyshape.sym.decide.answer import Answer
from anyshape.sym.decide.decider import Decider, shared_decider, structural
from anyshape.sym.decide.renamed import NOT_RENAMED, Names, names_in, own_form, own_statements
from anyshape.sym.decide.statements import Log, Statement, symbols_of
from anyshape.sym.dim import Dim
from anyshape.sym.predicate import Predicate
from anyshape.sym.symbol import Symbol

_FEW = 48
"""So many statements are taken together; of more, each question sees the nearest."""

_MAX_DECIDERS = 256

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Prover:
    """Decides predicates under axes and facts; a parent's are known as well."""

    def __init__(
        self,
        axes: Iterable[Axis] = (),
        facts: Iterable[Predicate] = (),
        parent: Prover | None = None,
    ) -> None:
        own: list[Statement] = [*axes, *facts]
        start = parent._count if parent else 0
        self._own = range(start, start + len(own))
        self._count: int = start + len(own)
        self._parent = parent if self._is_small else None
        self._tickets = parent._tickets if parent and not own else count()
        self._near: dict[tuple[int, ...], Decider] = {}
        self._renamed: dict[tuple[int, ...], tuple[Decider, Names]] = {}
        self._alike: dict[object, Decider] = {}
        self._extensions: dict[tuple[Statement, ...], Prover] = {}
        self._log: Log = parent._log_with(own) if parent else Log(own)
        self._checked: int = parent._checked if parent else 0  # so many contradict nothing
        if parent and not own:
            self._near = parent._near
            self._renamed = parent._renamed
        if parent and not self._is_small:
            self._alike = parent._alike

    def extended(self, axes: Iterable[Axis] = (), facts: Iterable[Predicate] = ()) -> Prover:
        """One that knows more. For the same statements it is the same one, with its answers."""
        new = tuple(statement for statement in (*axes, *facts) if not self._states(statement))
        if not new:
            return self
        if new not in self._extensions:
            more = [statement for statement in new if isinstance(statement, Axis)]
            rest = [statement for statement in new if not isinstance(statement, Axis)]
            self._extensions[new] = Prover(more, rest, self)
        return self._extensions[new]

    def _states(self, statement: Statement) -> bool:
        """Whether it was stated before, word for word."""
        return any(
            self._log.statements[number] == statement
            for number in self._log.about(symbols_of(statement), self._count)
        )

    # --- questions ------------------------------------------------------------------------------

    def proves(self, predicate: Predicate) -> Answer:
        """TRUE when it holds for all allowed bindings where it has a value, FALSE when for none."""
        answer = structural(predicate)
        if answer is not None:
            return answer
        decider, names = self._in_own_names(predicate.symbols)
        return decider.proves(predicate.substitute(names))

    def bounds(self, dim: Dim) -> tuple[int | None, int | None]:
        """The least and greatest value that `dim` can have, as far as known; None is unbounded."""
        decider, names = self._in_own_names(dim.symbols)
        return decider.bounds(dim.substitute(names))

    def normalize(self, dim: Dim) -> Dim:
        """An equal dim in the simplest form that the facts allow."""
        return self.decider(dim.symbols).normalize(dim)

    @lazy_property
    def is_contradictory(self) -> bool:
        """Whether the facts are known to allow no binding at all."""
        if self._is_small:
            return self._all.is_contradictory
        seen: set[int] = set()
        for number in range(self._checked, self._count):
            if number not in seen:
                symbols = symbols_of(self._log.statements[number])
                if self._in_own_names(symbols)[0].is_contradictory:
                    return True
                seen.update(self._log.near(symbols, self._count))
        self._checked = self._count
        return False

    def _log_with(self, more: list[Statement]) -> Log:
        """The log with more statements, or a new one where someone went on from it before."""
        if more and next(self._tickets) > 0:
            return Log([*self._log.statements[: self._count], *more])
        self._log.append(more)
        return self._log

    # --- deciders -------------------------------------------------------------------------------

    def decider(self, symbols: Iterable[Symbol]) -> Decider:
        """Who knows what is nearest to these symbols, under their names."""
        if self._is_small:
            return self._all
        numbers = self._log.near(symbols, self._count)
        if numbers not in self._near:
            _make_room(self._near)
            self._near[numbers] = self._decider_of(numbers)
        return self._near[numbers]

    def _in_own_names(self, symbols: frozenset[Symbol]) -> tuple[Decider, Names]:
        """Who answers questions about these symbols, and the names that it has for them."""
        if self._is_small:
            return self._all, NOT_RENAMED
        numbers = self._log.near(symbols, self._count)
        if numbers not in self._renamed:
            _make_room(self._renamed)
            self._renamed[numbers] = self._shared_decider(numbers)
        decider, names = self._renamed[numbers]
        return decider, names_in(symbols, names)

    def _shared_decider(self, numbers: Iterable[int]) -> tuple[Decider, Names]:
        """The decider of statements that are these but for names."""
        statements = [self._log.statements[number] for number in numbers]
        names, form = own_form(statements)
        if form not in self._alike:
            _make_room(self._alike)
            axes, facts = own_statements(form)
            self._alike[form] = shared_decider(tuple(axes), tuple(facts))
        return self._alike[form], names

    @property
    def _is_small(self) -> bool:
        return self._count <= _FEW

    @lazy_property
    def _all(self) -> Decider:
        """All statements in one decider, which continues the parent's."""
        if self._parent is None:  # its own: what it remembers goes with it
            return self._decider_of(self._own)
        return self._decider_of(self._own, self._parent._all) if self._own else self._parent._all

    def _decider_of(self, numbers: Iterable[int], before: Decider | None = None) -> Decider:
        statements = [self._log.statements[number] for number in numbers]
        axes = tuple(statement for statement in statements if isinstance(statement, Axis))
        facts = tuple(statement for statement in statements if not isinstance(statement, Axis))
        return shared_decider(axes, facts, before)


def _make_room(known: dict[_Key, _Value]) -> None:
    """What a prover remembers has an end."""
    if len(known) >= _MAX_DECIDERS:
        known.clear()
