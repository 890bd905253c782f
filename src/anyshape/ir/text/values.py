"""Attribute values as text. The op's schema says what to expect, so text needs no type marks.

dims `seq//2 + 1`   lists `[0, 2]`   pairs `([2], [0])`   words `tanh`   `none` `true` `0.5`
small constants `f32 0.125`, `i64[3] [1, 2, 3]`   weights `@w3 f32[384, 384] sha256:…`
"""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Callable
from typing import Any, assert_never, cast

import numpy as np

from anyshape.base.lexer import Cursor, TokenKind, is_name, quoted
from anyshape.ir.attrs import AttrScalar, AttrValue
from anyshape.ir.digest import Digest
from anyshape.ir.literal import TensorLiteral, WeightRef
from anyshape.ir.types import DTYPES, DType, Shape, shape_text
from anyshape.sym import Dim, read_dim

# --- writing --------------------------------------------------------------------------------------


def value_text(hint: Any, value: AttrValue) -> str:
    if value is None:
        return "none"
    if isinstance(value, tuple):
        return _tuple_text(_option(hint, tuple), value)
    return scalar_text(value)


def _option(hint: Any, wanted: type) -> Any:
    """The member of a union that a value of class `wanted` was declared by."""
    if typing.get_origin(hint) not in (types.UnionType, typing.Union):
        return hint
    return next(h for h in typing.get_args(hint) if (typing.get_origin(h) or h) is wanted)


def _tuple_text(hint: Any, value: tuple[AttrValue, ...]) -> str:
    args = typing.get_args(hint)
    if args[-1] is Ellipsis:
        return "[" + ", ".join(value_text(args[0], item) for item in value) + "]"
    pairs = zip(args, value, strict=True)
    return "(" + ", ".join(value_text(arg, item) for arg, item in pairs) + ")"


def scalar_text(value: AttrScalar) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float() | Dim() | DType():
            return str(value)
        case str():
            return value if is_name(value) else quoted(value)
        case TensorLiteral():
            return literal_text(value)
        case WeightRef():
            return f"@{value.name} {value.type} sha256:{value.digest}"
        case _:
            assert_never(value)


def literal_text(value: TensorLiteral) -> str:
    numbers = [_number_text(number) for number in value.array.reshape(-1)]
    if not value.shape:
        return f"{value.dtype} {numbers[0]}"
    return f"{value.dtype}{list(value.shape)} [{', '.join(numbers)}]"


def _number_text(number: Any) -> str:
    if isinstance(number, np.bool_):
        return "true" if number else "false"
    return str(int(number)) if number.dtype.kind in "iu" else _float_text(number)


def _float_text(number: Any) -> str:
    """The shortest text that is read back as the same bits."""
    short = str(number)
    same = type(number)(float(short)) == number
    # float() of a narrow float is exact, so the long form always does.
    return short if same else str(float(number))


# --- reading --------------------------------------------------------------------------------------


def read_value(cursor: Cursor, hint: Any) -> AttrValue:
    origin = typing.get_origin(hint)
    if origin in (types.UnionType, typing.Union):
        return _read_union(cursor, typing.get_args(hint))
    if origin is tuple:
        return _read_tuple(cursor, typing.get_args(hint))
    if origin is typing.Literal:
        return _read_word(cursor)
    return _READERS[hint](cursor)


def _read_union(cursor: Cursor, options: tuple[Any, ...]) -> AttrValue:
    if types.NoneType in options and cursor.accept("none"):
        return None
    if WeightRef in options:
        return read_weight(cursor) if cursor.at("@") else read_literal(cursor)
    return read_value(cursor, next(o for o in options if o is not types.NoneType))


def _read_tuple(cursor: Cursor, args: tuple[Any, ...]) -> AttrValue:
    if args[-1] is Ellipsis:
        return tuple(read_list(cursor, "[", "]", lambda: read_value(cursor, args[0])))
    cursor.expect("(")
    values = [read_value(cursor, args[0])]
    for arg in args[1:]:
        cursor.expect(",")
        values.append(read_value(cursor, arg))
    cursor.expect(")")
    return tuple(values)


