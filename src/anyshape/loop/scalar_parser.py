"""Reading the values of a kernel, and the names in them; `parser` has the grammar."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final, TypeVar

from anyshape.base.lexer import Cursor, Token, TokenKind
from anyshape.ir.opdef import Trait, lookup
from anyshape.ir.text.values import read_dtype
from anyshape.ir.types import DTYPES, DType
from anyshape.loop.ir import Apply, Buffer, Guard, Index, Literal, Load, Local, Number, Scalar
from anyshape.sym import HOLE, Predicate, Symbol, read_dim, read_predicate

MAX_NESTING: Final = 64
"""How many loops, or values of values, may be inside each other: ten times what lowering makes."""

_NUMBERS = (TokenKind.INTEGER, TokenKind.FLOAT)

Locals = dict[str, Local]
"""What is defined at one point, by name."""

T = TypeVar("T")


class ScalarParser:
    """Walks over one text; `buffers` are those declared so far."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.buffers: dict[str, Buffer] = {}
        self.nesting = 0

    # --- scalars --------------------------------------------------------------------------------

    def scalar(self, known: Locals) -> Scalar:
        start = self.cursor.peek()
        if start.text in DTYPES:
            return self._typed(known)
        if self.cursor.accept("("):
            dim = read_dim(self.cursor)
            self.cursor.expect(")")
            return Number(dim)
        if self.cursor.accept("if"):
            with self.inside("values"):
                return self._guard(known)
        name = self.name("a value")
        if self.cursor.accept("["):
            buffer = self.buffer_of(name, start)
            return Load(buffer, self.index(buffer))
        return self.local_of(name, start, known)

    def _typed(self, known: Locals) -> Literal | Apply:
        dtype, start = read_dtype(self.cursor), self.cursor.peek()
        if self.cursor.peek(1).text != "(":
            return self._literal(dtype)
        op = self.cursor.expect_kind(TokenKind.NAME, "an op").text
        entry = lookup(op)
        self.cursor.expect("(")
        with self.inside("values"):
            args = self.until(")", lambda: self.scalar(known))
        entry.signature.check(op, len(args))
        if not entry.has(Trait.ELEMENTWISE):
            self.cursor.fail(f"'{op}' is not elementwise", "write it as loops", start)
        return Apply(op, args, dtype)

    def _literal(self, dtype: DType) -> Literal:
        start = self.cursor.peek()
        sign = "-" if self.cursor.accept("-") else ""
        token = self.cursor.next()
        if dtype.is_float and (token.text in ("inf", "nan") or token.kind in _NUMBERS):
            return Literal.of(float(sign + token.text), dtype)
        if token.kind is not TokenKind.INTEGER:
            self.cursor.fail(f"expected a number of {dtype}, found {token.describe()}", token=token)
        number = int(sign + token.text)
        if not _fits(number, dtype):
            self.cursor.fail(f"{number} is out of the range of {dtype}", token=start)
        return Literal.of(number, dtype)

    def _guard(self, known: Locals) -> Guard:
        conditions: list[Predicate] = []
        while not self.cursor.accept("then"):
            if conditions:
                self.cursor.expect("and")
            conditions.append(read_predicate(self.cursor))
        inside = self.scalar(known)
        self.cursor.expect("else")
        return Guard(tuple(conditions), inside, self.scalar(known))

    # --- small things ---------------------------------------------------------------------------

    @contextmanager
    def inside(self, what: str) -> Generator[None]:
        """Bounds the depth, so that no text exhausts the stack."""
        if self.nesting == MAX_NESTING:
            problem = f"{what} are nested more than {MAX_NESTING} deep"
            self.cursor.fail(problem, "name inner values on lines of their own", self.cursor.last)
        self.nesting += 1
        yield
        self.nesting -= 1

    def until(self, end: str, item: Callable[[], T]) -> tuple[T, ...]:
        """Items with commas between them."""
        items: list[T] = []
        while not self.cursor.accept(end):
            if items:
                self.cursor.expect(",")
            items.append(item())
        return tuple(items)

    def symbol(self) -> Symbol:
        start = self.cursor.peek()
        dim = read_dim(self.cursor)
        if dim.symbol is None or dim is HOLE:
            self.cursor.fail("expected the name of a size or an index", token=start)
        return dim.symbol

    def name(self, what: str) -> str:
        token = self.cursor.next()
        if token.kind not in (TokenKind.NAME, TokenKind.QUOTED):
            self.cursor.fail(f"expected {what}, found {token.describe()}", token=token)
        return token.value

    def index(self, buffer: Buffer) -> Index:
        """Up to the closing bracket."""
        start = self.cursor.last
        index = self.until("]", lambda: read_dim(self.cursor))
        if len(index) != len(buffer.shape):
            problem = f"'{buffer.name}' has {len(buffer.shape)} axes, found {len(index)} indices"
            self.cursor.fail(problem, "give one for each axis", start)
        return index

    def buffer_of(self, name: str, start: Token) -> Buffer:
        if name not in self.buffers:
            hint = f"buffers are {', '.join(self.buffers) or '(none)'}"
            self.cursor.fail(f"'{name}' is no buffer", hint, start)
        return self.buffers[name]

    def local_of(self, name: str, start: Token, known: Locals) -> Local:
        if name not in known:
            hint = f"values here are {', '.join(known) or '(none)'}"
            self.cursor.fail(f"'{name}' is not defined", hint, start)
        return known[name]


def _fits(number: int, dtype: DType) -> bool:
    """Whether it is a number of this integer type; of bool, 0 or 1."""
    lowest = -(1 << dtype.bits - 1) if dtype.kind == "int" else 0
    return lowest <= number < lowest + (1 << dtype.bits)
