"""The micro-kernel of matrix products: a tile of sums that stays in registers while k runs.

    void tile_RxV(lhs, lhs_down, lhs_right, rhs, rhs_down, tile, depth, columns)

R rows times V vectors of sums. Each step of k loads V vectors of rhs, and spreads one number of
each row of lhs over a vector: R + V loads for R * V multiplications. Strides are in elements. Rows
of the finished tile are `pitch` elements apart. A masked kernel has one vector, and reads no more
than `columns` elements of each row of rhs.
"""

from __future__ import annotations

from dataclasses import dataclass

from anyshape.codegen.llvm.emit.convert import cast, from_memory
from anyshape.codegen.llvm.emit.intrinsics import (
    element_address,
    first_lanes,
    masked_load,
    multiply_add,
    splat,
    zero,
)
from anyshape.codegen.llvm.emit.loop_hints import keep_as_written
from anyshape.codegen.llvm.emit.types import (
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

ARGUMENTS = (POINTER, I64, I64, POINTER, I64, POINTER, I64, I64)


@dataclass(frozen=True, slots=True)
class RegisterTile:
    """Which micro-kernel: its size, and the dtypes of operands and of sums."""

    rows: int
    vectors: int
    lanes: int
    pitch: int
    lhs: DType
    rhs: DType
    total: DType
    masked: bool = False

    @property
    def name(self) -> str:
        kind = "_masked" if self.masked else ""
        size = f"{self.rows}x{self.vectors * self.lanes}of{self.pitch}"
        return f"tile_{size}_{self.lhs}_{self.rhs}_{self.total}{kind}"

    def function(self, module: Module) -> Function:
        """The micro-kernel in `module`, written when first asked for."""
        found = module.globals.get(self.name)
        return found if found is not None else _write(self, module)


def _write(tile: RegisterTile, module: Module) -> Function:
    function = internal_function(module, tile.name, ir.VoidType(), ARGUMENTS)
    function.attributes.add("nounwind")
    function.attributes.add("noinline")  # registers are assigned best to a loop on its own
    entry, loop, done = (function.append_basic_block(n) for n in ("entry", "loop", "done"))
    depth = function.args[6]
    start, body, end = (ir.IRBuilder(block) for block in (entry, loop, done))
    step = _Step(tile, function, start, body)
    start.cbranch(start.icmp_signed("<", number(0), depth), loop, done)
    step.write(entry, depth, done)
    _store(tile, end, function.args[5], step.finished(end, entry))
    end.ret_void()
    return function


class _Step:
    """The loop over k: pointers and sums are carried from step to step."""

    def __init__(self, tile: RegisterTile, function: Function, start: Builder, b: Builder) -> None:
        lhs, down, self.right, self.rhs, self.rhs_down, _, _, columns = function.args
        self.tile, self.b = tile, b
        self.lhs_element, self.rhs_element = memory_type(tile.lhs), memory_type(tile.rhs)
        self.rows = [self._row(start, lhs, down, row) for row in range(tile.rows)]
        self.mask = first_lanes(start, tile.lanes, columns) if tile.masked else None
        self.zero = zero(register_type(tile.total, tile.lanes))
        self.totals: list[Value] = []

    def _row(self, start: Builder, lhs: Value, down: Value, row: int) -> Value:
        return element_address(start, lhs, self.lhs_element, start.mul(down, number(row)))

    def write(self, entry: object, depth: Value, done: object) -> None:
        b, tile = self.b, self.tile
        k, offset, panel = b.phi(I64), b.phi(I64), b.phi(POINTER)
        sums = [b.phi(self.zero.type) for _ in range(tile.rows * tile.vectors)]
        self.totals = self._products(offset, panel, sums)
        following = b.add(k, number(1))
        ahead = element_address(b, panel, self.rhs_element, self.rhs_down)
        carried = [(k, number(0), following), (offset, number(0), b.add(offset, self.right))]
        carried += [(panel, self.rhs, ahead)]
        carried += [(s, self.zero, total) for s, total in zip(sums, self.totals, strict=True)]
        for phi, first, then in carried:
            phi.add_incoming(first, entry)
            phi.add_incoming(then, b.block)
        again = b.cbranch(b.icmp_signed("<", following, depth), b.block, done)
        keep_as_written(b.module, again)

    def _products(self, offset: Value, panel: Value, sums: list[Value]) -> list[Value]:
        """Row by row: the numbers of lhs need one register in turn."""
        weights = [self._weights(panel, vector) for vector in range(self.tile.vectors)]
        totals: list[Value] = []
        for row in self.rows:
            x = splat(self.b, self._number(row, offset), self.tile.lanes)
            for weight in weights:
                totals.append(self._added(sums[len(totals)], x, weight))
        return totals

    def _added(self, total: Value, x: Value, weight: Value) -> Value:
        if self.tile.total.is_float:
            return multiply_add(self.b, x, weight, total)
        return self.b.add(total, self.b.mul(x, weight))

    def _number(self, row: Value, offset: Value) -> Value:
        address = element_address(self.b, row, self.lhs_element, offset)
        loaded = self.b.load(address, typ=self.lhs_element, align=self.tile.lhs.itemsize)
        return self._widened(self.tile.lhs, loaded)

    def _weights(self, panel: Value, vector: int) -> Value:
        b, tile = self.b, self.tile
        address = element_address(b, panel, self.rhs_element, number(vector * tile.lanes))
        kind, align = memory_type(tile.rhs, tile.lanes), tile.rhs.itemsize
        if self.mask is not None:
            loaded = masked_load(b, kind, address, align, self.mask)
        else:
            loaded = b.load(address, typ=kind, align=align)
        return self._widened(tile.rhs, loaded)

    def _widened(self, dtype: DType, stored: Value) -> Value:
        return cast(self.b, dtype, self.tile.total, from_memory(self.b, dtype, stored))

    def finished(self, end: Builder, entry: object) -> list[Value]:
        """The sums after the loop, or zeros if there was nothing to sum."""
        found: list[Value] = []
        for total in self.totals:
            phi = end.phi(total.type)
            phi.add_incoming(self.zero, entry)
            phi.add_incoming(total, self.b.block)
            found.append(phi)
        return found


def _store(tile: RegisterTile, b: Builder, base: Value, totals: list[Value]) -> None:
    element = register_type(tile.total)
    for index, total in enumerate(totals):
        row, vector = divmod(index, tile.vectors)
        place = number(row * tile.pitch + vector * tile.lanes)
        b.store(total, element_address(b, base, element, place), align=tile.total.itemsize)