T = typing.TypeVar("T")


def read_list(cursor: Cursor, start: str, end: str, item: Callable[[], T]) -> list[T]:
    """Items with commas between brackets."""
    cursor.expect(start)
    found: list[T] = []
    while not cursor.accept(end):
        if found:
            cursor.expect(",")
        found.append(item())
    return found


def _read_word(cursor: Cursor) -> str:
    if cursor.peek().kind is TokenKind.STRING:
        return cursor.next().value
    return cursor.expect_kind(TokenKind.NAME, "a word").value


def _read_bool(cursor: Cursor) -> bool:
    token = cursor.accept("true", "false")
    if token is None:
        cursor.fail("expected true or false")
    return token.text == "true"


def read_int(cursor: Cursor) -> int:
    sign = -1 if cursor.accept("-") else 1
    return sign * cursor.expect_integer()


def read_float(cursor: Cursor) -> float:
    sign = -1.0 if cursor.accept("-") else 1.0
    if token := cursor.accept("inf", "nan"):
        return sign * float(token.text)
    if cursor.peek().kind not in (TokenKind.INTEGER, TokenKind.FLOAT):
        cursor.fail(f"expected a number, found {cursor.peek().describe()}")
    return sign * float(cursor.next().text)


def read_dtype(cursor: Cursor) -> DType:
    token = cursor.peek()
    if token.text not in DTYPES:
        cursor.fail(f"expected a dtype, found {token.describe()}", f"one of {', '.join(DTYPES)}")
    return DTYPES[cursor.next().text]


def read_shape(cursor: Cursor) -> Shape:
    return tuple(read_list(cursor, "[", "]", lambda: read_dim(cursor)))


def _read_sizes(cursor: Cursor) -> tuple[int, ...]:
    return tuple(read_list(cursor, "[", "]", cursor.expect_integer))


def read_literal(cursor: Cursor) -> TensorLiteral:
    dtype = read_dtype(cursor)
    read = cast(Callable[[Cursor], Any], _NUMBER_READERS[dtype.kind])
    if not cursor.at("["):
        return _literal(cursor, dtype, (), [read(cursor)])
    shape = _read_sizes(cursor)
    start = cursor.peek()
    numbers = read_list(cursor, "[", "]", lambda: read(cursor))
    if len(numbers) != math.prod(shape):
        counts = f"has {math.prod(shape)} elements, found {len(numbers)}"
        cursor.fail(f"{shape_text(tuple(map(Dim.of, shape)))} {counts}", token=start)
    return _literal(cursor, dtype, shape, numbers)


def _literal(
    cursor: Cursor, dtype: DType, shape: tuple[int, ...], numbers: list[Any]
) -> TensorLiteral:
    try:
        return TensorLiteral.of(np.array(numbers, dtype.numpy).reshape(shape))
    except (OverflowError, ValueError):
        cursor.fail(f"a number or size is out of the range of {dtype}", token=cursor.last)


def read_weight(cursor: Cursor) -> WeightRef:
    cursor.expect("@")
    name = cursor.expect_kind(TokenKind.NAME, "the name of a weight").value
    dtype, shape = read_dtype(cursor), _read_sizes(cursor)
    digest = cursor.expect_kind(TokenKind.DIGEST, "sha256:…").value.partition(":")[2]
    return WeightRef(name, dtype, shape, Digest.of_text(digest))


_READERS: dict[Any, Callable[[Cursor], AttrScalar]] = {
    bool: _read_bool,
    int: read_int,
    float: read_float,
    str: _read_word,
    Dim: read_dim,
    DType: read_dtype,
}

_NUMBER_READERS = {"bool": _read_bool, "int": read_int, "uint": read_int, "float": read_float}
