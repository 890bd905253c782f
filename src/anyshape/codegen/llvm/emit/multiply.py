"""Matrix products: which micro-kernels compute a tile.

A whole tile is one call of the micro-kernel for its number of rows. Where columns are missing, the
tile is computed one vector of columns at a time, each under a mask: nothing beyond rhs is read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from anyshape.codegen.llvm.emit.frame import Frame
from anyshape.codegen.llvm.emit.index import scalar_index
from anyshape.codegen.llvm.emit.intrinsics import element_address
from anyshape.codegen.llvm.emit.register_tile import ARGUMENTS, RegisterTile
from anyshape.codegen.llvm.emit.scope import Scope, repeat, when
from anyshape.codegen.llvm.emit.types import I64, memory_type, number, register_bits
from anyshape.codegen.llvm.math.boundary import Function, Module, Value, internal_function, ir
from anyshape.loop import Matrix, Multiply
from anyshape.sym import Answer, Dim, Equal


class _Call(NamedTuple):
    """The arguments of a micro-kernel, but for the number of columns."""

    lhs: Value
    lhs_down: Value
    lhs_right: Value
    rhs: Value
    rhs_down: Value
    tile: Value
    depth: Value


def write_multiply(frame: Frame, product: Multiply) -> None:
    """Computes the tile."""
    tile, scope = _largest(frame, product), frame.scope
    call = _arguments(frame, product)
    rows, columns = (scalar_index(scope, dim) for dim in (product.rows, product.columns))
    width = tile.vectors * tile.lanes
    if scope.prover.proves(Equal(product.columns, Dim.of(width))) is Answer.TRUE:
        _call(scope, tile, rows, call, columns)
        return
    is_whole = scope.b.icmp_signed("==", columns, number(width))
    with when(scope, is_whole) as whole:
        _call(whole, tile, rows, call, columns)
    with when(scope, scope.b.icmp_signed("<", columns, number(width))) as part:
        _write_vectors(part, replace(tile, vectors=1, masked=True), rows, call, columns)


def _largest(frame: Frame, product: Multiply) -> RegisterTile:
    """The micro-kernel for a whole tile."""
    rows, columns = (size.evaluate({}) for size in product.tile.shape)
    total, operand = product.tile.dtype, product.rhs.buffer.dtype
    lanes = frame.unit.isa.vector_bits // register_bits(total)
    assert columns % lanes == 0, "tiles are made of whole vectors"
    return RegisterTile(rows, columns // lanes, lanes, columns, operand, total)


def _arguments(frame: Frame, product: Multiply) -> _Call:
    lhs, rhs = product.lhs, product.rhs
    lhs_down, lhs_right, rhs_down, depth = (
        scalar_index(frame.scope, dim) for dim in (*lhs.strides, rhs.strides[0], product.depth)
    )
    tile = frame.unit.pointers[product.tile.name]
    return _Call(_start(frame, lhs), lhs_down, lhs_right, _start(frame, rhs), rhs_down, tile, depth)


def _start(frame: Frame, matrix: Matrix) -> Value:
    offset = scalar_index(frame.scope, matrix.start)
    base = frame.unit.pointers[matrix.buffer.name]
    return element_address(frame.b, base, memory_type(matrix.buffer.dtype), offset)


def _write_vectors(
    scope: Scope, tile: RegisterTile, rows: Value, call: _Call, columns: Value
) -> None:
    """One vector of columns after the other; there is at least one column."""
    with repeat(scope, number(0), columns, tile.lanes) as (body, first):
        moved = call._replace(
            rhs=element_address(body.b, call.rhs, memory_type(tile.operand), first),
            tile=element_address(body.b, call.tile, memory_type(tile.total), first),
        )
        _call(body, tile, rows, moved, body.b.sub(columns, first))


def _call(scope: Scope, tile: RegisterTile, rows: Value, call: _Call, columns: Value) -> None:
    scope.b.call(_any_rows(scope.b.module, tile), [rows, *call, columns])


def _any_rows(module: Module, largest: RegisterTile) -> Function:
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
        b.call(replace(largest, rows=rows).function(module), function.args[1:])
        b.branch(end.block)
    end.ret_void()
    return function
