"""The verifier of the loop IR: names are defined, dtypes fit, and accesses are in bounds.

Bounds are proved with the kernel's facts, the ranges of the loops around and the conditions of the
guards around. What cannot be proved is returned, and the emitter makes such an access safe.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from anyshape.base.errors import VerifyError
from anyshape.loop.ir import (
    Apply,
    Bind,
    Buffer,
    For,
    Guard,
    Index,
    Kernel,
    Let,
    Literal,
    Load,
    Local,
    Multiply,
    Number,
    Scalar,
    Statement,
    Store,
    Update,
)
from anyshape.loop.printer import scalar_text
from anyshape.sym import Answer, Dim, Less, LessEqual, Predicate, Prover, Symbol

Access = tuple[Buffer, Index]


def verify_kernel(kernel: Kernel) -> list[Access]:
    """Raises VerifyError on a malformed kernel; returns the accesses not proved in bounds."""
    start = Prover(kernel.facts.axes, [fact.predicate for fact in kernel.facts.facts])
    around = _Around(kernel, start, frozenset(kernel.sizes), {})
    return around.within(kernel.task, kernel.tasks).check(kernel.body)


def _range(symbol: Symbol, extent: Dim) -> tuple[Predicate, ...]:
    index = Dim.of(symbol)
    return LessEqual(Dim.of(0), index), Less(index, extent)


class _Around:
    """What is known and named at one point of the kernel."""

    def __init__(
        self,
        kernel: Kernel,
        prover: Prover,
        symbols: frozenset[Symbol],
        locals_: dict[str, Local],
    ) -> None:
        self.kernel = kernel
        self.prover = prover
        self.symbols = symbols
        self.locals = locals_

    def within(self, symbol: Symbol, extent: Dim) -> _Around:
        self._known(extent)
        if symbol in self.symbols:
            raise VerifyError(f"index '{symbol}'", "is defined twice")
        prover = self.prover.extended((), _range(symbol, extent))
        return _Around(self.kernel, prover, self.symbols | {symbol}, dict(self.locals))

    def assuming(self, conditions: Sequence[Predicate]) -> _Around:
        prover = self.prover.extended((), conditions)
        return _Around(self.kernel, prover, self.symbols, self.locals)

    def check(self, body: Sequence[Statement]) -> list[Access]:
        around, unproved = self, list[Access]()
        for statement in body:
            around, found = around._statement(statement)
            unproved += found
        return unproved

    def _statement(self, statement: Statement) -> tuple[_Around, list[Access]]:
        match statement:
            case Let(local, value):
                found = self._scalar(value)
                self._same(local, value)
                self.locals[local.name] = local
                return self, found
            case Bind(symbol, value, extent):
                return self.within(symbol, extent), self._scalar(value)
            case Store(buffer, index, value):
                if buffer not in (*self.kernel.results, *self.kernel.scratch):
                    raise VerifyError(f"buffer '{buffer.name}'", "is not written by this kernel")
                return self, [*self._access(buffer, index), *self._scalar(value)]
            case Update(local, value):
                self._same(local, value)
                return self, self._scalar(value)
            case For():
                return self, self._loop(statement)
            case Multiply():
                return self, self._multiply(statement)
            case _:
                assert_never(statement)

    def _loop(self, loop: For) -> list[Access]:
        states = {state.local.name: state.local for state in loop.accumulators}
        self.locals.update(states)
        return self.within(loop.index, loop.extent).check(loop.body)

    def _multiply(self, product: Multiply) -> list[Access]:
        """Bounds are those of whoever made it: the matrices of its loops tile whole matrices."""
        for dim in product.dims:
            self._known(dim)
        if product.tile not in self.kernel.scratch:
            raise VerifyError(f"tile '{product.tile.name}'", "is not scratch of this kernel")
        for side in (product.lhs, product.rhs):
            given = (*self.kernel.buffers, *self.kernel.scratch)
            if side.buffer not in given or len(side.buffer.shape) != 1:
                raise VerifyError(f"buffer '{side.buffer.name}'", "is not given, or not flat")
        if product.rhs.strides[1] != 1:
            raise VerifyError(f"matrix '{product.rhs.buffer.name}'", "has columns apart")
        return []

    def _same(self, local: Local, value: Scalar) -> None:
        if local.dtype != value.dtype:
            raise VerifyError(f"local '{local.name}'", f"is {local.dtype}, given {value.dtype}")

    def _known(self, dim: Dim) -> None:
        for symbol in dim.symbols - self.symbols:
            raise VerifyError(f"index '{dim}'", f"uses '{symbol}', which is not defined here")

    def _access(self, buffer: Buffer, index: Index) -> list[Access]:
        given = (*self.kernel.buffers, *self.kernel.scratch)
        if buffer not in given or len(index) != len(buffer.shape):
            raise VerifyError(f"buffer '{buffer.name}'", "is not given, or has another rank")
        for dim in index:
            self._known(dim)
        inside = all(map(self._in_bounds, index, buffer.shape))
        return [] if inside else [(buffer, index)]

    def _in_bounds(self, index: Dim, size: Dim) -> bool:
        zero = Dim.of(0)
        return all(
            self.prover.proves(test) is Answer.TRUE
            for test in (LessEqual(zero, index), Less(index, size))
        )

    def _scalar(self, value: Scalar) -> list[Access]:
        return [access for part in self._parts(value) for access in part]

    def _parts(self, value: Scalar) -> Iterator[list[Access]]:
        match value:
            case Load(buffer, index):
                yield self._access(buffer, index)
            case Number(dim):
                self._known(dim)
            case Local(name, _):
                if self.locals.get(name) != value:
                    raise VerifyError(f"local '{scalar_text(value)}'", "is not defined here")
            case Apply(_, args, _):
                yield from (self._scalar(arg) for arg in args)
            case Guard(conditions, inside, outside):
                yield self.assuming(conditions)._scalar(inside)
                yield self._scalar(outside)
            case Literal():
                pass
            case _:
                assert_never(value)
