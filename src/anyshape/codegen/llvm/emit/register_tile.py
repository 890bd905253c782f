"""The micro-kernel of matrix products: a tile of sums that stays in registers while k runs.

    void tile_RxV(lhs, lhs_down, lhs_right, rhs, rhs_down, tile, depth, fetched, further, columns)

R rows times V vectors of sums. Each step of k loads V vectors of rhs, and spreads one number of
each row of lhs over a vector: R + V loads for R * V multiplications. Strides are in elements. Rows
of the finished tile are `pitch` elements apart. A masked kernel has one vector, and reads no more
than `columns` elements of each row of rhs.

A *deep* kernel sums in blocks of the depth (`sum_blocks.py`): the sums of the first are stored, and
those of each later one are added to what is there (an *added* kernel adds those of the first too).
A block costs R * V loads and stores, which are
less than one in a hundred of its multiplications.

A kernel that *fetches*, which small ones may not, asks for as many lines of memory as it reads at
each step of k, from `fetched` on, `further` bytes apart: less than a line where several tiles share
what is fetched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from anyshape.codegen.llvm.emit.convert import cast, from_memory
from anyshape.codegen.llvm.emit.intrinsics import (
    element_address,
    first_lanes,
    masked_load,
    multiply_add,
    prefetch,
    splat,
    zero,
)
from anyshape.codegen.llvm.emit.loop_hints import keep_as_written
from anyshape.codegen.llvm.emit.sum_blocks import end_of_first, end_of_next
from anyshape.codegen.llvm.emit.types import (
    I8,
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
from anyshape.loop.ir import CACHE_LINE

ARGUMENTS = (POINTER, I64, I64, POINTER, I64, POINTER, I64, POINTER, I64, I64)

UNDIVIDED = 1024
"""Terms up to which a sum is one block: adding blocks up would cost what cannot be gained."""

DEPTH_OF_BLOCK = 192
"""Terms of a running sum in longer sums: of one sign, they lose no more than in BLAS libraries.
Storing and adding up the tile once in so many steps costs one percent."""


class SumTile(Protocol):
    """What micro-kernels have in common: the sums that they leave."""

    @property
    def rows(self) -> int: ...

    @property
    def vectors(self) -> int: ...

    @property
    def lanes(self) -> int: ...

    @property
    def pitch(self) -> int: ...

    @property
    def total(self) -> DType: ...


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
    deep: bool = False  # sums of more than one block of the depth
    added: bool = False  # to what the tile holds
    fetches: int = 0  # what is multiplied later, from so many rows on; 0: never

    @property
    def name(self) -> str:
        kind = "_masked" * self.masked + "_deep" * self.deep + "_added" * self.added
        kind += f"_fetches{self.fetches}" if self.fetches else ""
        size = f"{self.rows}x{self.vectors * self.lanes}of{self.pitch}"
        return f"tile_{size}_{self.lhs}_{self.rhs}_{self.total}{kind}"

    @property
    def fetched(self) -> int:
        """Lines for each step of k: those of a row of rhs."""
        lines = self.pitch * self.rhs.itemsize // CACHE_LINE
        return max(1, lines) if self.fetches else 0

    def function(self, module: Module) -> Function:
        """The micro-kernel in `module`, written when first asked for."""
        found = module.globals.get(self.name)
        return found if found is not None else _write(self, module)


def _write(tile: RegisterTile, module: Module) -> Function:
    function = internal_function(module, tile.name, ir.VoidType(), ARGUMENTS)
    function.attributes.add("nounwind")
    function.attributes.add("noinline")  # registers are assigned best to a loop on its own
    blocks = (function.append_basic_block(n) for n in ("entry", "block", "loop", "done"))
    entry, block, loop, done = (ir.IRBuilder(block) for block in blocks)
    depth = function.args[6]
    step = _Step(tile, function, entry, loop)
    first = end_of_first(entry, depth, DEPTH_OF_BLOCK, UNDIVIDED) if tile.deep else depth
    entry.cbranch(entry.icmp_signed("<", number(0), depth), block.block, done.block)
    begun = _Begun.at(block, (number(0), number(0), step.rhs, first), entry)
    step.write(block, begun, done.block)
    sums = step.finished(done, entry.block)
    if tile.deep:
        _Ending(function, step, entry, first).write(done, begun, sums)
    else:
        write = add_sums if tile.added else store_sums
        write(tile, done, function.args[5], sums)
        done.ret_void()
    return function


class _Begun(NamedTuple):
    """Where a block of the depth starts, and the step that it ends before."""

    k: Value
    offset: Value
    panel: Value
    stop: Value

    @staticmethod
    def at(b: Builder, first: Sequence[Value], before: Builder) -> _Begun:
        phis = [b.phi(value.type) for value in first]
        for phi, value in zip(phis, first, strict=True):
            phi.add_incoming(value, before.block)
        return _Begun(*phis)


class _Step:
    """The loop over k: pointers and sums are carried from step to step."""

    def __init__(self, tile: RegisterTile, function: Function, start: Builder, b: Builder) -> None:
        lhs, down, self.right, self.rhs, self.rhs_down, *_, columns = function.args
        self.fetched, self.further = function.args[7:9]
        self.tile, self.b = tile, b
        self.lhs_element, self.rhs_element = memory_type(tile.lhs), memory_type(tile.rhs)
        self.rows = [self._row(start, lhs, down, row) for row in range(tile.rows)]
        self.mask = first_lanes(start, tile.lanes, columns) if tile.masked else None
        self.zero = zero(register_type(tile.total, tile.lanes))
        self.totals: list[Value] = []

    def _row(self, start: Builder, lhs: Value, down: Value, row: int) -> Value:
        return element_address(start, lhs, self.lhs_element, start.mul(down, number(row)))

    def write(self, before: Builder, begun: _Begun, done: object) -> None:
        """The steps of one block."""
        b, tile = self.b, self.tile
        before.branch(b.block)
        k, offset, panel = b.phi(I64), b.phi(I64), b.phi(POINTER)
        sums = [b.phi(self.zero.type) for _ in range(tile.rows * tile.vectors)]
        self._fetch(k)
        self.totals = self._products(offset, panel, sums)
        following = b.add(k, number(1))
        ahead = element_address(b, panel, self.rhs_element, self.rhs_down)
        carried = [(k, begun.k, following), (panel, begun.panel, ahead)]
        carried += [(offset, begun.offset, b.add(offset, self.right))]
        carried += [(s, self.zero, total) for s, total in zip(sums, self.totals, strict=True)]
        for phi, first, then in carried:
            phi.add_incoming(first, before.block)
            phi.add_incoming(then, b.block)
        again = b.cbranch(b.icmp_signed("<", following, begun.stop), b.block, done)
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

    def _fetch(self, k: Value) -> None:
        """What comes next, into the second level: the first does not have room for it."""
        b, count = self.b, self.tile.fetched
        for line in range(count):
            place = b.mul(b.add(b.mul(k, number(count)), number(line)), self.further)
            prefetch(b, element_address(b, self.fetched, I8, place))

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


class _Ending:
    """The end of a block of a deep kernel: its sums are stored, and the next block begins."""

    def __init__(self, function: Function, step: _Step, entry: Builder, first: Value) -> None:
        self.function, self.step = function, step
        self.entry, self.first = entry, first

    def write(self, done: Builder, begun: _Begun, sums: list[Value]) -> None:
        target, depth = self.function.args[5:7]
        stop = done.phi(I64)
        stop.add_incoming(self.first, self.entry.block)
        stop.add_incoming(begun.stop, self.step.b.block)
        is_first = done.icmp_signed("==", stop, self.first)
        store, add, following, again, end = map(
            self._block, ("store", "add", "next", "again", "end")
        )
        done.cbranch(is_first, store.block, add.block)
        first = add_sums if self.step.tile.added else store_sums
        for write, b in ((first, store), (add_sums, add)):
            write(self.step.tile, b, target, sums)
            b.branch(following.block)
        following.cbranch(following.icmp_signed("<", stop, depth), again.block, end.block)
        self._begin(again, begun, stop, depth)
        end.ret_void()

    def _block(self, name: str) -> Builder:
        return ir.IRBuilder(self.function.append_basic_block(name))

    def _begin(self, b: Builder, begun: _Begun, stop: Value, depth: Value) -> None:
        step, skipped = self.step, b.mul(stop, self.step.rhs_down)
        panel = element_address(b, step.rhs, step.rhs_element, skipped)
        further = end_of_next(b, depth, DEPTH_OF_BLOCK, stop)
        values = (stop, b.mul(stop, step.right), panel, further)
        for phi, value in zip(begun, values, strict=True):
            phi.add_incoming(value, b.block)
        b.branch(begun.k.parent)


def store_sums(tile: SumTile, b: Builder, base: Value, totals: list[Value]) -> None:
    for total, address in zip(totals, _addresses(tile, b, base), strict=True):
        b.store(total, address, align=tile.total.itemsize)


def add_sums(tile: SumTile, b: Builder, base: Value, totals: list[Value]) -> None:
    align, plus = tile.total.itemsize, b.fadd if tile.total.is_float else b.add
    for total, address in zip(totals, _addresses(tile, b, base), strict=True):
        b.store(plus(b.load(address, typ=total.type, align=align), total), address, align=align)


def _addresses(tile: SumTile, b: Builder, base: Value) -> Iterator[Value]:
    """Of the vectors of the tile, row by row."""
    element = register_type(tile.total)
    for row in range(tile.rows):
        for vector in range(tile.vectors):
            place = number(row * tile.pitch + vector * tile.lanes)
            yield element_address(b, base, element, place)
