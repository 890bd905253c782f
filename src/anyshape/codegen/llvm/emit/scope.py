"""Scopes: where in the function code is put, and what is known there.

A scope is one straight line of code that runs as a whole: the body of a loop, or the code in front
of one. While an inner scope is written its outer scopes stay open, so that whatever does not change
in a loop is appended in front of it and is computed once. This is how everything is hoisted: there
is no motion of code afterwards.

Invariants:
  - code of a scope dominates all code written later into it and into the scopes inside;
  - what is written into a scope ahead of a loop may run although the loop does not, hence only
    operations without effects and traps go there (loads have a rule of their own, `access.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager

from anyshape.base.lazy import lazy_property
from anyshape.codegen.llvm.emit.loop_hints import keep_as_written
from anyshape.codegen.llvm.emit.types import I64, number
from anyshape.codegen.llvm.math.boundary import Value, ir
from anyshape.sym import Dim, Predicate, Prover, Symbol

PartOf = Callable[[int], Value]  # the vector of values in one part of the tile


class Scope:
    """A line of code; see the module's invariants."""

    def __init__(self, block: object, parent: Scope | None, facts: Sequence[Predicate] = ()):
        self.b = ir.IRBuilder(block)
        self.parent = parent
        self.depth: int = parent.depth + 1 if parent else 0
        self.indices: dict[Symbol, Value] = {}  # symbols with one value, defined here
        self.varying: dict[Symbol, PartOf] = {}  # symbols with a value in each lane
        self.memo: dict[object, Value] = {}  # what was computed here, by what it means
        self._facts = tuple(facts)

    @lazy_property
    def prover(self) -> Prover:
        """What holds whenever this code runs."""
        assert self.parent is not None, "the outermost scope is given a prover"
        outer = self.parent.prover
        return outer.extended((), self._facts) if self._facts else outer

    def learn(self, facts: Sequence[Predicate]) -> None:
        """Facts about symbols that become defined here. What was answered before stays answered,
        and the verifier, who learnt the same in the same order, has answered most of the rest."""
        self.__dict__["prover"] = self.prover.extended((), facts)

    def outwards(self) -> Iterator[Scope]:
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def defining(self, symbol: Symbol) -> Scope:
        return next(s for s in self.outwards() if symbol in s.indices or symbol in s.varying)

    def home(self, dim: Dim) -> Scope:
        """The outermost scope in which all symbols of `dim` have values."""
        return deepest(map(self.defining, dim.symbols), self.outermost)

    @lazy_property
    def outermost(self) -> Scope:
        return self.parent.outermost if self.parent else self

    def is_varying(self, dim: Dim) -> bool:
        """Whether lanes differ in it."""
        return any(symbol in self.defining(symbol).varying for symbol in dim.symbols)


def deepest(scopes: Iterable[Scope], at_least: Scope) -> Scope:
    """The innermost of scopes that lie inside each other."""
    return max((at_least, *scopes), key=lambda scope: scope.depth)


@contextmanager
def when(outer: Scope, condition: Value, facts: Sequence[Predicate] = ()) -> Generator[Scope]:
    """A scope that runs only if the condition holds."""
    block = outer.b.append_basic_block("when")
    inner = Scope(block, outer, facts)
    yield inner
    after = outer.b.append_basic_block("after")
    inner.b.branch(after)
    outer.b.cbranch(condition, block, after)
    outer.b.position_at_end(after)


@contextmanager
def repeat(
    outer: Scope, start: Value, stop: Value, step: int, facts: Sequence[Predicate] = ()
) -> Generator[tuple[Scope, Value]]:
    """A loop from start in steps while below stop; runs at least once. Gives the body and index."""
    block = outer.b.append_basic_block("loop")
    body = Scope(block, outer, facts)
    index = body.b.phi(I64)
    yield body, index
    following = body.b.add(index, number(step))
    after = outer.b.append_basic_block("done")
    again = body.b.cbranch(body.b.icmp_signed("<", following, stop), block, after)
    keep_as_written(outer.b.module, again)
    index.add_incoming(start, outer.b.block)
    index.add_incoming(following, body.b.block)
    outer.b.branch(block)
    outer.b.position_at_end(after)
