"""Names of sizes in a model: where they are, which of them an error is about, and whether what the
model declares of other tensors than its inputs is so.

A name is one size in the whole graph, says the standard. Models break that. A session then takes
the broken names apart (`apart_for`); strictly, it is an error that names both tensors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from anyshape.base.errors import (
    AxisNameConflictError,
    FactConflictError,
    InvalidModelError,
    RequirementError,
    ShapeError,
    SizeNameError,
)
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.frontend.onnx.input_shapes import InputInfo, declared_sizes, input_infos, size_dim
from anyshape.frontend.onnx.model_file import ModelFile
from anyshape.ir.types import Shape
from anyshape.sym import Dim, Equal


def places_of_names(infos: Sequence[InputInfo]) -> dict[str, list[str]]:
    """The axes of inputs that have each name, alone or within an expression."""
    found: dict[str, list[str]] = {}
    for info in infos:
        for axis, size in enumerate(info.shape):
            for symbol in size_dim(size).symbols if isinstance(size, str) else ():
                found.setdefault(symbol.name, []).append(_place(info.name, axis))
    return found


def all_names(file: ModelFile) -> frozenset[str]:
    return frozenset(places_of_names(input_infos(file)))


def _place(tensor: str, axis: int) -> str:
    return f"axis {axis} of '{tensor}'"


def names_in(error: ShapeError, names: Sequence[str]) -> frozenset[str]:
    """Those that a contradiction is about."""
    match error:
        case SizeNameError():
            texts: tuple[Any, ...] = (error.name,)
        case RequirementError():
            texts = (error.requirement,)
        case AxisNameConflictError():
            texts = (error.left, error.right)
        case FactConflictError():
            texts = (error.new, error.old)
        case _:
            texts = error.args
    whole = " ".join(map(str, texts))
    return frozenset(n for n in names if re.search(rf"(?<![\w.]){re.escape(n)}(?![\w.])", whole))


def apart_for(error: ShapeError, file: ModelFile, apart: frozenset[str]) -> frozenset[str]:
    """The names that mean nothing after a contradiction: those before, and those that it is about,
    or all where it does not tell. None, if none is left to be taken apart."""
    left = sorted(all_names(file) - apart)
    return apart | (names_in(error, left) or frozenset(left)) if left else frozenset()


def in_words_of_names(error: ShapeError, file: ModelFile) -> ShapeError:
    """An error that says of which tensors a name is the size, if they are several."""
    if not isinstance(error, (RequirementError, FactConflictError)):
        return error
    places = places_of_names(input_infos(file))
    for name in sorted(names_in(error, list(places))):
        if len(places[name]) > 1:
            first, second, *_ = places[name]
            return SizeNameError(name, first, second, str(error))
    return error


# --- declarations ---------------------------------------------------------------------------------


def require_declared(
    file: ModelFile, infos: Sequence[InputInfo], shapes: Sequence[Shape], values: Mapping[str, Any]
) -> None:
    """Strictly: each size that the model declares of what it computes is the one that inference
    finds, and a name is the same size everywhere. What cannot be told now is checked by calls."""
    known = _Known()
    for info, shape in zip(infos, shapes, strict=True):
        for axis, (size, dim) in enumerate(zip(info.shape, shape, strict=True)):
            if isinstance(size, str) and size_dim(size).symbol is not None:
                known.meets(size, dim, _place(info.name, axis))
    for value in (*file.proto.graph.value_info, *file.proto.graph.output):
        found, type_ = values.get(value.name), value.type.tensor_type
        if not isinstance(found, Tensor) or not type_.HasField("shape"):
            continue
        sizes = declared_sizes(type_.shape)
        if len(sizes) != found.ndim:
            problem = f"declares '{value.name}' with {len(sizes)} axes, and it has {found.ndim}"
            raise InvalidModelError(file.name, problem, "export the model again")
        for axis, (size, dim) in enumerate(zip(sizes, found.shape, strict=True)):
            if size is not None:
                known.meets(size, dim, _place(value.name, axis))


class _Known:
    """The sizes that names have, each with the place where it was first met."""

    def __init__(self) -> None:
        self.dims: dict[str, tuple[Dim, str]] = {}

    def meets(self, size: int | str, dim: Dim, place: str) -> None:
        wanted, first = self._wanted(size)
        if wanted is None:
            self.dims[str(size)] = dim, place
            return
        try:
            why = f"the size '{size}' is that of {first} and of {place}"
            active().require(Equal(dim, wanted), why)
        except ShapeError as error:
            raise SizeNameError(str(size), first, place, str(error)) from None

    def _wanted(self, size: int | str) -> tuple[Dim | None, str]:
        """What a declaration means so far, and whose size that is."""
        if isinstance(size, int):
            return Dim.of(size), "its declaration"
        if size in self.dims:
            return self.dims[size]
        dim = size_dim(size)
        parts = {s: self.dims[s.name] for s in dim.symbols if s.name in self.dims}
        if dim.symbol is not None or len(parts) < len(dim.symbols):
            return None, ""
        places = ", ".join(dict.fromkeys(place for _, place in parts.values()))
        return dim.substitute({symbol: found for symbol, (found, _) in parts.items()}), places
