"""Texts of a file as what they are: types, dims, facts."""

from __future__ import annotations

from typing import cast, get_args

from anyshape.base.lexer import Cursor
from anyshape.base.location import Location
from anyshape.ir.checks import CheckKind, ValueCheck
from anyshape.ir.text.values import read_dtype, read_shape
from anyshape.ir.types import TensorType
from anyshape.saved.records import PlaceRecord, SizesRecord, ValueCheckRecord
from anyshape.sym import BindingPlan, Dim, Facts, Symbol, read_dim, read_facts


def type_of(text: str) -> TensorType:
    cursor = Cursor(text)
    return TensorType(read_dtype(cursor), read_shape(cursor) if cursor.at("[") else ())


def dims_of(texts: tuple[str, ...]) -> tuple[Dim, ...]:
    return tuple(read_dim(Cursor(text)) for text in texts)


def facts_of(text: str) -> Facts:
    return read_facts(Cursor(text))


def symbols_of(names: tuple[str, ...]) -> tuple[Symbol, ...]:
    return tuple(map(Symbol, names))


def plan_of(sizes: SizesRecord) -> BindingPlan:
    inputs = [(name, dims_of(shape)) for name, shape in sizes.inputs]
    return BindingPlan.make(inputs, facts_of(sizes.facts), frozenset(symbols_of(sizes.late)))


def place_of(record: PlaceRecord | None) -> Location | None:
    return Location(record.file, record.line) if record else None


def check_of(record: ValueCheckRecord) -> ValueCheck:
    kind, shape = record.kind, dims_of(record.shape)
    assert kind in get_args(CheckKind), f"there is no check of {kind}"
    place = place_of(record.place)
    known = cast(CheckKind, kind)
    return ValueCheck(known, record.op, place, shape, record.axis, record.from_end)
