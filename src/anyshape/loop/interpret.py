"""The definition of the loop IR: plain Python over plain indices, with every access checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, assert_never

import numpy as np

from anyshape.base.errors import VerifyError
from anyshape.ir.attrs import NO_ATTRS
from anyshape.ir.literal import WeightStore
from anyshape.ir.opdef import Call, lookup
from anyshape.ir.types import Array, DType
from anyshape.loop.ir import (
    Apply,
    Bind,
    Buffer,
    Copy,
    For,
    Guard,
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
    neutral,
)
from anyshape.loop.kernel import Kernel
from anyshape.loop.native import run_native
from anyshape.sym import Symbol


def run_kernel(kernel: Kernel, buffers: Sequence[Array], sizes: Sequence[int]) -> None:
    """Runs all tasks in order; written buffers are changed in place."""
    if kernel.native:
        run_native(kernel.native, buffers, sizes)
        return
    bound = dict(zip(kernel.sizes, sizes, strict=True))
    memory = {
        buffer.name: _seen_as(buffer, array).reshape(_shape(buffer, bound), copy=False)
        for buffer, array in zip(kernel.buffers, buffers, strict=True)
    }
    for buffer in kernel.scratch:
        memory[buffer.name] = np.zeros(_shape(buffer, bound), buffer.dtype.numpy)
    run_tasks(kernel, memory, bound, range(kernel.tasks.evaluate(bound)))


def run_tasks(
    kernel: Kernel, memory: Mapping[str, Array], sizes: Mapping[Symbol, int], tasks: range
) -> None:
    """Runs some tasks, in order. `memory` has buffers and scratch by name, in their shapes."""
    for task in tasks:
        _Frame(memory, {**sizes, kernel.task: task}).run(kernel.body)


def _seen_as(buffer: Buffer, array: Array) -> Array:
    """Numbers that lie in groups may be read a group at a time."""
    return array if array.dtype == buffer.dtype.numpy else array.view(buffer.dtype.numpy)


def _shape(buffer: Buffer, sizes: Mapping[Symbol, int]) -> tuple[int, ...]:
    return tuple(dim.evaluate(sizes) for dim in buffer.shape)


class _Frame:
    """Symbols and locals at one point of the execution."""

    def __init__(self, memory: Mapping[str, Array], symbols: dict[Symbol, int]) -> None:
        self.memory = memory
        self.symbols = symbols
        self.locals: dict[str, Any] = {}
        self.combine: dict[str, str] = {}

    def run(self, body: Sequence[Statement]) -> None:
        for statement in body:
            self._step(statement)

    def _step(self, statement: Statement) -> None:
        match statement:
            case Let(local, value):
                self.locals[local.name] = self.value(value)
            case Bind(symbol, value, extent):
                last = extent.evaluate(self.symbols) - 1
                self.symbols[symbol] = max(0, min(int(self.value(value)), last))
            case Store(buffer, index, value):
                self.memory[buffer.name][self._place(buffer, index)] = self.value(value)
            case Update(local, value):
                args = (self.locals[local.name], self.value(value))
                self.locals[local.name] = _apply(self.combine[local.name], args, local.dtype)
            case For():
                self._loop(statement)
            case Copy():
                self._copy(statement)
            case Multiply():
                self._multiply(statement)
            case Prepare(_, body):
                self.run(body)
            case _:
                assert_never(statement)

    def _loop(self, loop: For) -> None:
        for state in loop.accumulators:
            self.locals[state.local.name] = self.value(neutral(state.op, state.local.dtype))
            self.combine[state.local.name] = state.op
        for index in range(loop.extent.evaluate(self.symbols)):
            self.symbols[loop.index] = index
            self.run(loop.body)

    def _copy(self, copy: Copy) -> None:
        rows, columns = (dim.evaluate(self.symbols) for dim in (copy.rows, copy.columns))
        source, target = self._elements(copy.source, rows, columns), self.memory[copy.target.name]
        _check_inside(copy.target.name, np.array([rows, columns]), np.array(target.shape) + 1)
        for i, j in np.ndindex(source.shape):
            target[i, j] = _apply("cast", (source[i, j],), copy.target.dtype)

    def _multiply(self, product: Multiply) -> None:
        rows, columns, depth = (
            dim.evaluate(self.symbols) for dim in (product.rows, product.columns, product.depth)
        )
        dtype, tile = product.tile.dtype, self._tile(product)
        lhs = self._elements(product.lhs, rows, depth)
        rhs = self._rhs(product, depth, columns)
        _check_inside(product.tile.name, np.array([rows, columns]), np.array(tile.shape) + 1)
        for i, j in np.ndindex(rows, columns):
            total = tile[i, j] if product.added else self.value(Literal.of(0, dtype))
            for x, w in zip(lhs[i], rhs[:, j], strict=True):
                factors = [_apply("cast", (factor,), dtype) for factor in (x, w)]
                total = _apply("add", (total, _apply("mul", factors, dtype)), dtype)
            tile[i, j] = total

    def _tile(self, product: Multiply) -> Array:
        tiles = self.memory[product.tile.name]
        at = tuple(dim.evaluate(self.symbols) for dim in product.at)
        _check_inside(product.tile.name, np.array(at), np.array(tiles.shape[: len(at)]))
        return tiles[at]

    def _rhs(self, product: Multiply, depth: int, columns: int) -> Array:
        group = product.group
        stored = self._elements(product.rhs, -(-depth // group), columns * group)
        apart = stored.reshape(-1, columns, group).transpose(0, 2, 1)
        return apart.reshape(-1, columns)[:depth]

    def _elements(self, matrix: Matrix, rows: int, columns: int) -> Array:
        """The matrix; each of its elements must exist along each axis of its memory."""
        i, j = np.ogrid[:rows, :columns]
        places = np.full((i + j).shape, matrix.origin.evaluate(self.symbols))
        for span in matrix.spans:
            extent, stride, first, down, right = (dim.evaluate(self.symbols) for dim in span.dims)
            index = first + i * down + j * right
            _check_inside(matrix.buffer.name, index, extent)
            places += index * stride
        array = self.memory[matrix.buffer.name].reshape(-1)
        _check_inside(matrix.buffer.name, places, array.size)
        return array[places]

    def _place(self, buffer: Buffer, index: Sequence[Any]) -> tuple[int, ...]:
        place = tuple(dim.evaluate(self.symbols) for dim in index)
        shape = self.memory[buffer.name].shape
        if not all(0 <= i < size for i, size in zip(place, shape, strict=True)):
            raise VerifyError(f"buffer '{buffer.name}'", f"{place} is outside {shape}")
        return place

    def value(self, scalar: Scalar) -> Any:
        match scalar:
            case Load(buffer, index):
                return self.memory[buffer.name][self._place(buffer, index)]
            case Literal(_, dtype):
                return np.asarray(scalar.value).astype(dtype.numpy)
            case Number(dim):
                return np.int64(dim.evaluate(self.symbols))
            case Local(name, _):
                return self.locals[name]
            case Apply(op, args, dtype):
                return _apply(op, [self.value(arg) for arg in args], dtype)
            case Guard(conditions, inside, outside):
                holds = all(test.holds(self.symbols) for test in conditions)
                return self.value(inside if holds else outside)
            case _:
                assert_never(scalar)


def _check_inside(name: str, places: Array, size: int | Array) -> None:
    if ((places < 0) | (places >= size)).any():
        raise VerifyError(f"buffer '{name}'", f"a matrix in it reaches outside {size}")


def _apply(op: str, args: Sequence[Any], dtype: DType) -> Any:
    """The op's own NumPy reference on scalars."""
    arrays = tuple(np.asarray(arg) for arg in args)
    if op == "cast":
        with np.errstate(all="ignore"):
            return arrays[0].astype(dtype.numpy)
    reference = lookup(op).reference
    assert reference is not None, f"{op} is a compound: lowering expands it"
    return reference(Call(NO_ATTRS, arrays, (dtype[()],), _NO_WEIGHTS, _no_region))


_NO_WEIGHTS = WeightStore()


def _no_region(index: int, args: Sequence[Array]) -> tuple[Array, ...]:
    raise AssertionError("elementwise ops have no regions")
