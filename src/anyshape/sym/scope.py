"""`FactScope`: the facts of one region while it is being built.

Names say what happens to the facts: `proves` asks, `assume` trusts, `require` demands. A demand
that is refuted is an error at once; one that cannot be decided becomes a fact that is checked at
run time, before anything is computed, and is known from then on.

Scopes nest: a child knows what its parents know, never the reverse. Fresh symbols are numbered
across the whole tree, so regions never confuse them.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from anyshape.base.errors import (
    AxisNameConflictError,
    DimTooLargeError,
    FactConflictError,
    RequirementError,
    UnprovableError,
)
from anyshape.base.location import Location
from anyshape.sym.axis import Axis
from anyshape.sym.decide import Answer, Prover
from anyshape.sym.dim import Dim
from anyshape.sym.facts import Fact, Facts, Origin
from anyshape.sym.predicate import Broadcastable, Equal, LessEqual, Predicate
from anyshape.sym.symbol import Symbol

_NOTHING = Prover()


class _Fresh:
    """Numbers for fresh symbols and the set of late ones, shared by a tree of scopes."""

    def __init__(self) -> None:
        self.numbers = count()
        self.used: set[Symbol] = set()
        self.late: set[Symbol] = set()

    def next(self) -> Symbol:
        symbol = next(s for n in self.numbers if (s := Symbol(f"?{n}")) not in self.used)
        self.used.add(symbol)
        return symbol


class FactScope:
    """What is known while a region is built. Not thread-safe: a builder has its own."""

    def __init__(
        self,
        parent: FactScope | None = None,
        *,
        strict: bool = False,
        distinct_names: bool = True,
    ) -> None:
        self._parent = parent
        self._strict = strict
        self._distinct_names = distinct_names
        self._shared: _Fresh = parent._shared if parent else _Fresh()
        self._axes: dict[Symbol, Axis] = {}
        self._facts: dict[Predicate, Fact] = {}
        self._adopted: dict[Symbol, Dim] = {}
        self._late: set[Symbol] = set()
        self._own: set[Symbol] = set()
        self._implied: list[Predicate] = []
        self._base: Prover = _NOTHING
        self._own_prover: Prover | None = None

    @staticmethod
    def of(
        facts: Facts,
        parent: FactScope | None = None,
        *,
        strict: bool = False,
        distinct_names: bool = True,
    ) -> FactScope:
        """A scope that starts with frozen facts, which are not examined again."""
        if parent is not None:
            strict, distinct_names = parent._strict, parent._distinct_names
        scope = FactScope(parent, strict=strict, distinct_names=distinct_names)
        scope._axes = {axis.symbol: axis for axis in facts.axes}
        scope._facts = {fact.predicate: fact for fact in facts.facts}
        for symbol in _symbols(facts):
            scope.reserve(symbol)
        return scope

    def child(self) -> FactScope:
        return FactScope(self, strict=self._strict, distinct_names=self._distinct_names)

    def trial(self) -> FactScope:
        """A child to try facts on: nothing that is told to it stays in this tree."""
        trial = self.child()
        trial._shared = _Fresh()
        return trial

    # --- asking -------------------------------------------------------------------------------

    @property
    def _prover(self) -> Prover:
        """Knows what this scope and its parents know; made again when a parent has learnt."""
        base = self._parent._prover if self._parent else _NOTHING
        if self._own_prover is None or self._base is not base:
            self._base = base
            known = (*self._facts, *self._implied)
            # What a prover remembers goes with its scope, so that of no facts at all is not shared.
            parent = None if base is _NOTHING else base
            nothing_new = not self._axes and not known
            shared = parent if nothing_new else None
            self._own_prover = shared or Prover(self._axes.values(), known, parent)
        return self._own_prover

    @property
    def knowledge(self) -> object:
        """Another object after each fact that this scope or one around it learns."""
        return self._prover

    @property
    def has_adopted(self) -> bool:
        """Whether a symbol here, or in a scope around, has adopted another size."""
        return bool(self._adopted) or (self._parent is not None and self._parent.has_adopted)

    def proves(self, predicate: Predicate) -> Answer:
        try:
            return self._prover.proves(predicate)
        except DimTooLargeError:  # a step of a proof, not the question
            return Answer.UNKNOWN

    def bounds(self, dim: Dim) -> tuple[int | None, int | None]:
        return self._prover.bounds(dim)

    def normalize(self, dim: Dim) -> Dim:
        """An equal dim in the simplest form that the facts allow."""
        return self._prover.normalize(dim)

    def broadcasts(self, dim: Dim) -> bool:
        """Whether a size of 1 is repeated: so it is, unless it is an axis that says no."""
        axis = self._declared(dim.symbol) if dim.symbol is not None else None
        return axis is None or axis.broadcasts

    def resolve(self, dim: Dim) -> Dim:
        """The dim with every symbol that has adopted another size replaced."""
        scope: FactScope | None = self
        while scope is not None:
            if scope._adopted:
                dim = dim.substitute(scope._adopted)
            scope = scope._parent
        return dim

    @property
    def checks(self) -> tuple[Fact, ...]:
        """Requirements that are left for run time."""
        return tuple(fact for fact in self._facts.values() if fact.origin.is_required)

    def freeze(self, born: frozenset[Symbol] | None = None) -> Facts:
        """This scope's own facts as a value; of late symbols only those that are `born` there."""
        dead = self._late - born if born is not None else frozenset[Symbol]()
        facts = (fact for fact in self._facts.values() if not fact.predicate.symbols & dead)
        return Facts(tuple(self._axes.values()), tuple(facts))

    def adopted(self) -> dict[Symbol, Dim]:
        """Symbols of this scope that were unified with something better known."""
        return {symbol: self.resolve(dim) for symbol, dim in self._adopted.items()}

    # --- telling ------------------------------------------------------------------------------

    def declare(self, axis: Axis) -> None:
        """Declares an axis; declaring it again differently is a contradiction."""
        known = self._declared(axis.symbol)
        if known is not None and known != axis:
            raise FactConflictError(str(axis), "its declaration", str(known), "its declaration")
        self.reserve(axis.symbol)
        extended = Prover((axis,), (), self._prover)
        if extended.is_contradictory:
            raise self._conflict(axis, "its declaration")
        self._axes[axis.symbol] = axis
        self._own_prover = extended

    def _declared(self, symbol: Symbol) -> Axis | None:
        outer = self._parent._declared(symbol) if self._parent else None
        return self._axes.get(symbol, outer)

    def assume(
        self,
        predicate: Predicate,
        *,
        origin: Origin = Origin.USER,
        words: str = "",
        where: Location | None = None,
    ) -> None:
        """Trusts a fact; one that contradicts what is known is refused."""
        self.assume_fact(Fact(predicate, origin, words, str(where or "")))

    def assume_fact(self, fact: Fact) -> None:
        """The same for a predicate with its provenance."""
        if self.proves(fact.predicate) is Answer.FALSE:
            raise self._conflict(fact.predicate, fact.source)
        if fact.predicate not in self._facts:
            self._record(fact)

    def require(
        self,
        predicate: Predicate,
        why: str,
        location: Location | None = None,
        origin: Origin = Origin.OP,
    ) -> None:
        """Demands that `predicate` holds; `why` says which op needs it for what. In one case of
        several (`Origin.MODEL`) axes of different names may well be equal."""
        answer = self.proves(predicate)
        if answer is Answer.FALSE:
            raise RequirementError(str(predicate), why, self._derivation(predicate), location)
        if answer is Answer.UNKNOWN and not self._adopt(predicate):
            if origin is not Origin.MODEL:
                self._check_names(predicate, why, location)
            if self._strict:
                raise UnprovableError(str(predicate), why, location)
            self._record(Fact(predicate, origin, why, str(location or "")))

    def _record(self, fact: Fact) -> None:
        for symbol in fact.predicate.symbols:
            self.reserve(symbol)
        self._own_prover = Prover((), (fact.predicate,), self._prover)
        self._facts[fact.predicate] = fact

    # --- symbols ------------------------------------------------------------------------------

    def reserve(self, symbol: Symbol) -> None:
        """Keeps `fresh` from giving out a symbol in use; who names it first, owns it."""
        if symbol not in self._shared.used:
            self._shared.used.add(symbol)
            self._own.add(symbol)

    def fresh(self) -> Dim:
        """A new unnamed size, equal to nothing else until unified."""
        symbol = self._shared.next()
        self._own.add(symbol)
        return Dim.of(symbol)

    def late(self, symbol: Symbol | None, upper: Dim | None) -> Symbol:
        """A size that the graph computes: `symbol` or a new one, at most `upper`."""
        born = self._shared.next() if symbol is None else symbol
        self.reserve(born)
        self._shared.late.add(born)
        self._late.add(born)
        if upper is not None:
            # Known, but no fact of the scope: the node that bears the symbol records it.
            bound = LessEqual(Dim.of(born), upper)
            self._own_prover = Prover((), (bound,), self._prover)
            self._implied.append(bound)
        return born

    def late_among(self, symbols: Iterable[Symbol]) -> list[Symbol]:
        """Those of them that the graph computes, by name."""
        return sorted(self._shared.late.intersection(symbols), key=str)

    def unify(self, left: Dim, right: Dim, why: str, location: Location | None = None) -> Dim:
        """Makes two sizes one and returns the better known of them."""
        self.require(Equal(left, right), why, location)
        return self.resolve(right if self.resolve(left) is left else left)

    def _adopt(self, predicate: Predicate) -> bool:
        """An equality with a fresh symbol: the symbol takes the other side's place."""
        if not isinstance(predicate, Equal):
            return False
        left, right = self.resolve(predicate.lhs), self.resolve(predicate.rhs)
        for dim, other in ((left, right), (right, left)):
            symbol = dim.symbol
            if symbol is not None and self._may_adopt(symbol, other):
                self.adopt(symbol, other)
                return True
        return False

    def adopt(self, symbol: Symbol, size: Dim) -> None:
        """From now on `size` stands in place of `symbol`: they are known to be the same."""
        same = Equal(Dim.of(symbol), size)
        self._adopted = {s: d.substitute({symbol: size}) for s, d in self._adopted.items()}
        self._adopted[symbol] = size
        self._own_prover = Prover((), (same,), self._prover)
        self._implied.append(same)

    def _may_adopt(self, symbol: Symbol, other: Dim) -> bool:
        """A fresh symbol of this scope may, unless late: that is what the graph computes.

        What holds inside a branch holds only there, so a branch leaves outer symbols alone.
        """
        if symbol not in self._own or not symbol.is_fresh or symbol in other.symbols:
            return False
        if symbol in self._shared.late:
            return False
        return not other.symbols & self._shared.late

    def _check_names(self, predicate: Predicate, why: str, location: Location | None) -> None:
        """Two differently named axes are not made equal behind the user's back."""
        if not self._distinct_names or not isinstance(predicate, Equal | Broadcastable):
            return
        left, right = (self.resolve(side).symbol for side in predicate.sides)
        if left is None or right is None or {left, right} & self._shared.late:
            return
        if not left.is_fresh and not right.is_fresh:
            broadcast = isinstance(predicate, Broadcastable)
            raise AxisNameConflictError(str(left), str(right), why, broadcast, location)

    # --- explaining ---------------------------------------------------------------------------

    def _sources(self) -> list[Axis | Fact]:
        """Everything stated here and in the scopes around, outermost first."""
        outer = self._parent._sources() if self._parent else []
        return [*outer, *self._axes.values(), *self._facts.values()]

    def _conflict(self, new: Predicate | Axis, source: str) -> FactConflictError:
        old = _culprits(self._sources(), new)
        names = " and ".join(
            str(item.predicate if isinstance(item, Fact) else item) for item in old
        )
        sources = " and ".join(
            item.source if isinstance(item, Fact) else "its declaration" for item in old
        )
        return FactConflictError(str(new), source, names, sources)

    def _derivation(self, predicate: Predicate) -> str:
        """The statements that refute a requirement, for its error message."""
        shown = [
            f"{item.predicate} ({item.source})" if isinstance(item, Fact) else str(item)
            for item in _culprits(self._sources(), predicate)
        ]
        return "known: " + ", ".join(shown) if shown else ""


def _culprits(known: list[Axis | Fact], new: Predicate | Axis) -> list[Axis | Fact]:
    """A smallest part of what is known that excludes `new` (found by leaving out, one by one)."""
    needed = list(known)
    for item in known:
        fewer = [other for other in needed if other is not item]
        if _excludes(fewer, new):
            needed = fewer
    return needed


def _excludes(known: list[Axis | Fact], new: Predicate | Axis) -> bool:
    axes = [item for item in known if isinstance(item, Axis)]
    facts = [item.predicate for item in known if isinstance(item, Fact)]
    if isinstance(new, Axis):
        return Prover([*axes, new], facts).is_contradictory
    prover = Prover(axes, facts)
    return prover.is_contradictory or prover.proves(new) is Answer.FALSE


def _symbols(facts: Facts) -> Iterable[Symbol]:
    yield from (axis.symbol for axis in facts.axes)
    yield from (symbol for fact in facts.facts for symbol in fact.predicate.symbols)
