"""Makes accesses safe that the verifier could not prove in bounds, by rewriting the kernel.

A load becomes a `Guard` on its own bounds, and reads 0 outside; a store is noted with the bounds
that the emitter must test, and writes nothing outside; so is a copy or a product of matrices, which
is done as a whole or not at all. An index that data decide is brought into its range, which helps
only if that range is not empty: unless that is proved, it is tested too.
"""

from __future__ import annotations

from dataclasses import replace

from anyshape.codegen.llvm.emit.frame import Conditions
from anyshape.loop import (
    Apply,
    Bind,
    Copy,
    For,
    Guard,
    Kernel,
    Let,
    Literal,
    Load,
    Multiply,
    Prepare,
    Scalar,
    Statement,
    Store,
    Update,
)
from anyshape.loop.bounds import bounds_of
from anyshape.loop.ir import Index
from anyshape.loop.verify import Access, Unproved, verify_kernel
from anyshape.sym import Answer, Dim, Less, LessEqual, Prover, Symbol


def made_safe(kernel: Kernel, prover: Prover) -> tuple[Kernel, dict[int, Conditions]]:
    """The kernel with guarded loads, and by id what else needs a test. Raises VerifyError."""
    rewriter = _Rewriter(set(verify_kernel(kernel)), prover)
    body = rewriter.body(kernel.body)
    return replace(kernel, body=body), rewriter.checked


class _Rewriter:
    """Rebuilds what must change, and returns the same object for what need not."""

    def __init__(self, unproved: set[Unproved], prover: Prover) -> None:
        self.unproved = unproved
        self.prover = prover
        self.checked: dict[int, Conditions] = {}  # by id of the statement
        self._ranges: dict[Symbol, Dim] = {}  # of symbols whose range may be empty
        self._memo: dict[int, tuple[Scalar, Scalar]] = {}  # by id: the expression and its new form

    def body(self, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(map(self._statement, body))

    def _statement(self, statement: Statement) -> Statement:
        match statement:
            case For() | Prepare():
                return replace(statement, body=self.body(statement.body))
            case Store(buffer, index, value):
                made = Store(buffer, index, self._scalar(value))
                if conditions := self._conditions((buffer, index)):
                    self.checked[id(made)] = conditions
                return made
            case Bind(symbol, value, extent):
                self._ranges.pop(symbol, None)  # of another loop, which had an index of that name
                if self.prover.proves(Less(Dim.of(0), extent)) is not Answer.TRUE:
                    self._ranges[symbol] = extent
                return Bind(symbol, self._scalar(value), extent)
            case Copy() | Multiply():
                if statement in self.unproved:
                    self.checked[id(statement)] = bounds_of(statement, self.prover)
                return statement
            case Let() | Update():
                return replace(statement, value=self._scalar(statement.value))

    def _conditions(self, access: Access) -> Conditions:
        buffer, index = access
        bounds = _bounds(index, buffer.shape) if access in self.unproved else ()
        return (*self._nonempty(index), *bounds)

    def _nonempty(self, index: Index) -> Conditions:
        used = frozenset[Symbol]().union(*(dim.symbols for dim in index))
        return tuple(
            Less(Dim.of(0), extent) for symbol, extent in self._ranges.items() if symbol in used
        )

    def _scalar(self, scalar: Scalar) -> Scalar:
        known = self._memo.get(id(scalar))
        if known is None:
            known = self._memo[id(scalar)] = scalar, self._rebuilt(scalar)
        return known[1]

    def _rebuilt(self, scalar: Scalar) -> Scalar:
        match scalar:
            case Load(buffer, index):
                conditions = self._conditions((buffer, index))
                zero = Literal.of(0, buffer.dtype)
                return Guard(conditions, scalar, zero) if conditions else scalar
            case Apply(op, args, dtype):
                return Apply(op, tuple(map(self._scalar, args)), dtype)
            case Guard(conditions, inside, outside):
                return Guard(conditions, self._scalar(inside), self._scalar(outside))
            case _:
                return scalar


def _bounds(index: Index, shape: Index) -> Conditions:
    pairs = zip(index, shape, strict=True)
    return tuple(
        test for dim, size in pairs for test in (LessEqual(Dim.of(0), dim), Less(dim, size))
    )
