"""Reading kernels: the inverse of `printer`.

    kernel    := 'kernel' '(' symbols ';' buffers ')' 'tasks' range '{' head statement* '}'
    head      := ('axis' axis)* ('fact' predicate)* ('scratch' buffer)*
                 ['streams' 'if' dim] ['native' name] ['stack' INTEGER 'bytes']
    buffer    := name ':' dtype shape ['strides' shape] ['written']
    range     := symbol '<' dim
    statement := name '=' scalar | name '<-' scalar | name '[' dims ']' '=' scalar
               | symbol '=' 'index' scalar '<' dim
               | 'for' range ['vector'] ['with' state (',' state)*] '{' statement* '}'
               | 'prepare' ['for' symbols] '{' statement* '}'
               | name '[' ':' dim ',' ':' dim ']' '=' matrix
               | name '[' ':' dim ',' ':' dim ']' ['+'] '=' matrix '@' matrix ['padded'] 'over' dim
    state     := name ':' dtype op
    matrix    := name '[' [dim ':'] [span (',' span)*] ']'
    span      := dim 'of' dim 'by' dim         where an element is, in terms of `row` and `column`
    scalar    := name | name '[' dims ']' | '(' dim ')' | dtype number | dtype op '(' scalars ')'
               | 'if' predicate ('and' predicate)* 'then' scalar 'else' scalar

What the printer writes is read as the identical kernel, but for the provenance of its facts. Names
are resolved here, since they give dtypes; all else is the verifier's to judge. Whatever is wrong
with a text is a `TextError`, however it is damaged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from anyshape.base.errors import AnyshapeError, InputError, TextError
from anyshape.base.lexer import Cursor, Token, TokenKind
from anyshape.ir.text.values import read_dtype, read_shape
from anyshape.ir.types import Shape, bool_
from anyshape.loop.ir import (
    COLUMN,
    COMBINE,
    COMBINE_BOOL,
    NEVER,
    ROW,
    STACK_BYTES,
    Accumulator,
    Ahead,
    Bind,
    Buffer,
    Copy,
    For,
    Index,
    Let,
    Local,
    Matrix,
    Multiply,
    Prepare,
    Span,
    Statement,
    Store,
    Update,
)
from anyshape.loop.kernel import Kernel
from anyshape.loop.printer import row_major
from anyshape.loop.scalar_parser import Locals, ScalarParser
from anyshape.sym import Dim, Fact, Facts, Symbol, read_axis, read_dim, read_predicate

_HINT = "compare with what kernel.as_text() prints; anyshape/loop/parser.py has the grammar"

T = TypeVar("T")


def parse_kernel(text: str) -> Kernel:
    """The kernel that `text` describes."""
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        fix = "pass what kernel.as_text() gives, a str"
        raise InputError("text", f"is a {type(text).__name__}, no text", fix)
    try:
        return _parsed(Cursor(text))
    except TextError as error:
        error.hint = error.hint or _HINT
        raise


def _parsed(cursor: Cursor) -> Kernel:
    try:
        kernel = _Parser(cursor).kernel()
    except TextError:
        raise
    except RecursionError:
        cursor.fail("the text is nested too deeply", "bind parts of it to names", cursor.last)
    except AnyshapeError as error:  # of a dim, an axis or an op, which know no line
        problem, _, fix = error.message().partition("\nfix: ")
        cursor.fail(problem, fix, cursor.last)
    cursor.expect_end("one text holds one kernel")
    return kernel


class _Parser(ScalarParser):
    def kernel(self) -> Kernel:
        self.cursor.expect("kernel", "a kernel begins with 'kernel (n0; x: f32[n0]) tasks t < n0'")
        self.cursor.expect("(")
        sizes = self._sizes()
        buffers = self.until(")", self._given)
        self.cursor.expect("tasks")
        task, tasks = self._range()
        self.cursor.expect("{")
        axes = self._lines("axis", lambda: read_axis(self.cursor))
        facts = self._lines("fact", lambda: Fact(read_predicate(self.cursor)))
        scratch = self._lines("scratch", self._given)
        streams = self._streams() if self.cursor.accept("streams") else NEVER
        native = self.name("a function of the runtime") if self.cursor.accept("native") else ""
        stack = self._stack_bytes() if self.cursor.accept("stack") else STACK_BYTES
        known = Facts(axes, facts), scratch, streams, native, stack
        return Kernel(buffers, sizes, task, tasks, self._statements({}), *known)

    # --- what a kernel is given -----------------------------------------------------------------

    def _sizes(self) -> tuple[Symbol, ...]:
        sizes = self.until(";", self.symbol)
        if len(set(sizes)) != len(sizes):
            self.cursor.fail("two sizes have the same name", token=self.cursor.last)
        return sizes

    def _given(self) -> Buffer:
        """A buffer; no other has its name."""
        start = self.cursor.peek()
        buffer = self._buffer()
        if buffer.name in self.buffers:
            self.cursor.fail(f"'{buffer.name}' is declared twice", "rename one of them", start)
        self.buffers[buffer.name] = buffer
        return buffer

    def _buffer(self) -> Buffer:
        name = self.name("the name of a buffer")
        self.cursor.expect(":")
        dtype, shape = read_dtype(self.cursor), read_shape(self.cursor)
        strides = self._strides(shape) if self.cursor.accept("strides") else row_major(shape)
        return Buffer(name, dtype, shape, strides, self.cursor.accept("written") is not None)

    def _strides(self, shape: Shape) -> Shape:
        start = self.cursor.peek()
        strides = read_shape(self.cursor)
        if len(strides) != len(shape):
            problem = f"{len(shape)} axes have {len(strides)} strides"
            self.cursor.fail(problem, "give one for each axis", start)
        return strides

    def _streams(self) -> Dim:
        self.cursor.expect("if")
        return read_dim(self.cursor)

    def _stack_bytes(self) -> int:
        count = self.cursor.expect_integer()
        self.cursor.expect("bytes")
        return count

    # --- statements -----------------------------------------------------------------------------

    def _statements(self, known: Locals) -> tuple[Statement, ...]:
        """Up to the closing brace; `known` gains what they define."""
        body: list[Statement] = []
        while not self.cursor.accept("}"):
            body.append(self._statement(known))
        return tuple(body)

    def _statement(self, known: Locals) -> Statement:
        if self.cursor.accept("for"):
            return self._for(known)
        if self.cursor.accept("prepare"):
            return self._prepare()
        if self.cursor.peek(1).text == "=" and self.cursor.peek(2).text == "index":
            return self._bind(known)
        start = self.cursor.peek()
        name = self.name("a statement")
        if self.cursor.accept("["):
            buffer = self.buffer_of(name, start)
            return self._block(buffer) if self.cursor.at(":") else self._store(buffer, known)
        if self.cursor.accept("<"):
            return self._update(name, start, known)
        self.cursor.expect("=")
        value = self.scalar(known)
        known[name] = Local(name, value.dtype)
        return Let(known[name], value)

    def _for(self, known: Locals) -> For:
        index, extent = self._range()
        vector = self.cursor.accept("vector") is not None
        states: list[Accumulator] = []
        while self.cursor.accept("," if states else "with"):
            states.append(self._accumulator())
        known.update((state.local.name, state.local) for state in states)
        self.cursor.expect("{")
        with self.inside("loops"):
            body = self._statements(dict(known))
        return For(index, extent, body, tuple(states), vector)

    def _accumulator(self) -> Accumulator:
        name = self.name("the name of an accumulator")
        self.cursor.expect(":")
        dtype = read_dtype(self.cursor)
        token = self.cursor.expect_kind(TokenKind.NAME, "an op")
        ops = COMBINE_BOOL if dtype is bool_ else COMBINE
        if token.text not in ops:
            hint = f"one of {', '.join(ops)}"
            self.cursor.fail(f"'{token.text}' combines no {dtype}", hint, token)
        return Accumulator(Local(name, dtype), token.text)

    def _prepare(self) -> Prepare:
        """Whose statements see no locals from outside, and none of whose are seen there."""
        if self.cursor.accept("for"):
            keys = self.until("{", self.symbol)
        else:
            keys = ()
            self.cursor.expect("{")
        with self.inside("loops"):
            return Prepare(keys, self._statements({}))

    def _bind(self, known: Locals) -> Bind:
        symbol = self.symbol()
        self.cursor.expect("=")
        self.cursor.expect("index")
        value = self.scalar(known)
        self.cursor.expect("<")
        return Bind(symbol, value, read_dim(self.cursor))

    def _store(self, buffer: Buffer, known: Locals) -> Store:
        index = self.index(buffer)
        self.cursor.expect("=")
        return Store(buffer, index, self.scalar(known))

    def _update(self, name: str, start: Token, known: Locals) -> Update:
        self.cursor.expect("-", "an accumulator is given a value by 'total <- value'")
        return Update(self.local_of(name, start, known), self.scalar(known))

    # --- matrices -------------------------------------------------------------------------------

    def _block(self, target: Buffer) -> Copy | Multiply:
        """The first rows and columns of scratch, and what they become."""
        self.cursor.expect(":")
        rows = read_dim(self.cursor)
        self.cursor.expect(",")
        self.cursor.expect(":")
        columns = read_dim(self.cursor)
        self.cursor.expect("]")
        at = self._at()
        added = self.cursor.accept("+") is not None
        self.cursor.expect("=")
        lhs = self._matrix()
        if not added and not at and not self.cursor.accept("@"):
            return Copy(target, lhs, rows, columns)
        if added or at:
            self.cursor.expect("@", "only products are added, or one of several tiles of scratch")
        rhs = self._matrix()
        padded = self.cursor.accept("padded") is not None
        group = self._number("groups are a number of steps", "'groups 4'", "groups") or 1
        self.cursor.expect("over")
        sizes = rows, columns, read_dim(self.cursor)
        return Multiply(target, lhs, rhs, *sizes, padded, added, self._ahead(), group, at)

    def _at(self) -> Index:
        """Which of several tiles, if that is said."""
        return read_shape(self.cursor) if self.cursor.accept("at") else ()

    def _ahead(self) -> Ahead | None:
        """What may be fetched, if that is said."""
        if not self.cursor.accept("ahead"):
            return None
        distance = read_dim(self.cursor)
        self.cursor.expect("part")
        part = read_dim(self.cursor)
        self.cursor.expect("of")
        parts = read_dim(self.cursor)
        least = self._number("tiles that fetch have a number of rows", "'from 3'", "from") or 1
        return Ahead(distance, part, parts, least)

    def _number(self, problem: str, hint: str, word: str) -> int:
        """What follows a word, 0 where it is not said."""
        if not self.cursor.accept(word):
            return 0
        start = self.cursor.peek()
        number = read_dim(self.cursor).constant
        if number is None:
            self.cursor.fail(problem, hint, start)
        return number

    def _matrix(self) -> Matrix:
        start = self.cursor.peek()
        buffer = self.buffer_of(self.name("a matrix"), start)
        self.cursor.expect("[")
        if self.cursor.accept("]"):
            return Matrix(buffer, ())
        start = self.cursor.peek()
        first = read_dim(self.cursor)
        if self.cursor.accept(":"):
            return Matrix(buffer, self.until("]", self._span), first)
        spans = [self._span_at(first, start)]
        while not self.cursor.accept("]"):
            self.cursor.expect(",")
            spans.append(self._span())
        return Matrix(buffer, tuple(spans))

    def _span(self) -> Span:
        start = self.cursor.peek()
        return self._span_at(read_dim(self.cursor), start)

    def _span_at(self, index: Dim, start: Token) -> Span:
        """The rest of a span whose index has been read."""
        self.cursor.expect("of")
        extent = read_dim(self.cursor)
        self.cursor.expect("by")
        first = index.substitute({ROW: 0, COLUMN: 0})
        down = index.substitute({ROW: 1, COLUMN: 0}) - first
        right = index.substitute({ROW: 0, COLUMN: 1}) - first
        span = Span(extent, read_dim(self.cursor), first, down, right)
        if span.index(Dim.of(ROW), Dim.of(COLUMN)) != index:
            hint = "an index is 'first + down*row + right*column'"
            self.cursor.fail(f"'{index}' does not grow evenly with row and column", hint, start)
        return span

    # --- small things ---------------------------------------------------------------------------

    def _lines(self, word: str, item: Callable[[], T]) -> tuple[T, ...]:
        """Items that begin with the same word."""
        items: list[T] = []
        while self.cursor.accept(word):
            items.append(item())
        return tuple(items)

    def _range(self) -> tuple[Symbol, Dim]:
        symbol = self.symbol()
        self.cursor.expect("<")
        return symbol, read_dim(self.cursor)
