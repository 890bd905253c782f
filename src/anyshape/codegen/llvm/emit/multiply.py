"""Matrix products: which micro-kernels compute a tile.

A whole tile is one call of the micro-kernel for its number of rows. Where columns are missing, a
padded rhs is multiplied by a narrower micro-kernel; any other is multiplied one vector of columns
at a time, each under a mask: nothing beyond rhs is read. Columns that are apart in memory are
summed along the depth.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, TypeAlias

from anyshape.codegen.llvm.emit.column_sums import ColumnSums
from anyshape.codegen.llvm.emit.frame import Frame
from anyshape.codegen.llvm.emit.grouped_tile import GroupedTile
from anyshape.codegen.llvm.emit.index import scalar_index
from anyshape.codegen.llvm.emit.intrinsics import element_address
from anyshape.codegen.llvm.emit.register_tile import ARGUMENTS, UNDIVIDED, RegisterTile
from anyshape.codegen.llvm.emit.scope import Scope, repeat, when
from anyshape.codegen.llvm.emit.types import I8, I64, memory_type, number, register_bits
from anyshape.codegen.llvm.math.boundary import Function, Module, Value, internal_function, ir
from anyshape.loop import Matrix, Multiply
from anyshape.sym import Dim

MicroKernel: TypeAlias = RegisterTile | GroupedTile


class _Call(NamedTuple):
    """The arguments of a micro-kernel, but for the number of columns."""

    lhs: Value
    lhs_down: Value
    lhs_right: Value
    rhs: Value
    rhs_down: Value
    tile: Value
    depth: Value
    fetched: Value
    further: Value


def write_multiply(frame: Frame, product: Multiply) -> None:
    """Computes the tile."""
    if product.rhs.strides[1] != 1:
        _write_column_sums(frame, product)
        return
    tile, scope = _micro_kernel(frame, product), frame.scope
    call = _arguments(frame, product)
    rows, columns = (scalar_index(scope, dim) for dim in (product.rows, product.columns))
    width = tile.vectors * tile.lanes
    if product.columns == width:
        _call(scope, tile, rows, call, columns)
        return
    if product.padded:
        _write_padded(scope, tile, rows, call, columns)
        return
    assert isinstance(tile, RegisterTile), "groups are padded"
    is_whole = scope.b.icmp_signed("==", columns, number(width))
    with when(scope, is_whole) as whole:
        _call(whole, tile, rows, call, columns)
    with when(scope, scope.b.icmp_signed("<", columns, number(width))) as part:
        _write_vectors(part, replace(tile, vectors=1, masked=True), rows, call, columns)


def _micro_kernel(frame: Frame, product: Multiply) -> MicroKernel:
    """For a whole tile."""
    largest = _largest(frame, product)
    if product.group == 1:
        return largest
    rest = product.depth % product.group
    size = largest.rows, largest.vectors, largest.lanes, largest.pitch
    dtypes = product.lhs.buffer.dtype, product.rhs.buffer.dtype
    grouped = GroupedTile(*size, *dtypes, product.group, frame.unit.isa, whole=rest == 0)
    return replace(grouped, added=product.added)


def _largest(frame: Frame, product: Multiply) -> RegisterTile:
    """The micro-kernel for a whole tile."""
    rows, columns = (size.evaluate({}) for size in product.room)
    total, operands = product.tile.dtype, (product.lhs.buffer.dtype, product.rhs.buffer.dtype)
    lanes = frame.unit.isa.vector_bits // register_bits(total)
    assert columns % lanes == 0, "tiles are made of whole vectors"
    size = rows, columns // lanes, lanes, columns
    tile = RegisterTile(*size, *operands, total, deep=_is_deep(frame, product))
    fetches = 0 if product.ahead is None else product.ahead.least
    return replace(tile, added=product.added, fetches=fetches)


def _is_deep(frame: Frame, product: Multiply) -> bool:
    """Whether sums may be longer than a block; those of integers are exact, however long."""
    most = frame.scope.prover.bounds(product.depth)[1]
    return product.tile.dtype.is_float and (most is None or most > UNDIVIDED)


def _arguments(frame: Frame, product: Multiply) -> _Call:
    lhs, rhs = product.lhs, product.rhs
    lhs_down, lhs_right, rhs_down, depth = (
        scalar_index(frame.scope, dim) for dim in (*lhs.strides, rhs.strides[0], product.depth)
    )
    tile, panel = _tile(frame, product), _start(frame, rhs)
    operands = _start(frame, lhs), lhs_down, lhs_right, panel, rhs_down
    return _Call(*operands, tile, depth, *_fetched(frame, product, panel))


def _fetched(frame: Frame, product: Multiply, panel: Value) -> tuple[Value, Value]:
    """Where the part that a product fetches begins, and how far one fetch is from the next: each
    step of k fetches as much, so that the part is done when the product is."""
    if product.ahead is None:
        return panel, number(0)
    ahead, tile = product.ahead, _largest(frame, product)
    row = tile.pitch * tile.rhs.itemsize
    further = Dim.of(row) // (ahead.parts * tile.fetched)
    first = ahead.distance * tile.rhs.itemsize + ahead.part * product.depth * tile.fetched * further
    start, step = (scalar_index(frame.scope, dim) for dim in (first, further))
    return element_address(frame.b, panel, I8, start), step


def _tile(frame: Frame, product: Multiply) -> Value:
    base = frame.unit.pointers[product.tile.name]
    if not product.at:
        return base
    start = scalar_index(frame.scope, product.start)
    return element_address(frame.b, base, memory_type(product.tile.dtype), start)


def _start(frame: Frame, matrix: Matrix) -> Value:
    offset = scalar_index(frame.scope, matrix.start)
    base = frame.unit.pointers[matrix.buffer.name]
    return element_address(frame.b, base, memory_type(matrix.buffer.dtype), offset)


def _write_padded(
    scope: Scope, tile: MicroKernel, rows: Value, call: _Call, columns: Value
) -> None:
    """One call of a micro-kernel that is as wide as need be, or up to twice as wide."""
    low, vectors = 0, 1
    while low < tile.vectors:
        high = min(vectors, tile.vectors)
        above = scope.b.icmp_signed("<", number(low * tile.lanes), columns)
        below = scope.b.icmp_signed("<=", columns, number(high * tile.lanes))
        with when(scope, scope.b.and_(above, below)) as chosen:
            _call(chosen, replace(tile, vectors=high), rows, call, columns)
        low, vectors = high, vectors * 2


def _write_vectors(
    scope: Scope, tile: RegisterTile, rows: Value, call: _Call, columns: Value
) -> None:
    """One vector of columns after the other; there is at least one column."""
    with repeat(scope, number(0), columns, tile.lanes) as (body, first):
        moved = call._replace(
            rhs=element_address(body.b, call.rhs, memory_type(tile.rhs), first),
            tile=element_address(body.b, call.tile, memory_type(tile.total), first),
        )
        _call(body, tile, rows, moved, body.b.sub(columns, first))


def _call(scope: Scope, tile: MicroKernel, rows: Value, call: _Call, columns: Value) -> None:
    scope.b.call(_any_rows(scope.b.module, tile), [rows, *call, columns])


def _any_rows(module: Module, largest: MicroKernel) -> Function:
    """A function that calls the micro-kernel for the number of rows it is given first."""
    name = f"any_{largest.name}"
    if name in module.globals:
        return module.globals[name]
    function = internal_function(module, name, ir.VoidType(), (I64, *ARGUMENTS))
    start, end = (ir.IRBuilder(function.append_basic_block(n)) for n in ("start", "end"))
    choice = start.switch(function.args[0], end.block)
    for rows in range(1, largest.rows + 1):
        block = function.append_basic_block(f"rows{rows}")
        choice.add_case(number(rows), block)
        b = ir.IRBuilder(block)
        b.call(_of_rows(largest, rows).function(module), function.args[1:])
        b.branch(end.block)
    end.ret_void()
    return function


def _of_rows(largest: MicroKernel, rows: int) -> MicroKernel:
    if isinstance(largest, RegisterTile) and rows < largest.fetches:
        return replace(largest, rows=rows, fetches=0)
    return replace(largest, rows=rows)


# --- columns apart --------------------------------------------------------------------------------


def _write_column_sums(frame: Frame, product: Multiply) -> None:
    """Row by row, some columns at a time."""
    tile, scope, total = _largest(frame, product), frame.scope, memory_type(product.tile.dtype)
    kernel = ColumnSums(tile.lanes, tile.lhs, tile.rhs, tile.total)
    call = _arguments(frame, product)
    right, rows, columns = (
        scalar_index(scope, dim) for dim in (product.rhs.strides[1], product.rows, product.columns)
    )
    some = scope.b.and_(
        scope.b.icmp_signed("<", number(0), rows), scope.b.icmp_signed("<", number(0), columns)
    )
    with (
        when(scope, some) as inner,
        repeat(inner, number(0), rows, 1) as (body, row),
        repeat(body, number(0), columns, kernel.columns) as (innermost, column),
    ):
        b = innermost.b
        lhs = element_address(b, call.lhs, memory_type(tile.lhs), b.mul(row, call.lhs_down))
        rhs = element_address(b, call.rhs, memory_type(tile.rhs), b.mul(column, right))
        place = b.add(b.mul(row, number(tile.pitch)), column)
        target = element_address(b, call.tile, total, place)
        left = b.sub(columns, column)
        b.call(kernel.function(b.module), [lhs, rhs, right, target, call.depth, left])
