"""Kernels that differ from a given one in a single field of a single part."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from anyshape.ir.types import DType, f16, f32
from anyshape.loop import Buffer, Kernel, Local
from anyshape.loop.ir import Ahead
from anyshape.sym import Axis, Dim, Symbol
from anyshape.sym.facts import Fact
from anyshape.sym.predicate import Predicate

IMPLIED = {(Local, "dtype"), (Fact, "origin"), (Fact, "words"), (Fact, "where")}
"""What other parts say already, and provenance, which code does not depend on.

The buffer of an access is one of the kernel's: its name says all of it.
"""

DECLARED = ("kernel.Kernel.buffers", "kernel.Kernel.scratch")


def mutations(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """Where the change is, and the changed kernel."""
    yield from _changed(kernel, "kernel")


def _changed(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    match value:
        case None:
            yield place, Ahead(Dim.of(64), Dim.of(0), Dim.of(1))  # nothing else may be left out
        case bool():
            yield place, not value
        case int():
            yield place, value + 1
        case str():
            yield place, value + "0"
        case Dim():
            yield place, value + 1
        case Symbol():
            yield place, Symbol(value.name + "0")
        case DType():
            yield place, f16 if value is f32 else f32
        case Axis():
            more = Axis(value.name, min=value.min + 1), Axis(value.name, multiple_of=7)
            yield from ((place, axis) for axis in more)
        case tuple():
            yield from _tuple_changed(value, place)
        case _ if isinstance(value, Predicate):
            yield place, value.substitute({s: Dim.of(s) + 1 for s in value.symbols})
        case _:
            assert dataclasses.is_dataclass(value), f"{place}: {value!r}"
            yield from _fields_changed(value, place)


def _tuple_changed(value: tuple[Any, ...], place: str) -> Iterator[tuple[str, Any]]:
    if value:
        yield f"{place} shorter", value[:-1]
    for number, item in enumerate(value):
        for where, changed in _changed(item, f"{place}[{number}]"):
            yield where, (*value[:number], changed, *value[number + 1 :])


def _given_fields(value: Any) -> list[dataclasses.Field[Any]]:
    """Those that make the value what it is; others only remember something about it."""
    return [field for field in dataclasses.fields(value) if field.init]


def _fields_changed(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    kind = type(value)
    names_only = kind is Buffer and not place.startswith(DECLARED)
    for field in _given_fields(value):
        if (kind, field.name) not in IMPLIED and (field.name == "name" or not names_only):
            inner = f"{place}.{kind.__name__}.{field.name}"
            for where, changed in _changed(getattr(value, field.name), inner):
                yield where, dataclasses.replace(value, **{field.name: changed})
