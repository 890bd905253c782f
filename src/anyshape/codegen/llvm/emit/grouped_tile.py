"""The micro-kernel of integer products: a tile of sums in registers, some steps of k at a time.

    void grouped_RxV(lhs, lhs_down, lhs_right, rhs, rhs_down, tile, depth, columns)

A lane of 32 bits holds one group of k: 4 bytes, or 2 numbers of 16 bits. rhs has groups side by
side, so a vector of it is a group of as many columns as a tile's vector has; a group of each row of
lhs is spread over a vector. One step multiplies and adds groups, exactly:

    group   lhs   rhs       instruction
    4       u8    i8        vpdpbusd (VNNI)
    2       i16   i8, u8    vpmaddwd and an addition; rhs is widened as it is loaded

Where a target has neither, groups are taken apart by shifts. The last group of lhs may be shorter
than the others: what is there is loaded number by number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from anyshape.codegen.llvm.emit.instructions import (
    MULTIPLY_PAIRS,
    instruction,
    multiply_pairs,
)
from anyshape.codegen.llvm.emit.intrinsics import element_address, splat, zero
from anyshape.codegen.llvm.emit.loop_hints import keep_as_written
from anyshape.codegen.llvm.emit.register_tile import ARGUMENTS, add_sums, store_sums
from anyshape.codegen.llvm.emit.types import I32, I64, POINTER, memory_type, number, register_type
from anyshape.codegen.llvm.isa import InstructionSet
from anyshape.codegen.llvm.math.boundary import (
    Builder,
    Function,
    Module,
    Value,
    constant,
    internal_function,
    ir,
)
from anyshape.ir.types import DType, i32

LANE_BITS: Final = 32


@dataclass(frozen=True, slots=True)
class GroupedTile:
    """Which micro-kernel: its size, the dtypes of operands, and the group."""

    rows: int
    vectors: int
    lanes: int
    pitch: int
    lhs: DType
    rhs: DType
    group: int
    isa: InstructionSet
    whole: bool  # the depth has no shorter group
    added: bool = False

    @property
    def total(self) -> DType:
        return i32

    @property
    def name(self) -> str:
        kind = "_whole" * self.whole + "_added" * self.added
        size = f"{self.rows}x{self.vectors * self.lanes}of{self.pitch}"
        return f"grouped_{size}_{self.lhs}_{self.rhs}_{self.group}{kind}"

    def function(self, module: Module) -> Function:
        """The micro-kernel in `module`, written when first asked for."""
        found = module.globals.get(self.name)
        return found if found is not None else _write(self, module)


def _write(tile: GroupedTile, module: Module) -> Function:
    function = internal_function(module, tile.name, ir.VoidType(), ARGUMENTS)
    function.attributes.add("nounwind")
    function.attributes.add("noinline")  # registers are assigned best to a loop on its own
    entry, loop, rest, short, done = (
        ir.IRBuilder(function.append_basic_block(name))
        for name in ("entry", "loop", "rest", "short", "done")
    )
    depth, step = function.args[6], _Step(tile, function, entry)
    groups = entry.sdiv(depth, number(tile.group))
    entry.cbranch(entry.icmp_signed("<", number(0), groups), loop.block, rest.block)
    panel, totals = step.write_loop(loop, entry, groups, rest)
    sums = _joined(rest, [(entry.block, step.nothing), (loop.block, totals)])
    if tile.whole:
        rest.branch(done.block)
        short.unreachable()
        ends = [(rest.block, sums)]
    else:
        behind = _joined(rest, [(entry.block, [step.rhs]), (loop.block, [panel])])[0]
        left = rest.srem(depth, number(tile.group))
        rest.cbranch(rest.icmp_signed("<", number(0), left), short.block, done.block)
        more = step.products(short, behind, step.short_groups(short, groups, left), sums)
        short.branch(done.block)
        ends = [(rest.block, sums), (short.block, more)]
    write = add_sums if tile.added else store_sums
    write(tile, done, function.args[5], _joined(done, ends))
    done.ret_void()
    return function


def _joined(b: Builder, ways: list[tuple[object, list[Value]]]) -> list[Value]:
    """Values that depend on where control comes from."""
    found: list[Value] = []
    for values in zip(*(values for _, values in ways), strict=True):
        phi = b.phi(values[0].type)
        for value, (block, _) in zip(values, ways, strict=True):
            phi.add_incoming(value, block)
        found.append(phi)
    return found


class _Step:
    """One group of k: pointers and sums are carried from step to step."""

    def __init__(self, tile: GroupedTile, function: Function, start: Builder) -> None:
        lhs, down, _, self.rhs, self.rhs_down, *_ = function.args
        self.tile = tile
        self.lhs_element, self.rhs_element = memory_type(tile.lhs), memory_type(tile.rhs)
        self.rows = [
            element_address(start, lhs, self.lhs_element, start.mul(down, number(row)))
            for row in range(tile.rows)
        ]
        self.nothing = [zero(register_type(i32, tile.lanes))] * (tile.rows * tile.vectors)

    def write_loop(
        self, b: Builder, entry: Builder, groups: Value, after: Builder
    ) -> tuple[Value, list[Value]]:
        """The place behind the last whole group of rhs, and the sums."""
        k, panel = b.phi(I64), b.phi(POINTER)
        sums = [b.phi(value.type) for value in self.nothing]
        totals = self.products(b, panel, [self._group(b, row, k) for row in self.rows], sums)
        following = b.add(k, number(1))
        behind = element_address(b, panel, self.rhs_element, self.rhs_down)
        carried = [(k, number(0), following), (panel, self.rhs, behind)]
        carried += list(zip(sums, self.nothing, totals, strict=True))
        for phi, first, then in carried:
            phi.add_incoming(first, entry.block)
            phi.add_incoming(then, b.block)
        again = b.cbranch(b.icmp_signed("<", following, groups), b.block, after.block)
        keep_as_written(b.module, again)
        return behind, totals

    def _group(self, b: Builder, row: Value, k: Value) -> Value:
        """A whole group of a row."""
        place = element_address(b, row, self.lhs_element, b.mul(k, number(self.tile.group)))
        return b.load(place, typ=I32, align=self.tile.lhs.itemsize)

    def short_groups(self, b: Builder, groups: Value, left: Value) -> list[Value]:
        """The last group of each row: a number that is not there is that before it, times 0."""
        first = b.mul(groups, number(self.tile.group))
        places: list[Value] = []
        for step in range(self.tile.group):
            last = b.sub(left, number(1))
            exists = b.icmp_signed("<", number(step), left)
            places.append(b.add(first, b.select(exists, number(step), last)))
        return [self._gathered(b, row, places) for row in self.rows]

    def _gathered(self, b: Builder, row: Value, places: list[Value]) -> Value:
        bits, found = self.tile.lhs.bits, constant(I32, 0)
        for step, place in enumerate(places):
            address = element_address(b, row, self.lhs_element, place)
            loaded = b.load(address, typ=self.lhs_element, align=self.tile.lhs.itemsize)
            found = b.or_(found, b.shl(b.zext(loaded, I32), constant(I32, step * bits)))
        return found

    def products(
        self, b: Builder, panel: Value, groups: list[Value], sums: list[Value]
    ) -> list[Value]:
        """Row by row: the groups of lhs need one register in turn."""
        weights = [self._weights(b, panel, vector) for vector in range(self.tile.vectors)]
        totals: list[Value] = []
        for group in groups:
            x = splat(b, group, self.tile.lanes)
            totals += [self._added(b, sums[len(totals) + n], x, w) for n, w in enumerate(weights)]
        return totals

    def _weights(self, b: Builder, panel: Value, vector: int) -> Value:
        """Groups of some columns, each in a lane of 32 bits."""
        tile = self.tile
        count = tile.lanes * tile.group
        address = element_address(b, panel, self.rhs_element, number(vector * count))
        loaded = b.load(address, typ=memory_type(tile.rhs, count), align=tile.rhs.itemsize)
        bits = LANE_BITS // tile.group
        if tile.rhs.bits < bits:
            widen = b.sext if tile.rhs.kind == "int" else b.zext
            loaded = widen(loaded, ir.VectorType(ir.IntType(bits), count))
        return b.bitcast(loaded, register_type(i32, tile.lanes))

    def _added(self, b: Builder, total: Value, x: Value, weights: Value) -> Value:
        tile = self.tile
        bits = tile.lanes * LANE_BITS
        if tile.group == 4 and tile.isa.byte_products:
            return _multiply_bytes(b, f"llvm.x86.avx512.vpdpbusd.{bits}", total, x, weights)
        if tile.group == 2 and tile.isa.pair_products:
            return b.add(total, multiply_pairs(b, MULTIPLY_PAIRS[tile.lanes], x, weights))
        return _by_shifts(b, tile, total, x, weights)


def _multiply_bytes(b: Builder, name: str, total: Value, x: Value, weights: Value) -> Value:
    bytes_ = ir.VectorType(ir.IntType(8), x.type.count * LANE_BITS // 8)
    values = [total, b.bitcast(x, bytes_), b.bitcast(weights, bytes_)]
    return instruction(b, name, x.type, values)


def _by_shifts(b: Builder, tile: GroupedTile, total: Value, x: Value, weights: Value) -> Value:
    bits = LANE_BITS // tile.group
    for step in range(tile.group):
        number_of_lhs = _part(b, x, step, bits, tile.lhs.kind == "int")
        total = b.add(total, b.mul(number_of_lhs, _part(b, weights, step, bits, signed=True)))
    return total


def _part(b: Builder, lanes: Value, step: int, bits: int, signed: bool) -> Value:
    """One number of each lane's group. Numbers of rhs that were widened are not negative."""
    kind = lanes.type
    high = b.shl(lanes, constant(kind, LANE_BITS - bits * (step + 1)))
    shift = b.ashr if signed else b.lshr
    return shift(high, constant(kind, LANE_BITS - bits))
