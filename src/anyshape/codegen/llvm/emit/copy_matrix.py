"""Copies of matrices into scratch.

    columns of the source are      how it is copied
    next to each other             row by row, in vectors
    apart, but its rows are not    in square blocks of vectors, transposed in registers
    neither                        row by row, gathered

The last rows and columns are copied under masks: nothing outside the source is read, and nothing
outside `rows` and `columns` of the target is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from anyshape.codegen.llvm.emit import intrinsics
from anyshape.codegen.llvm.emit.convert import cast, from_memory, to_memory
from anyshape.codegen.llvm.emit.frame import Frame
from anyshape.codegen.llvm.emit.index import scalar_index
from anyshape.codegen.llvm.emit.intrinsics import element_address, first_lanes, splat
from anyshape.codegen.llvm.emit.scope import Scope, repeat, when
from anyshape.codegen.llvm.emit.types import (
    I32,
    I64,
    POINTER,
    lane_numbers,
    memory_type,
    number,
    register_bits,
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
from anyshape.loop import Copy


class _Places(NamedTuple):
    """Where a copy starts on both sides, and how far elements are apart."""

    source: Value
    down: Value
    right: Value
    target: Value
    pitch: Value


class _Extent(NamedTuple):
    rows: Value
    columns: Value


@dataclass(frozen=True, slots=True)
class _Element:
    """What a copied element is on both sides, and how many of them a vector holds."""

    source: DType
    target: DType
    lanes: int

    def converted(self, b: Builder, stored: Value) -> Value:
        value = from_memory(b, self.source, stored)
        return to_memory(b, self.target, cast(b, self.source, self.target, value))

    def moved(self, b: Builder, p: _Places, row: Value, column: Value) -> _Places:
        steps = b.add(b.mul(p.down, row), b.mul(p.right, column))
        source = element_address(b, p.source, memory_type(self.source), steps)
        place = b.add(b.mul(p.pitch, row), column)
        return p._replace(
            source=source, target=element_address(b, p.target, memory_type(self.target), place)
        )


def write_copy(frame: Frame, copy: Copy) -> None:
    scope, source = frame.scope, copy.source
    lanes = frame.unit.isa.vector_bits // register_bits(copy.target.dtype)
    element = _Element(source.buffer.dtype, copy.target.dtype, lanes)
    down, right, pitch, rows, columns = (
        scalar_index(scope, dim)
        for dim in (*source.strides, copy.target.strides[0], copy.rows, copy.columns)
    )
    pointers = frame.unit.pointers
    start = element_address(
        frame.b, pointers[source.buffer.name], memory_type(element.source),
        scalar_index(scope, source.start),
    )  # fmt: skip
    places = _Places(start, down, right, pointers[copy.target.name], pitch)
    is_transposed = source.strides[0] == 1 and source.strides[1] != 1
    size = lanes if is_transposed else 1
    block = _Square(element) if is_transposed else _Row(element, source.strides[1] == 1)
    _write_blocks(scope, block, size, places, _Extent(rows, columns))


def _write_blocks(
    scope: Scope, block: _Square | _Row, size: int, places: _Places, extent: _Extent
) -> None:
    """Blocks of `size` rows times a vector of columns."""
    b, lanes, zero = scope.b, block.element.lanes, number(0)
    some = b.and_(b.icmp_signed("<", zero, extent.rows), b.icmp_signed("<", zero, extent.columns))
    with (
        when(scope, some) as inner,
        repeat(inner, zero, extent.rows, size) as (body, row),
        repeat(body, zero, extent.columns, lanes) as (innermost, column),
    ):
        ib = innermost.b
        left = _Extent(ib.sub(extent.rows, row), ib.sub(extent.columns, column))
        moved = block.element.moved(ib, places, row, column)
        whole = ib.and_(
            ib.icmp_signed("<=", number(size), left.rows),
            ib.icmp_signed("<=", number(lanes), left.columns),
        )
        with when(innermost, whole) as fast:
            fast.b.call(block.function(fast.b.module, masked=False), [*moved, *left])
        with when(innermost, innermost.b.not_(whole)) as careful:
            careful.b.call(block.function(careful.b.module, masked=True), [*moved, *left])


_ARGUMENTS = (POINTER, I64, I64, POINTER, I64, I64, I64)


def _all_lanes(lanes: int) -> Value:
    return ir.Constant(ir.VectorType(ir.IntType(1), lanes), [1] * lanes)


@dataclass(frozen=True, slots=True)
class _Row:
    """A vector of one row."""

    element: _Element
    dense: bool  # columns are next to each other

    def function(self, module: Module, *, masked: bool) -> Function:
        kind = "" if self.dense else "_gathered"
        name = f"copy_row{kind}_{_names(self.element)}{'_masked' if masked else ''}"
        found = module.globals.get(name)
        if found is not None:
            return found
        function = internal_function(module, name, ir.VoidType(), _ARGUMENTS)
        function.attributes.add("alwaysinline")
        b = ir.IRBuilder(function.append_basic_block("entry"))
        places, lanes = _Places(*function.args[:5]), self.element.lanes
        mask = first_lanes(b, lanes, function.args[6]) if masked else None
        stored = self.element.converted(b, self._load(b, places, mask))
        _store(b, self.element, places.target, stored, mask)
        b.ret_void()
        return function

    def _load(self, b: Builder, places: _Places, mask: Value | None) -> Value:
        element = self.element
        if self.dense:
            return _load(b, element, places.source, mask)
        steps = b.mul(lane_numbers(I64, element.lanes), splat(b, places.right, element.lanes))
        addresses = element_address(b, places.source, memory_type(element.source), steps)
        kind = memory_type(element.source, element.lanes)
        present = _all_lanes(element.lanes) if mask is None else mask
        return intrinsics.gather(b, kind, addresses, element.source.itemsize, present)


@dataclass(frozen=True, slots=True)
class _Square:
    """As many rows as columns, which trade places in registers."""

    element: _Element

    def function(self, module: Module, *, masked: bool) -> Function:
        name = f"copy_square_{_names(self.element)}{'_masked' if masked else ''}"
        found = module.globals.get(name)
        if found is not None:
            return found
        function = internal_function(module, name, ir.VoidType(), _ARGUMENTS)
        function.attributes.add("noinline")  # registers are assigned best to a block on its own
        b = ir.IRBuilder(function.append_basic_block("entry"))
        self._write(b, _Places(*function.args[:5]), _Extent(*function.args[5:]), masked)
        b.ret_void()
        return function

    def _write(self, b: Builder, places: _Places, extent: _Extent, masked: bool) -> None:
        lanes = self.element.lanes
        columns = [self._column(b, places, extent, c, masked) for c in range(lanes)]
        rows = _transposed(b, columns)
        if masked:
            self._store_first(b, places, rows, extent)
            return
        for i, row in enumerate(rows):
            _store(b, self.element, self._row_address(b, places, i), row, None)

    def _store_first(self, b: Builder, places: _Places, rows: list[Value], extent: _Extent) -> None:
        """Stores the rows that exist, from the last one to the first: one jump, no test for each.

        The builder ends up behind them.
        """
        mask = first_lanes(b, self.element.lanes, extent.columns)
        blocks = [b.append_basic_block(f"row{i}") for i in range(len(rows))]
        done = b.append_basic_block("done")
        choice = b.switch(extent.rows, blocks[-1])  # more rows than a square has: all of it
        for i, block in enumerate(blocks):
            choice.add_case(number(i + 1), block)
            at = ir.IRBuilder(block)
            _store(at, self.element, self._row_address(at, places, i), rows[i], mask)
            at.branch(blocks[i - 1] if i else done)
        b.position_at_end(done)

    def _row_address(self, b: Builder, places: _Places, row: int) -> Value:
        step = b.mul(places.pitch, number(row))
        return element_address(b, places.target, memory_type(self.element.target), step)

    def _column(
        self, b: Builder, places: _Places, extent: _Extent, column: int, masked: bool
    ) -> Value:
        """A vector of rows of one column: none of them, if the source has no such column."""
        element = self.element
        step = b.mul(places.right, number(column))
        mask = None
        if masked:
            # Where nothing is read, the address is one that exists all the same: a load without
            # lanes from a page that is not mapped takes microseconds to find out that it may.
            exists = b.icmp_signed("<", number(column), extent.columns)
            step = b.select(exists, step, number(0))
            mask = first_lanes(b, element.lanes, b.select(exists, extent.rows, number(0)))
        address = element_address(b, places.source, memory_type(element.source), step)
        return element.converted(b, _load(b, element, address, mask))


def _transposed(b: Builder, vectors: list[Value]) -> list[Value]:
    """Rows for columns: in each round, vectors half the square apart are dealt into each other."""
    lanes = len(vectors)
    half, rounds = lanes // 2, lanes.bit_length() - 1
    low, high = ([lane for i in range(start, start + half) for lane in (i, lanes + i)]
                 for start in (0, half))  # fmt: skip
    for _ in range(rounds):
        pairs = [(vectors[i], vectors[i + half]) for i in range(half)]
        vectors = [_shuffled(b, x, y, order) for x, y in pairs for order in (low, high)]
    return vectors


def _shuffled(b: Builder, x: Value, y: Value, order: list[int]) -> Value:
    lanes = [ir.Constant(I32, lane) for lane in order]
    return b.shuffle_vector(x, y, ir.Constant(ir.VectorType(I32, len(lanes)), lanes))


def _load(b: Builder, element: _Element, address: Value, mask: Value | None) -> Value:
    kind, align = memory_type(element.source, element.lanes), element.source.itemsize
    if mask is None:
        return b.load(address, typ=kind, align=align)
    return intrinsics.masked_load(b, kind, address, align, mask)


def _store(b: Builder, element: _Element, address: Value, value: Value, mask: Value | None) -> None:
    align = element.target.itemsize
    if mask is None:
        b.store(value, address, align=align)
    else:
        intrinsics.masked_store(b, value, address, align, mask)


def _names(element: _Element) -> str:
    return f"{element.source}_{element.target}"
