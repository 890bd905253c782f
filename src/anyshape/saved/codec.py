"""Records as JSON, and back.

A record is a frozen dataclass or a named tuple, whose fields are integers, floats, texts, truths,
None, element types, tuples of such, or records. It is written as the list of its fields; where a
field may be one of several records, the name of the class comes first. Reading follows the types of
the fields: only classes that they name are made, and whatever does not fit is refused.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from functools import cache
from typing import Any, Final, TypeVar, cast

import ml_dtypes
import numpy as np

T = TypeVar("T")
Reader = Callable[[Any], Any]
SCALARS = (bool, int, float, str)


class RecordError(Exception):
    """What is no record of the expected type."""

    def __init__(self, expected: str, found: object) -> None:
        super().__init__(f"expected {expected}, found {str(found)[:60]!r}")


# --- writing --------------------------------------------------------------------------------------


def encoded(value: Any, hint: Any) -> Any:
    """`value`, which is of type `hint`, as lists, numbers, texts and None."""
    if value is None or isinstance(value, SCALARS):
        return value
    kind = type(cast(object, value))
    if issubclass(kind, np.dtype):
        return value.name
    if _is_record(kind):
        row = [encoded(getattr(value, name), each) for name, each in _hints(kind).items()]
        return [kind.__name__, *row] if len(_records(hint)) > 1 else row
    assert kind is tuple, f"a {kind.__name__} is no record"
    items = cast(tuple[object, ...], value)
    return [encoded(item, each) for item, each in zip(items, _items(hint, items), strict=True)]


def _items(hint: Any, items: tuple[object, ...]) -> list[Any]:
    """The type of each item of a tuple."""
    kinds: list[Any] = [each for each in _options(hint) if typing.get_origin(each) is tuple]
    (args,) = {typing.get_args(kind) for kind in kinds}
    return [args[0]] * len(items) if args[-1] is Ellipsis else list(args)


# --- types ----------------------------------------------------------------------------------------


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and (is_dataclass(cast(Any, kind)) or hasattr(kind, "_fields"))


@cache
def _hints(kind: type) -> dict[str, Any]:
    """The types of a record's fields, in their order."""
    return typing.get_type_hints(kind)


@cache
def _options(hint: Any) -> tuple[Any, ...]:
    """The members of a union; a type is one of its own."""
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        return tuple(option for member in typing.get_args(hint) for option in _options(member))
    return (int,) if isinstance(hint, TypeVar) else (hint,)  # numbers of stores are words


@cache
def _records(hint: Any) -> tuple[type, ...]:
    """The records that a field of this type may be."""
    kinds = (typing.get_origin(option) or option for option in _options(hint))
    return tuple(kind for kind in kinds if _is_record(kind))


# --- reading --------------------------------------------------------------------------------------


def decoded(kind: type[T], value: object) -> T:
    """The record of this type; `RecordError` if `value` is none."""
    try:
        return _reader(kind)(value)
    except RecursionError:
        raise RecordError(kind.__name__, "records inside each other without end") from None


@cache
def _reader(hint: Any) -> Reader:
    options = _options(hint)
    records = _records(hint)
    plain = tuple(option for option in options if option in (*SCALARS, types.NoneType))
    if plain and not records and len(plain) == len(options):
        return _scalar(plain)
    if len(options) == 1 and not records:
        return _single(hint)
    optional = types.NoneType in options
    if not records:
        (inner,) = (option for option in options if option is not types.NoneType)
        return _optional(_reader(inner))
    read = _record(records[0]) if len(records) == 1 else _one_of(records)
    return _optional(read) if optional else read


def _single(hint: Any) -> Reader:
    origin = typing.get_origin(hint) or hint
    if origin is np.dtype:
        return _dtype
    assert origin is tuple, f"{hint} is no type of a record's field"
    args = typing.get_args(hint)
    if args[-1] is Ellipsis:
        item = _Later(args[0])
        return lambda value: tuple([item(each) for each in _list(value)])
    readers = tuple(map(_Later, args))
    return lambda value: tuple(
        [read(each) for read, each in zip(readers, _list(value, len(readers)), strict=True)]
    )


class _Later:
    """The reader of a type, made when it is first used: records may hold their own kind."""

    __slots__ = ("_hint", "_read")

    def __init__(self, hint: Any) -> None:
        self._hint = hint
        self._read: Reader | None = None

    def __call__(self, value: Any) -> Any:
        if self._read is None:
            self._read = _reader(self._hint)
        return self._read(value)


def _scalar(kinds: tuple[type, ...]) -> Reader:
    allowed = frozenset(kinds)

    def read(value: Any) -> Any:
        if type(value) not in allowed:
            raise RecordError(" or ".join(sorted(kind.__name__ for kind in allowed)), value)
        return value

    return read


def _optional(read: Reader) -> Reader:
    return lambda value: None if value is None else read(value)


def _record(kind: type) -> Reader:
    readers = tuple(map(_Later, _hints(kind).values()))
    count = len(readers)

    def read(value: Any) -> Any:
        row = _list(value, count)
        return kind(*[each(item) for each, item in zip(readers, row, strict=True)])

    return read


def _one_of(kinds: tuple[type, ...]) -> Reader:
    readers = {kind.__name__: _record(kind) for kind in kinds}

    def read(value: Any) -> Any:
        row = _list(value)
        reader = readers.get(row[0]) if row and isinstance(row[0], str) else None
        if reader is None:
            raise RecordError(" or ".join(readers), value)
        return reader(row[1:])

    return read


def _list(value: Any, length: int | None = None) -> list[Any]:
    items = cast(list[Any], value) if type(value) is list else None
    if items is None or (length is not None and len(items) != length):
        raise RecordError("a list" if length is None else f"{length} items", cast(object, value))
    return items


_DTYPES: Final[Mapping[str, np.dtype[Any]]] = {
    np.dtype(kind).name: np.dtype(kind)
    for kind in (*"?bhilqBHILQefdFD", ml_dtypes.bfloat16, *(ml_dtypes.int4, ml_dtypes.uint4))
}
"""No objects, no structures: memory of a file is read as numbers."""


def _dtype(value: Any) -> np.dtype[Any]:
    found = _DTYPES.get(_scalar((str,))(value))
    if found is None:
        raise RecordError("an element type", value)
    return found
