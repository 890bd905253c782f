"""The micro-kernel of products whose columns are apart in memory: sums along the depth.

    void columns_C(lhs, rhs, rhs_right, tile, depth, columns)

One row of lhs times C columns of rhs, each of which is one run along the depth, as the row is: a
vector of partial sums for each column, added up at the end. It reads both factors for each
multiplication, so that it is no match for register tiles, but it needs no copy of rhs: it is for
few rows. Where there are fewer than C columns, the last one is computed again instead.
"""

from __future__ import annotations

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
        names = ("entry", "loop", "tail", "done")
        entry, loop, tail, done = (self.function.append_basic_block(name) for name in names)
        start = ir.IRBuilder(entry)
        self.columns = [self._column(start, rhs, right, columns, j) for j in range(kernel.columns)]
        nothing = [zero(register_type(kernel.total, kernel.lanes))] * kernel.columns
        whole = start.and_(depth, number(-kernel.lanes))
        start.cbranch(start.icmp_signed("<", number(0), whole), loop, tail)
        sums = self._write_loop(ir.IRBuilder(loop), entry, tail, nothing, whole)
        merged = _merged(ir.IRBuilder(tail), [(nothing, entry), (sums, loop)])
        self._write_tail(ir.IRBuilder(tail), merged, whole, depth, tile, done)

    def _column(self, b: Builder, rhs: Value, right: Value, columns: Value, column: int) -> Value:
        last = b.sub(columns, number(1))
        chosen = b.select(b.icmp_signed("<", number(column), last), number(column), last)
        return element_address(b, rhs, memory_type(self.kernel.rhs), b.mul(right, chosen))

    def _write_loop(
        self, b: Builder, entry: object, after: object, nothing: list[Value], whole: Value
    ) -> list[Value]:
        k = b.phi(I64)
        sums = [b.phi(first.type) for first in nothing]
        totals = self._added(b, sums, k, None)
        following = b.add(k, number(self.kernel.lanes))
        carried = [(k, number(0), following), *zip(sums, nothing, totals, strict=True)]
        for phi, first, then in carried:
            phi.add_incoming(first, entry)
            phi.add_incoming(then, b.block)
        again = b.cbranch(b.icmp_signed("<", following, whole), b.block, after)
        keep_as_written(b.module, again)
        return totals

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
    even, odd = (_picked(b, x, y, range(first, lanes, 2)) for first in (0, 1))
    is_float = not isinstance(x.type.element, ir.IntType)
    return b.fadd(even, odd) if is_float else b.add(even, odd)


def _picked(b: Builder, x: Value, y: Value, lanes: range) -> Value:
    order = [ir.Constant(I32, lane) for lane in lanes]
    return b.shuffle_vector(x, y, ir.Constant(ir.VectorType(I32, len(order)), order))
