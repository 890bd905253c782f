"""Kernels as text, for reading, golden tests and as the key of compiled code.

As a key, the text says everything that code may depend on: kernels with the same text are the same
but for the provenance of their facts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from anyshape.ir.types import shape_text
from anyshape.loop.ir import (
    STACK_BYTES,
    Apply,
    Bind,
    Buffer,
    Copy,
    For,
    Guard,
    Kernel,
    Let,
    Literal,
    Load,
    Local,
    Matrix,
    Multiply,
    Number,
    Prepare,
    Scalar,
    Span,
    Statement,
    Store,
    Update,
)
from anyshape.sym import Dim, Facts, product

INDENT = "  "


def kernel_text(kernel: Kernel) -> str:
    sizes = ", ".join(map(str, kernel.sizes))
    buffers = ", ".join(map(_buffer, kernel.buffers))
    lines = [f"kernel ({sizes}; {buffers}) tasks {kernel.task} < {kernel.tasks} {{"]
    lines += [INDENT + line for line in _fact_lines(kernel.facts)]
    lines += [f"{INDENT}scratch {_buffer(buffer)}" for buffer in kernel.scratch]
    lines += [f"{INDENT}streams if {kernel.streams}"] * (kernel.streams != 0)
    lines += [f"{INDENT}native {kernel.native}"] * bool(kernel.native)
    lines += [f"{INDENT}stack {kernel.stack_bytes} bytes"] * (kernel.stack_bytes != STACK_BYTES)
    lines += [INDENT + line for statement in kernel.body for line in _lines(statement)]
    return "\n".join([*lines, "}"]) + "\n"


def _fact_lines(facts: Facts) -> Iterator[str]:
    """What holds, and not who said so: the same kernel from two models is one text."""
    yield from (f"axis {axis}" for axis in facts.axes)
    yield from (f"fact {fact.predicate}" for fact in facts.facts)


def _buffer(buffer: Buffer) -> str:
    strides = "" if is_row_major(buffer) else f" strides {shape_text(buffer.strides)}"
    written = " written" if buffer.written else ""
    return f"{buffer.name}: {buffer.dtype}{shape_text(buffer.shape)}{strides}{written}"


def is_row_major(buffer: Buffer) -> bool:
    return buffer.strides == row_major(buffer.shape)


def row_major(shape: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """Strides of a dense buffer."""
    return tuple(product(shape[axis + 1 :]) for axis in range(len(shape)))


def _lines(statement: Statement) -> Iterator[str]:
    match statement:
        case Let(local, value):
            yield f"{local.name} = {scalar_text(value)}"
        case Bind(symbol, value, extent):
            yield f"{symbol} = index {scalar_text(value)} < {extent}"
        case Store(buffer, index, value):
            yield f"{buffer.name}{shape_text(index)} = {scalar_text(value)}"
        case Update(local, value):
            yield f"{local.name} <- {scalar_text(value)}"
        case For():
            yield from _for_lines(statement)
        case Copy(target, source, rows, columns):
            yield f"{target.name}{shape_text((rows, columns))} = {_matrix(source)}"
        case Multiply(tile, lhs, rhs, rows, columns, depth, padded):
            size, kind = shape_text((rows, columns)), " padded" if padded else ""
            yield f"{tile.name}{size} = {_matrix(lhs)} @ {_matrix(rhs)}{kind} over {depth}"
        case Prepare(keys, body):
            yield f"prepare for {', '.join(map(str, keys))} {{"
            yield from (INDENT + line for inner in body for line in _lines(inner))
            yield "}"
        case _:
            assert_never(statement)


def _matrix(matrix: Matrix) -> str:
    origin = f"{matrix.origin}: " if matrix.origin != 0 else ""
    return f"{matrix.buffer.name}[{origin}{', '.join(map(_span, matrix.spans))}]"


def _span(span: Span) -> str:
    """Where element (row, column) is along an axis, how long that is, and how far its steps are."""
    index = span.index(Dim.of("row"), Dim.of("column"))
    return f"{index} of {span.extent} by {span.stride}"


def _for_lines(loop: For) -> Iterator[str]:
    states = "".join(f" {a.local.name}: {a.local.dtype} {a.op}" for a in loop.accumulators)
    over = f" with{states}" if states else ""
    yield f"for {loop.index} < {loop.extent}{' vector' if loop.vector else ''}{over} {{"
    for statement in loop.body:
        yield from (INDENT + line for line in _lines(statement))
    yield "}"


def scalar_text(value: Scalar) -> str:
    match value:
        case Load(buffer, index):
            return f"{buffer.name}{shape_text(index)}"
        case Literal(text, dtype):
            return f"{dtype} {text}"
        case Number(dim):
            return f"({dim})"
        case Local(name, _):
            return name
        case Apply(op, args, dtype):
            return f"{dtype} {op}({', '.join(map(scalar_text, args))})"
        case Guard(conditions, inside, outside):
            test = " and ".join(map(str, conditions))
            return f"({scalar_text(inside)} if {test} else {scalar_text(outside)})"
        case _:
            assert_never(value)
