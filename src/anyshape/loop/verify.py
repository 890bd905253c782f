"""The verifier of the loop IR: names are defined, dtypes fit, and accesses are in bounds.

Bounds are proved with the kernel's facts, the ranges of the loops around and the conditions of the
guards around. What cannot be proved is returned, and the emitter makes it safe: a load or a store
on its own, a copy or a product of matrices as a whole (`bounds.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from anyshape.base.errors import VerifyError
from anyshape.ir.types import i32
from anyshape.loop.bounds import bounds_of, ends_of, limits_of, work_of
from anyshape.loop.ir import (
    COLUMN,
    GROUPED,
    ROW,
    Apply,
    Bind,
    Buffer,
    Copy,
    For,
    Guard,
    Index,
    Let,
    Literal,
    Load,
    Local,
    Matrix,
    Multiply,
    Number,
    Prepare,
    Scalar,
    Statement,
    Store,
    Update,
)
from anyshape.loop.kernel import Kernel
from anyshape.loop.prepare import check_preparation
from anyshape.loop.printer import is_row_major, scalar_text
from anyshape.sym import Answer, Dim, Less, LessEqual, Predicate, Prover, Symbol

Access = tuple[Buffer, Index]
Unproved = Access | Copy | Multiply


def verify_kernel(kernel: Kernel) -> list[Unproved]:
    """Raises VerifyError on a malformed kernel; returns what is not proved to stay in bounds."""
    _check_given(kernel)
    start = Prover(kernel.facts.axes, [fact.predicate for fact in kernel.facts.facts])
    start = start.extended((), facts_of_task(kernel))
    around = _Around(kernel, _Known(start, frozenset(kernel.sizes)), {}, {})
    around.within(kernel.task, kernel.tasks).check(kernel.body)
    return list(around.unproved)


def _check_given(kernel: Kernel) -> None:
    """Names say what is meant, so none stands for two things."""
    names = [buffer.name for buffer in (*kernel.buffers, *kernel.scratch)]
    for given, kind in ((names, "buffer"), (kernel.sizes, "size")):
        for name, times in Counter(given).items():
            if times > 1:
                raise VerifyError(f"{kind} '{name}'", "is given twice")


def facts_of_task(kernel: Kernel) -> tuple[Predicate, ...]:
    """What holds because a task runs: none of the factors of their number is 0."""
    monomials = [[factor for factor, _ in monomial] for monomial, _ in kernel.tasks.terms]
    if not monomials:
        return ()
    first, *others = monomials
    common = [factor for factor in first if all(factor in other for other in others)]
    return tuple(Less(Dim.of(0), Dim.of_factor(factor)) for factor in common)


def _range(symbol: Symbol, extent: Dim) -> tuple[Predicate, ...]:
    index = Dim.of(symbol)
    return LessEqual(Dim.of(0), index), Less(index, extent)


def _written(statement: Copy | Multiply) -> str:
    return statement.target.name if isinstance(statement, Copy) else statement.tile.name


@dataclass(frozen=True, slots=True)
class _Known:
    """What holds at one point of the kernel."""

    prover: Prover
    symbols: frozenset[Symbol]
    ranges: tuple[tuple[Symbol, Dim], ...] = ()  # of indices, the outermost first
    is_settled: bool = True  # whether none of these ranges can be empty

    def within(self, symbol: Symbol, extent: Dim, *, is_settled: bool) -> _Known:
        return _Known(
            self.prover.extended((), _range(symbol, extent)),
            self.symbols | {symbol},
            (*self.ranges, (symbol, extent)),
            self.is_settled and is_settled,
        )

    def assuming(self, conditions: tuple[Predicate, ...]) -> _Known:
        return replace(self, prover=self.prover.extended((), conditions))


class _Around:
    """What is known and named at one point of the kernel."""

    def __init__(
        self,
        kernel: Kernel,
        known: _Known,
        locals_: dict[str, Local],
        unproved: dict[Unproved, None],
    ) -> None:
        self.kernel = kernel
        self.known = known
        self.prover = known.prover
        self.locals = locals_
        self.unproved = unproved  # an ordered set, shared by all points
        self._seen: set[int] = set()  # expressions checked here, by id: parts may be shared
        self._assuming: dict[tuple[Predicate, ...], _Around] = {}

    def within(self, symbol: Symbol, extent: Dim, *, is_settled: bool = True) -> _Around:
        self._known(extent)
        if symbol in self.known.symbols:
            raise VerifyError(f"index '{symbol}'", "is defined twice")
        known = self.known.within(symbol, extent, is_settled=is_settled)
        return _Around(self.kernel, known, dict(self.locals), self.unproved)

    def assuming(self, conditions: tuple[Predicate, ...]) -> _Around:
        found = self._assuming.get(conditions)
        if found is None:
            known = self.known.assuming(conditions)
            found = _Around(self.kernel, known, self.locals, self.unproved)
            self._assuming[conditions] = found
        return found

    def _without_locals(self) -> _Around:
        return _Around(self.kernel, self.known, {}, self.unproved)

    def check(self, body: Sequence[Statement]) -> None:
        around = self
        for statement in body:
            around = around._statement(statement)

    def _statement(self, statement: Statement) -> _Around:
        """Checks one statement; returns what holds behind it."""
        match statement:
            case Let(local, value):
                self._scalar(value)
                self._same(local, value)
                self._define(local)
            case Bind(symbol, value, extent):
                self._scalar(value)
                some = self.prover.proves(Less(Dim.of(0), extent)) is Answer.TRUE
                return self.within(symbol, extent, is_settled=some)
            case Store(buffer, index, value):
                if buffer not in (*self.kernel.results, *self.kernel.scratch):
                    raise VerifyError(f"buffer '{buffer.name}'", "is not written by this kernel")
                self._access(buffer, index)
                self._scalar(value)
            case Update(local, value):
                self._same(local, value)
                self._scalar(value)
            case For():
                self._loop(statement)
            case Copy():
                self._copy(statement)
            case Multiply():
                self._multiply(statement)
            case Prepare():
                check_preparation(self.kernel, statement)
                self._without_locals().check(statement.body)
            case _:
                assert_never(statement)
        return self

    def _define(self, local: Local) -> None:
        """What was checked with another local of that name has to be checked again."""
        if self.locals.get(local.name, local) != local:
            self._seen.clear()
            self._assuming.clear()
        self.locals[local.name] = local

    def _loop(self, loop: For) -> None:
        for state in loop.accumulators:
            self._define(state.local)
        self.within(loop.index, loop.extent).check(loop.body)

    def _copy(self, copy: Copy) -> None:
        for dim in copy.dims:
            self._known(dim)
        if copy.target not in self.kernel.scratch or len(copy.target.shape) != 2:
            raise VerifyError(f"target '{copy.target.name}'", "is no scratch of two axes")
        self._matrix(copy.source)
        self._bounds(copy)

    def _multiply(self, product: Multiply) -> None:
        for dim in product.dims:
            self._known(dim)
        if product.tile not in self.kernel.scratch or len(product.room) != 2:
            axes = "two axes" if not product.at else f"{2 + len(product.at)} axes"
            raise VerifyError(f"tile '{product.tile.name}'", f"is no scratch of {axes}")
        for side in (product.lhs, product.rhs):
            self._matrix(side)
        runs_of_depth = product.lhs.strides[1], product.rhs.strides[0]
        if product.rhs.strides[1] != 1 and runs_of_depth != (1, 1):
            raise VerifyError(f"matrix '{product.rhs.buffer.name}'", "has columns apart")
        if product.rhs.strides[1] != 1 and product.added:
            raise VerifyError(f"tile '{product.tile.name}'", "is added to by columns apart")
        if product.group > 1:
            self._groups(product)
        self._bounds(product)

    def _groups(self, product: Multiply) -> None:
        matrix = f"matrix '{product.rhs.buffer.name}'"
        if not product.padded or product.rhs.strides[1] != 1:
            raise VerifyError(matrix, "has groups of k, but no whole panels")
        if product.lhs.strides[1] != 1:
            raise VerifyError(matrix, "has groups of k, but those of lhs are apart")
        sides = product.lhs.buffer.dtype, product.rhs.buffer.dtype
        if product.tile.dtype is not i32 or (*sides, product.group) not in GROUPED:
            raise VerifyError(matrix, f"has groups of {product.group} in {sides[0]} @ {sides[1]}")

    def _bounds(self, statement: Copy | Multiply) -> None:
        """An index whose range may be empty has any value there: nothing is known of it."""
        still_open = self._not_proved(bounds_of(statement, self.prover))
        if still_open:  # perhaps they follow from there being anything to do
            working = self.assuming(work_of(statement))
            still_open = [] if working.prover.is_contradictory else working._not_proved(still_open)
            if any(working.prover.proves(test) is Answer.FALSE for test in still_open):
                raise VerifyError(f"matrix in '{_written(statement)}'", "is out of bounds")
        if still_open or not self.known.is_settled:
            self.unproved[statement] = None

    def _not_proved(self, tests: Sequence[Predicate]) -> list[Predicate]:
        return [test for test in tests if self.prover.proves(test) is not Answer.TRUE]

    def _matrix(self, matrix: Matrix) -> None:
        given = (*self.kernel.buffers, *self.kernel.scratch)
        if matrix.buffer not in given or not is_row_major(matrix.buffer):
            raise VerifyError(f"buffer '{matrix.buffer.name}'", "is not given, or not dense")
        for symbol in (ROW, COLUMN):
            if any(symbol in dim.symbols for dim in matrix.dims):
                raise VerifyError(f"matrix in '{matrix.buffer.name}'", f"depends on '{symbol}'")

    def _same(self, local: Local, value: Scalar) -> None:
        if local.dtype != value.dtype:
            raise VerifyError(f"local '{local.name}'", f"is {local.dtype}, given {value.dtype}")

    def _known(self, dim: Dim) -> None:
        for symbol in dim.symbols - self.known.symbols:
            raise VerifyError(f"index '{dim}'", f"uses '{symbol}', which is not defined here")

    def _access(self, buffer: Buffer, index: Index) -> None:
        given = (*self.kernel.buffers, *self.kernel.scratch)
        if buffer not in given or len(index) != len(buffer.shape):
            raise VerifyError(f"buffer '{buffer.name}'", "is not given, or has another rank")
        for dim in index:
            self._known(dim)
        if not all(map(self._in_bounds, index, buffer.shape)):
            self.unproved[buffer, index] = None

    def _in_bounds(self, index: Dim, size: Dim) -> bool:
        """Where there are products of sizes, they often cancel at the ends of the loops around."""
        ends = ends_of(index, self.known.ranges, self.prover)
        if ends != (index, index) and self._is_between(*ends, size):
            return True
        return self._is_between(index, index, size)

    def _is_between(self, low: Dim, high: Dim, size: Dim) -> bool:
        above = (Less(high, limit) for limit in limits_of(size))
        tests = (LessEqual(Dim.of(0), low), *above)
        return all(self.prover.proves(test) is Answer.TRUE for test in tests)

    def _scalar(self, value: Scalar) -> None:
        if id(value) in self._seen:
            return
        self._seen.add(id(value))
        match value:
            case Load(buffer, index):
                self._access(buffer, index)
            case Number(dim):
                self._known(dim)
            case Local(name, _):
                if self.locals.get(name) != value:
                    raise VerifyError(f"local '{scalar_text(value)}'", "is not defined here")
            case Apply(_, args, _):
                for arg in args:
                    self._scalar(arg)
            case Guard(conditions, inside, outside):
                self.assuming(conditions)._scalar(inside)
                self._scalar(outside)
            case Literal():
                pass
            case _:
                assert_never(value)
