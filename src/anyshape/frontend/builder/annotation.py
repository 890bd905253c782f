"""What the annotations of a function say about its parameters.

A parameter is a tensor (`ash.f32["batch", 64]` or jaxtyping's form), a container of such (a dict,
list or tuple of annotations, or a NamedTuple or dataclass whose fields are annotated), or *static*:
annotated with bool, int, float, str or a Literal, or not annotated with a default of those types.
A static value is part of the program: each distinct one is traced by itself.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
import types
import typing
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from anyshape.base.errors import AnyshapeError, TraceError
from anyshape.base.location import Location
from anyshape.frontend.builder.jaxtyping_form import (
    UnsupportedFormError,
    is_jaxtyping,
    tensor_type,
)
from anyshape.frontend.builder.pytree import LEAF, Branch, Structure, is_named_tuple, join
from anyshape.frontend.builder.ragged_value import Ragged
from anyshape.frontend.builder.suggest import suggestion
from anyshape.ir.types import DType, RaggedType, TensorType

StaticValue = bool | int | float | str | None
STATIC_TYPES = (bool, int, float, str, type(None))


@dataclass(frozen=True, slots=True)
class Static:
    """A parameter whose value is part of the program."""

    types: tuple[type, ...]


LeafType = TensorType | Static


@dataclass(frozen=True, slots=True)
class Parameters:
    """All parameters as one container: its structure, and path and type of every leaf."""

    structure: Branch
    leaves: tuple[tuple[str, LeafType], ...]

    @property
    def tensors(self) -> tuple[tuple[str, TensorType], ...]:
        return tuple((path, t) for path, t in self.leaves if isinstance(t, TensorType))

    @property
    def statics(self) -> tuple[str, ...]:
        """Paths of the static leaves."""
        return tuple(path for path, type_ in self.leaves if isinstance(type_, Static))


def parameters_of(function: Callable[..., Any], given: Mapping[str, object]) -> Parameters:
    """The declared parameters; `given` are arguments, if any, for suggestions in messages."""
    reader = _Reader(function)
    children: list[Structure] = []
    leaves: list[tuple[str, LeafType]] = []
    signature = inspect.signature(function)
    for parameter in signature.parameters.values():
        structure, found = reader.parameter(parameter, given)
        children.append(structure)
        leaves.extend(found)
    return Parameters(Branch(dict, tuple(signature.parameters), tuple(children)), tuple(leaves))


Flat = tuple[Structure, list[tuple[str, LeafType]]]


class _Reader:
    """Reads the annotations of one function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        plain = inspect.unwrap(function)
        plain = getattr(plain, "__func__", plain)
        code = getattr(plain, "__code__", None)
        self.name = getattr(function, "__name__", type(function).__name__)
        self.location = Location(code.co_filename, code.co_firstlineno) if code else None
        self.names = {**getattr(plain, "__globals__", {}), **_closure(plain)}

    def refuse(self, problem: str, fix: str) -> TraceError:
        return TraceError(self.name, problem, fix, self.location)

    def parameter(self, parameter: inspect.Parameter, given: Mapping[str, object]) -> Flat:
        name = parameter.name
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise self.refuse(
                f"parameter '{parameter}' takes any number of arguments",
                f"use one parameter with a tuple or dict annotation: {name}: (ash.f32[None], ...)",
            )
        if parameter.annotation is not parameter.empty:
            return self.flat(name, self.evaluated(name, parameter.annotation, self.names))
        if parameter.default is not parameter.empty and type(parameter.default) in STATIC_TYPES:
            return LEAF, [(name, Static(STATIC_TYPES))]
        shown = suggestion(given[name]) if name in given else 'ash.f32["batch", 64]'
        raise self.refuse(f"parameter '{name}' has no annotation", f"declare it: {name}: {shown}")

    def evaluated(self, path: str, annotation: object, names: Mapping[str, Any]) -> object:
        """Annotations are text under `from __future__ import annotations`."""
        if not isinstance(annotation, str):
            return annotation
        try:
            return eval(annotation, dict(names))
        except AnyshapeError:
            raise
        except Exception as error:
            raise self.refuse(
                f"the annotation of '{path}', {annotation}, cannot be evaluated: {error}",
                "define the names it uses at the top of the module",
            ) from error

    def flat(self, path: str, annotation: object) -> Flat:
        """The leaves of one annotation."""
        leaf = self.leaf(path, annotation)
        if leaf is not None:
            return LEAF, [(path, leaf)]
        kind, entries = self.container(path, annotation)
        parts = [self.flat(join(path, key), value) for key, value in entries.items()]
        structure = Branch(kind, tuple(entries), tuple(child for child, _ in parts))
        return structure, [leaf for _, leaves in parts for leaf in leaves]

    def leaf(self, path: str, annotation: object) -> LeafType | None:
        if isinstance(annotation, TensorType):
            return annotation
        if is_jaxtyping(annotation):
            try:
                return tensor_type(annotation)
            except UnsupportedFormError as error:
                raise self.refuse(f"parameter '{path}': {error.problem}", error.fix) from None
        if isinstance(annotation, DType):
            raise self.refuse(
                f"parameter '{path}' has an element type but no shape",
                f"write ash.{annotation}[()] for a scalar, ash.{annotation}[None] for a vector",
            )
        allowed = tuple(_static_types(annotation))
        return Static(allowed) if allowed else None

    def container(self, path: str, annotation: object) -> tuple[type, dict[Hashable, object]]:
        """The class and the annotated children of a container."""
        if annotation is None:
            return type(None), {}
        if isinstance(annotation, RaggedType):
            return Ragged, {"values": annotation.values, "offsets": annotation.offsets}
        if isinstance(annotation, dict):
            return dict, cast(dict[Hashable, object], annotation)
        if isinstance(annotation, (list, tuple)):
            items = cast(tuple[object, ...], annotation)
            return type(items), dict(enumerate(items))
        if isinstance(annotation, type) and _has_fields(annotation):
            return annotation, self.fields(path, annotation)
        raise self.refuse(
            f"parameter '{path}' is annotated with {_text(annotation)}, which says no shape",
            f'declare it: {path.partition(".")[0]}: ash.f32["batch", 64]',
        )

    def fields(self, path: str, kind: type) -> dict[Hashable, object]:
        module = sys.modules.get(kind.__module__)
        names = {**self.names, **(vars(module) if module else {})}
        declared: dict[str, object] = {}
        for base in reversed(kind.__mro__):
            declared.update(inspect.get_annotations(base))
        return {
            field: self.evaluated(join(path, field), _unwrapped(value), names)
            for field, value in declared.items()
        }


def _unwrapped(annotation: object) -> object:
    """NamedTuple wraps text annotations in forward references."""
    return getattr(annotation, "__forward_arg__", annotation)


def _closure(function: object) -> dict[str, object]:
    """Names of the functions around, as far as the function uses them."""
    code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None)
    found: dict[str, object] = {}
    for name, cell in zip(code.co_freevars if code else (), cells or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return found


def _has_fields(kind: type) -> bool:
    return is_named_tuple(kind) or dataclasses.is_dataclass(kind)


def _static_types(annotation: object) -> Iterator[type]:
    """The static types that an annotation allows: int, `int | None`, Literal[1, 2]."""
    if isinstance(annotation, type) and annotation in STATIC_TYPES[:4]:
        yield annotation
    origin = typing.get_origin(annotation)
    if origin is typing.Literal:
        yield from {type(value) for value in typing.get_args(annotation)}
    elif origin is typing.Union or origin is types.UnionType:
        for option in typing.get_args(annotation):
            yield from (option,) if option is type(None) else _static_types(option)


def _text(annotation: object) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)
