"""Kernels as text, for reading, golden tests and as the key of compiled code.

The text says everything but the provenance of facts: `parser` has the grammar, and reads the kernel
back. As a key, it therefore tells apart whatever code may depend on.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Final, assert_never

from anyshape.base.lexer import is_name, quoted
from anyshape.ir.types import DTYPES, shape_text
from anyshape.loop.ir import (
    COLUMN,
    ROW,
    STACK_BYTES,
    Accumulator,
    Ahead,
    Apply,
    Bind,
    Buffer,
    Copy,
    For,
    Guard,
    Index,
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
from anyshape.sym import Dim, Facts, Symbol, product

if TYPE_CHECKING:
    from anyshape.loop.kernel import Kernel

INDENT = "  "

WORDS: Final = frozenset(
    {"axis", "fact", "scratch", "streams", "native", "stack", "for", "prepare", "index", "if"}
).union(DTYPES)
"""What a line or a value may begin with; something of that name is quoted."""


def kernel_text(kernel: Kernel) -> str:
    sizes = ", ".join(map(str, kernel.sizes))
    buffers = ", ".join(map(_buffer, kernel.buffers))
    lines = [f"kernel ({sizes}; {buffers}) tasks {kernel.task} < {kernel.tasks} {{"]
    lines += [INDENT + line for line in _fact_lines(kernel.facts)]
    lines += [f"{INDENT}scratch {_buffer(buffer)}" for buffer in kernel.scratch]
    lines += [f"{INDENT}streams if {kernel.streams}"] * (kernel.streams != 0)
    lines += [f"{INDENT}native {_name(kernel.native)}"] * bool(kernel.native)
    lines += [f"{INDENT}stack {kernel.stack_bytes} bytes"] * (kernel.stack_bytes != STACK_BYTES)
    lines += [INDENT + line for statement in kernel.body for line in _lines(statement)]
    return "\n".join([*lines, "}"]) + "\n"


def _fact_lines(facts: Facts) -> Iterator[str]:
    """What holds, and not who said so: the same kernel from two models is one text."""
    yield from (f"axis {axis}" for axis in facts.axes)
    yield from (f"fact {fact.predicate}" for fact in facts.facts)


@lru_cache(maxsize=1 << 10)
def _name(name: str) -> str:
    """In backquotes unless it is read back as a name."""
    return name if is_name(name) and name not in WORDS else quoted(name, "`")


def _symbol(symbol: Symbol) -> str:
    """Where a line begins with it; inside of dims no word is taken."""
    return _name(symbol.name) if symbol.name in WORDS else str(symbol)


def _buffer(buffer: Buffer) -> str:
    strides = "" if is_row_major(buffer) else f" strides {shape_text(buffer.strides)}"
    written = " written" if buffer.written else ""
    return f"{_name(buffer.name)}: {buffer.dtype}{shape_text(buffer.shape)}{strides}{written}"


def is_row_major(buffer: Buffer) -> bool:
    return buffer.strides == row_major(buffer.shape)


def row_major(shape: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """Strides of a dense buffer."""
    return tuple(product(shape[axis + 1 :]) for axis in range(len(shape)))


def _lines(statement: Statement) -> Iterator[str]:
    match statement:
        case Let(local, value):
            yield f"{_name(local.name)} = {scalar_text(value)}"
        case Bind(symbol, value, extent):
            yield f"{_symbol(symbol)} = index {scalar_text(value)} < {extent}"
        case Store(buffer, index, value):
            yield f"{_name(buffer.name)}{shape_text(index)} = {scalar_text(value)}"
        case Update(local, value):
            yield f"{_name(local.name)} <- {scalar_text(value)}"
        case For():
            yield from _for_lines(statement)
        case Copy(target, source, rows, columns):
            yield f"{_corner(target, rows, columns)} = {_matrix(source)}"
        case Multiply(tile, lhs, rhs, rows, columns, depth, padded, added, ahead, group, at):
            product = f"{_matrix(lhs)} @ {_matrix(rhs)}{' padded' if padded else ''}"
            product += f" groups {group}" if group > 1 else ""
            target = f"{_corner(tile, rows, columns, at)} {'+=' if added else '='}"
            yield f"{target} {product} over {depth}{_fetched(ahead)}"
        case Prepare(keys, body):
            yield f"prepare{' for ' if keys else ''}{', '.join(map(str, keys))} {{"
            yield from (INDENT + line for inner in body for line in _lines(inner))
            yield "}"
        case _:
            assert_never(statement)


def _fetched(ahead: Ahead | None) -> str:
    if ahead is None:
        return ""
    least = f" from {ahead.least}" if ahead.least > 1 else ""
    return f" ahead {ahead.distance} part {ahead.part} of {ahead.parts}{least}"


def _corner(scratch: Buffer, rows: Dim, columns: Dim, at: Index = ()) -> str:
    """The first rows and columns of it, or of one of several tiles."""
    which = f" at {shape_text(at)}" if at else ""
    return f"{_name(scratch.name)}[:{rows}, :{columns}]{which}"


def _matrix(matrix: Matrix) -> str:
    origin = f"{matrix.origin}: " if matrix.origin != 0 else ""
    return f"{_name(matrix.buffer.name)}[{origin}{', '.join(map(_span, matrix.spans))}]"


def _span(span: Span) -> str:
    """Where element (row, column) is along an axis, how long that is, and how far its steps are."""
    index = span.index(Dim.of(ROW), Dim.of(COLUMN))
    return f"{index} of {span.extent} by {span.stride}"


def _for_lines(loop: For) -> Iterator[str]:
    states = ", ".join(map(_accumulator, loop.accumulators))
    kept = f" with {states}" if states else ""
    yield f"for {loop.index} < {loop.extent}{' vector' if loop.vector else ''}{kept} {{"
    for statement in loop.body:
        yield from (INDENT + line for line in _lines(statement))
    yield "}"


def _accumulator(state: Accumulator) -> str:
    return f"{_name(state.local.name)}: {state.local.dtype} {state.op}"


def scalar_text(value: Scalar) -> str:
    match value:
        case Load(buffer, index):
            return f"{_name(buffer.name)}{shape_text(index)}"
        case Literal(text, dtype):
            return f"{dtype} {text}"
        case Number(dim):
            return f"({dim})"
        case Local(name, _):
            return _name(name)
        case Apply(op, args, dtype):
            return f"{dtype} {op}({', '.join(map(scalar_text, args))})"
        case Guard(conditions, inside, outside):
            test = " and ".join(map(str, conditions))
            return f"if {test} then {scalar_text(inside)} else {scalar_text(outside)}"
        case _:
            assert_never(value)
