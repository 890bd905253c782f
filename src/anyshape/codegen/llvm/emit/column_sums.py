"""The micro-kernel of products whose columns are apart in memory: sums along the depth.

    void columns_C(lhs, rhs, rhs_right, tile, depth, columns)

One row of lhs times C columns of rhs, each of which is one run along the depth, as the row is: a
vector of partial sums for each column, added up at the end. It reads both factors for each
multiplication, so that it is no match for register tiles, but it needs no copy of rhs: it is for
few rows. Where there are fewer than C columns, the last one is computed again instead.

Long sums are made in blocks (`sum_blocks.py`), whose sums are added to totals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anyshape.codegen.llvm.emit.convert import cast, from_memory
from anyshape.codegen.llvm.emit.intrinsics import (
    element_address,
    first_lanes,
    masked_load,
    multiply_add,
    zero,
)
from anyshape.codegen.llvm.emit.loop_hints import keep_as_written
from anyshape.codegen.llvm.emit.sum_blocks import end_of_first, end_of_next
from anyshape.codegen.llvm.emit.types import (
    I32,
    I64,
    POINTER,
    memory_type,
    number,
    register_type,
)
from anyshape.codegen.llvm.math.boundary import (
    Builder,
    Function,
    Module,
    Value,
    internal_function,
    ir,
)
from anyshape.ir.types import DType

_ARGUMENTS = (POINTER, POINTER, I64, POINTER, I64, I64)
MOST_COLUMNS = 8

STEPS_OF_BLOCK = 128
"""Terms that a lane sums, unless there are very many."""


@dataclass(frozen=True, slots=True)
class ColumnSums:
    """Which micro-kernel: lanes of a vector, and the dtypes of operands and of sums."""

    lanes: int
    lhs: DType
    rhs: DType
    total: DType

    @property
    def columns(self) -> int:
        """As many as leave registers free on every machine."""
        return min(self.lanes, MOST_COLUMNS)

    @property
    def name(self) -> str:
        return f"columns_{self.columns}_{self.lhs}_{self.rhs}_{self.total}"

    def function(self, module: Module) -> Function:
        """The micro-kernel in `module`, written when first asked for."""
        found = module.globals.get(self.name)
        return found if found is not None else _Writer(self, module).function


class _Writer:
    def __init__(self, kernel: ColumnSums, module: Module) -> None:
        self.kernel = kernel
        self.function = internal_function(module, kernel.name, ir.VoidType(), _ARGUMENTS)
        self.function.attributes.add("noinline")  # registers are assigned best to a loop alone
        self.lhs, rhs, right, tile, depth, columns = self.function.args
        names = ("entry", "block", "tail", "done")
        entry, block, tail, done = (self.function.append_basic_block(name) for name in names)
        start = ir.IRBuilder(entry)
        self.columns = [self._column(start, rhs, right, columns, j) for j in range(kernel.columns)]
        nothing = [zero(register_type(kernel.total, kernel.lanes))] * kernel.columns
        whole = start.and_(depth, number(-kernel.lanes))
        first = end_of_first(start, whole, self.block)
        start.cbranch(start.icmp_signed("<", number(0), whole), block, tail)
        begun = _Begun(ir.IRBuilder(block), entry, first, nothing)
        sums, last = self._write_block(begun, first, tail, whole)
        merged = _merged(ir.IRBuilder(tail), [(nothing, entry), (sums, last)])
        self._write_tail(ir.IRBuilder(tail), merged, whole, depth, tile, done)

    @property
    def block(self) -> int:
        return STEPS_OF_BLOCK * self.kernel.lanes

    def _column(self, b: Builder, rhs: Value, right: Value, columns: Value, column: int) -> Value:
        last = b.sub(columns, number(1))
        chosen = b.select(b.icmp_signed("<", number(column), last), number(column), last)
        return element_address(b, rhs, memory_type(self.kernel.rhs), b.mul(right, chosen))

    def _write_block(
        self, begun: _Begun, first: Value, after: object, whole: Value
    ) -> tuple[list[Value], object]:
        """A block, and the step to the next. Returns the totals, and the block that has them."""
        loop, add, joined, again = map(self._builder, ("loop", "add", "joined", "again"))
        sums, left = self._write_loop(loop, begun, joined.block, add.block, first)
        totals = [_plus(add, *pair) for pair in zip(begun.totals, sums, strict=True)]
        add.branch(joined.block)
        merged = _merged(joined, [(sums, left), (totals, add.block)])
        more = joined.icmp_signed("<", begun.stop, whole)
        joined.cbranch(more, again.block, after)
        begun.next(again, end_of_next(again, whole, self.block, begun.stop), merged)
        return merged, joined.block

    def _builder(self, name: str) -> Builder:
        return ir.IRBuilder(self.function.append_basic_block(name))

    def _write_loop(
        self, b: Builder, begun: _Begun, joined: object, add: object, first: Value
    ) -> tuple[list[Value], object]:
        """The sums of one block; only those of later ones are added to totals."""
        nothing = zero(register_type(self.kernel.total, self.kernel.lanes))
        begun.b.branch(b.block)
        k = b.phi(I64)
        sums = [b.phi(nothing.type) for _ in self.columns]
        totals = self._added(b, sums, k, None)
        following = b.add(k, number(self.kernel.lanes))
        carried = [(k, begun.k, following)]
        carried += [(s, nothing, total) for s, total in zip(sums, totals, strict=True)]
        for phi, value, then in carried:
            phi.add_incoming(value, begun.b.block)
            phi.add_incoming(then, b.block)
        left = self._builder("left")
        again = b.cbranch(b.icmp_signed("<", following, begun.stop), b.block, left.block)
        keep_as_written(b.module, again)
        left.cbranch(left.icmp_signed("==", begun.stop, first), joined, add)
        return totals, left.block

    def _write_tail(
        self, b: Builder, sums: list[Value], whole: Value, depth: Value, tile: Value, done: object
    ) -> None:
        """The rest of the depth under a mask, then the sum of the lanes."""
        mask = first_lanes(b, self.kernel.lanes, b.sub(depth, whole))
        total = _lane_sums(b, self._added(b, sums, whole, mask), self.kernel.columns)
        b.store(total, tile, align=self.kernel.total.itemsize)
        b.branch(done)
        ir.IRBuilder(done).ret_void()

    def _added(self, b: Builder, sums: list[Value], k: Value, mask: Value | None) -> list[Value]:
        x = self._vector(b, self.kernel.lhs, self.lhs, k, mask)
        columns = (self._vector(b, self.kernel.rhs, c, k, mask) for c in self.columns)
        return [self._product(b, x, y, total) for y, total in zip(columns, sums, strict=True)]

    def _product(self, b: Builder, x: Value, y: Value, total: Value) -> Value:
        if self.kernel.total.is_float:
            return multiply_add(b, x, y, total)
        return b.add(total, b.mul(x, y))

    def _vector(self, b: Builder, dtype: DType, base: Value, k: Value, mask: Value | None) -> Value:
        address = element_address(b, base, memory_type(dtype), k)
        kind = memory_type(dtype, self.kernel.lanes)
        if mask is None:
            stored = b.load(address, typ=kind, align=dtype.itemsize)
        else:
            stored = masked_load(b, kind, address, dtype.itemsize, mask)
        return cast(b, dtype, self.kernel.total, from_memory(b, dtype, stored))


class _Begun:
    """The start of a block: its first step, where it ends, and the totals of those before."""

    def __init__(self, b: Builder, entry: object, first: Value, nothing: list[Value]) -> None:
        self.b = b
        self.k, self.stop = b.phi(I64), b.phi(I64)
        self.totals = [b.phi(value.type) for value in nothing]
        self._come(entry, (number(0), first, *nothing))

    def next(self, b: Builder, stop: Value, totals: list[Value]) -> None:
        self._come(b.block, (self.stop, stop, *totals))
        b.branch(self.b.block)

    def _come(self, block: object, values: Sequence[Value]) -> None:
        for phi, value in zip((self.k, self.stop, *self.totals), values, strict=True):
            phi.add_incoming(value, block)


def _merged(b: Builder, ways: list[tuple[list[Value], object]]) -> list[Value]:
    """Values that depend on where control comes from."""
    found: list[Value] = []
    for values in zip(*(values for values, _ in ways), strict=True):
        phi = b.phi(values[0].type)
        for value, (_, block) in zip(values, ways, strict=True):
            phi.add_incoming(value, block)
        found.append(phi)
    return found


def _lane_sums(b: Builder, vectors: list[Value], count: int) -> Value:
    """The sum of the lanes of each vector, as a vector: neighbours are added in each round."""
    lanes = vectors[0].type.count
    for _ in range(lanes.bit_length() - 1):
        seconds = vectors[1::2] or vectors  # one vector is its own neighbour
        vectors = [_neighbours(b, x, y) for x, y in zip(vectors[::2], seconds, strict=True)]
    return _picked(b, vectors[0], vectors[0], range(count))


def _neighbours(b: Builder, x: Value, y: Value) -> Value:
    lanes = 2 * x.type.count
    return _plus(b, *(_picked(b, x, y, range(first, lanes, 2)) for first in (0, 1)))


def _plus(b: Builder, x: Value, y: Value) -> Value:
    is_float = not isinstance(x.type.element, ir.IntType)
    return b.fadd(x, y) if is_float else b.add(x, y)


def _picked(b: Builder, x: Value, y: Value, lanes: range) -> Value:
    order = [ir.Constant(I32, lane) for lane in lanes]
    return b.shuffle_vector(x, y, ir.Constant(ir.VectorType(I32, len(order)), order))
