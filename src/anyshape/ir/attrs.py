"""Typed attributes of ops.

Each op has one frozen dataclass that derives from `Attrs`. Its field types are the schema: they
check values when a node is made, tell the parser what to read, and let symbols be replaced inside
attributes without knowing the op. The closed set of value types is `AttrValue`.
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from functools import cache
from typing import Any, TypeVar, cast

from anyshape.base.errors import AttributeValueError
from anyshape.ir.literal import TensorLiteral, WeightRef
from anyshape.ir.types import DType
from anyshape.sym import Dim, Symbol

AttrScalar = bool | int | float | str | DType | Dim | TensorLiteral | WeightRef
AttrValue = AttrScalar | None | tuple["AttrValue", ...]


@dataclass(frozen=True)
class Attrs:
    """Base of all attribute records; itself the record of ops without attributes."""


A = TypeVar("A", bound=Attrs)

NO_ATTRS = Attrs()


@cache
def schema(record: type[Attrs]) -> Mapping[str, Any]:
    """Field name -> declared type, in order."""
    hints = typing.get_type_hints(record)
    return {field.name: hints[field.name] for field in fields(record)}


def items(attrs: Attrs) -> Iterator[tuple[str, AttrValue]]:
    for name in schema(type(attrs)):
        yield name, getattr(attrs, name)


def non_default_items(attrs: Attrs) -> Iterator[tuple[str, AttrValue]]:
    """What must be printed."""
    for field in fields(attrs):
        value = getattr(attrs, field.name)
        if field.default is MISSING or value != field.default:
            yield field.name, value


def make_attrs(op: str, record: type[A], values: Mapping[str, object]) -> A:
    """A record from loose values: lists become tuples, integers and names become dims."""
    known = schema(record)
    for name in values:
        if name not in known:
            raise AttributeValueError(op, name, "is unknown", tuple(known))
    for field in fields(record):
        if field.default is MISSING and field.name not in values:
            raise AttributeValueError(op, field.name, "is missing", tuple(known))
    fitted = {name: _fit_field(op, record, name, value) for name, value in values.items()}
    return record(**cast(Any, fitted))


def check_attrs(op: str, attrs: Attrs) -> None:
    """Refuses a record whose fields do not have their declared types."""
    for name, value in items(attrs):
        if not _identical(_fit_field(op, type(attrs), name, value), value):
            hint = schema(type(attrs))[name]
            problem = f"must be {hint_text(hint)}, got {value!r}"
            raise AttributeValueError(op, name, problem, tuple(schema(type(attrs))))


def _identical(fitted: AttrValue, value: AttrValue) -> bool:
    """Equal and of the same types: the integer 3 is not the dim 3."""
    if type(fitted) is not type(value):
        return False
    if isinstance(fitted, tuple) and isinstance(value, tuple):
        return all(map(_identical, fitted, value))
    return fitted is value or fitted == value


def _fit_field(op: str, record: type[Attrs], name: str, value: object) -> AttrValue:
    hint = schema(record)[name]
    try:
        return fit(hint, value)
    except (TypeError, ValueError):
        problem = f"must be {hint_text(hint)}, got {value!r}"
        raise AttributeValueError(op, name, problem, tuple(schema(record))) from None


def fit(hint: Any, value: object) -> AttrValue:
    """`value` as an instance of the declared type, or TypeError."""
    origin = typing.get_origin(hint)
    if origin is types.UnionType or origin is typing.Union:
        return _fit_union(typing.get_args(hint), value)
    if origin is typing.Literal:
        if value in typing.get_args(hint):
            return cast(str, value)
        raise TypeError
    if origin is tuple:
        return _fit_tuple(typing.get_args(hint), value)
    return _fit_scalar(hint, value)


def _fit_union(options: tuple[Any, ...], value: object) -> AttrValue:
    for option in options:
        if value is None and option is types.NoneType:
            return None
        try:
            return fit(option, value)
        except TypeError:
            continue
    raise TypeError


def _fit_tuple(args: tuple[Any, ...], value: object) -> AttrValue:
    if not isinstance(value, (tuple, list)):
        raise TypeError
    values = cast(tuple[object, ...], tuple(cast(Any, value)))
    if len(args) == 2 and args[1] is Ellipsis:
        return tuple(fit(args[0], item) for item in values)
    if len(args) != len(values):
        raise TypeError
    return tuple(fit(arg, item) for arg, item in zip(args, values, strict=True))


def _fit_scalar(hint: type, value: object) -> AttrScalar:
    if hint is Dim and isinstance(value, (int, str, Symbol, Dim)) and not isinstance(value, bool):
        return Dim.of(value)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if hint is int and isinstance(value, Dim) and value.constant is not None:
        return value.constant
    if isinstance(value, hint) and not (isinstance(value, bool) and hint is not bool):
        return cast(AttrScalar, value)
    raise TypeError


def hint_text(hint: Any) -> str:
    """The declared type in words for messages."""
    if typing.get_origin(hint) is typing.Literal:
        return " or ".join(str(option) for option in typing.get_args(hint))
    if typing.get_origin(hint) is None and isinstance(hint, type):
        return hint.__name__
    return re.sub(r"(\w+\.)+(?=\w)", "", str(hint))


# --- symbols inside attributes --------------------------------------------------------------------


def attr_dims(attrs: Attrs) -> Iterator[Dim]:
    """Every dim that occurs in a record."""
    for _, value in items(attrs):
        yield from _dims_in(value)


def _dims_in(value: AttrValue) -> Iterator[Dim]:
    if isinstance(value, Dim):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _dims_in(item)


def map_dims(attrs: A, change: Callable[[Dim], Dim]) -> A:
    """The record with `change` applied to every dim; the same object when nothing changes."""
    changed = {name: new for name, old in items(attrs) if (new := _map_value(old, change)) != old}
    return replace(attrs, **cast(Any, changed)) if changed else attrs


def _map_value(value: AttrValue, change: Callable[[Dim], Dim]) -> AttrValue:
    if isinstance(value, Dim):
        return change(value)
    if isinstance(value, tuple):
        return tuple(_map_value(item, change) for item in value)
    return value
