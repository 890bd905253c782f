"""What an entry of the importer's table sees, and the table itself.

An entry is a function registered under the name of one op, from one opset version on. Its
positional parameters are the op's inputs, its keywords the op's attributes with their types and
defaults:

    @entry("LeakyRelu")
    def leaky_relu(call: Call, x: Tensor, *, alpha: float = 0.01) -> Tensor: ...

A keyword that is a dataclass stands for all of its fields: attributes that several ops have alike.
Inputs are traced tensors, or None for one that is left out; a sequence is a list of tensors. What a
node gives that the signature does not have is refused by name. Entries say what an op means in
terms of the builder's functions; they know nothing of kernels.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from types import NoneType
from typing import Any, TypeVar, get_args

import numpy as np
from onnx import AttributeProto

from anyshape.base.errors import InvalidModelError
from anyshape.ir.types import Array

Entry = Callable[..., Any]
E = TypeVar("E", bound=Entry)


class Body(ABC):
    """A graph inside a node: a branch, or the body of a loop. It sees the values around it."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @abstractmethod
    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        """Its results for these inputs, traced where it is called."""


class Empty:
    """What an optional holds that holds nothing."""


EMPTY = Empty()


class TypeOf:
    """A type in an attribute."""


@dataclass(frozen=True)
class Call:
    """One node of a model."""

    op: str
    name: str
    version: int  # of the opset that it belongs to
    outputs: tuple[str, ...]  # empty for those that nobody reads
    model: str

    def wants(self, number: int) -> bool:
        """Whether an output is read, or may be."""
        return number < len(self.outputs) and bool(self.outputs[number])

    def invalid(self, problem: str) -> InvalidModelError:
        return InvalidModelError(self.model, f"{self} {problem}", "export the model again")

    def __str__(self) -> str:
        named = f" '{self.name}'" if self.name else ""
        return f"{self.op}{named} -> {', '.join(filter(None, self.outputs)) or 'nothing'}"


@dataclass(frozen=True)
class OpEntry:
    """An entry, and what its signature says."""

    since: int
    function: Entry
    required: int
    needed: frozenset[int]  # inputs that may not be left out
    most: int | None  # None: any number of inputs
    attributes: Mapping[str, type]
    compulsory: frozenset[str]  # attributes without a default
    records: Mapping[str, tuple[type, frozenset[str]]]  # keywords that hold several attributes
    floats: Mapping[str, float]  # defaults as an attribute would hold them

    @staticmethod
    def of(function: Entry, since: int) -> OpEntry:
        _, *rest = _parameters(function)
        inputs = [p for p in rest if p.kind is p.POSITIONAL_OR_KEYWORD]
        keywords = [p for p in rest if p.kind is p.KEYWORD_ONLY]
        records = {p.name: p.annotation for p in keywords if _is_record(p.annotation)}
        fields = {name: _parameters(each) for name, each in records.items()}
        words = [each for p in keywords for each in fields.get(p.name, [p])]
        many = any(p.kind is p.VAR_POSITIONAL for p in rest)
        return OpEntry(
            since,
            function,
            sum(p.default is p.empty for p in inputs),
            frozenset(n for n, p in enumerate(inputs) if p.default is p.empty and not _may_lack(p)),
            None if many else len(inputs),
            {p.name: _without_none(p.annotation) for p in words},
            frozenset(p.name for p in words if p.default is p.empty),
            {
                name: (each, frozenset(field.name for field in fields[name]))
                for name, each in records.items()
            },
            {p.name: _single(p.default) for p in words if isinstance(p.default, float)},
        )

    def __call__(self, call: Call, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
        self._check(call, inputs, attributes)
        rest, held = {**self.floats, **attributes}, dict[str, Any]()
        for name, (record, fields) in self.records.items():
            held[name] = record(**{field: rest.pop(field) for field in fields & rest.keys()})
        return self.function(call, *inputs, **rest, **held)

    def _check(self, call: Call, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> None:
        too_many = self.most is not None and len(inputs) > self.most
        if too_many or len(inputs) < self.required:
            raise call.invalid(f"has {len(inputs)} inputs")
        if any(inputs[number] is None for number in self.needed):
            raise call.invalid("lacks an input that it cannot do without")
        if missing := sorted(self.compulsory - attributes.keys()):
            raise call.invalid(f"lacks the attribute '{missing[0]}'")


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(function, eval_str=True).parameters.values())


def _is_record(annotation: Any) -> bool:
    return is_dataclass(annotation)


def _may_lack(parameter: inspect.Parameter) -> bool:
    return NoneType in get_args(parameter.annotation)


def _without_none(annotation: Any) -> type:
    kinds = [each for each in get_args(annotation) if each is not NoneType]
    optional = NoneType in get_args(annotation)
    return kinds[0] if optional else annotation


def _single(number: float) -> float:
    """The nearest that 32 bits hold: attributes have no more, and results in 64 bits show it."""
    return float(np.float32(number))


TABLE: dict[tuple[str, str], list[OpEntry]] = {}
"""Entries by domain and op, in the order of the versions that they begin with."""


def entry(*names: str, since: int = 1, domain: str = "") -> Callable[[E], E]:
    """Registers an entry under one op, or several alike, from a version on."""

    def add(function: E) -> E:
        made = OpEntry.of(function, since)
        for name in names:
            known = TABLE.setdefault((domain, name), [])
            if any(each.since == since for each in known):
                raise ValueError(f"'{name}' has two entries from version {since} on")
            known.append(made)
            known.sort(key=lambda each: each.since)
        return function

    return add


def entry_for(domain: str, op: str, version: int) -> OpEntry | None:
    """The entry that is valid at a version."""
    fitting = [each for each in TABLE.get((domain, op), ()) if each.since <= version]
    return fitting[-1] if fitting else None


# --- attributes -----------------------------------------------------------------------------------

_KIND = AttributeProto


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


KINDS: dict[Any, tuple[int, Callable[[Any], Any]]] = {
    int: (_KIND.INT, lambda a: a.i),
    float: (_KIND.FLOAT, lambda a: a.f),
    str: (_KIND.STRING, lambda a: _text(a.s)),
    tuple[int, ...]: (_KIND.INTS, lambda a: tuple(a.ints)),
    tuple[float, ...]: (_KIND.FLOATS, lambda a: tuple(a.floats)),
    tuple[str, ...]: (_KIND.STRINGS, lambda a: tuple(map(_text, a.strings))),
    Array: (_KIND.TENSOR, lambda a: a.t),
    Body: (_KIND.GRAPH, lambda a: a.g),
    TypeOf: (_KIND.TYPE_PROTO, lambda a: a.tp),
}
"""How an attribute of a type is stored, and read."""
