"""The arguments of a call, sorted into arrays and static values and checked against the
annotations. Sizes are checked later, all at once, when the binding is solved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from anyshape.base.errors import DTypeError, TraceError
from anyshape.frontend.builder.annotation import Parameters, Static, StaticValue
from anyshape.frontend.builder.arrays import as_array, is_array
from anyshape.frontend.builder.pytree import StructureMismatchError, leaves_along
from anyshape.ir.types import Array, TensorType, dtype_of


@dataclass(frozen=True, slots=True)
class Arguments:
    """The leaves of a call, in the order of the parameters."""

    arrays: tuple[Array, ...]
    statics: tuple[StaticValue, ...]


def sort_arguments(function: str, parameters: Parameters, given: Mapping[str, object]) -> Arguments:
    """The leaves of the arguments; those that do not fit their annotations are refused."""
    try:
        leaves = list(leaves_along(parameters.structure, dict(given)))
    except StructureMismatchError as error:
        raise TraceError(
            function,
            f"argument '{error.path}' has {error.found}, declared with {error.expected}",
            "pass containers that are built like the annotation",
        ) from None
    arrays: list[Array] = []
    statics: list[StaticValue] = []
    for leaf, (path, type_) in zip(leaves, parameters.leaves, strict=True):
        if isinstance(type_, Static):
            statics.append(_static(function, path, type_, leaf))
        else:
            arrays.append(_array(function, path, type_, leaf))
    return Arguments(tuple(arrays), tuple(statics))


def _static(function: str, path: str, declared: Static, leaf: object) -> StaticValue:
    fits = type(leaf) in declared.types or (float in declared.types and type(leaf) is int)
    if fits and isinstance(leaf, (bool, int, float, str, type(None))):
        return leaf
    allowed = " or ".join(sorted(kind.__name__ for kind in declared.types))
    raise TraceError(
        function,
        f"static argument '{path}' is a {type(leaf).__name__}, declared {allowed}",
        f"pass {allowed}, or annotate '{path}' as a tensor",
    )


def _array(function: str, path: str, type_: TensorType, leaf: object) -> Array:
    if isinstance(leaf, (bool, int, float)) and type_.rank == 0:
        return _scalar(path, type_, leaf)
    if not is_array(leaf):
        raise TraceError(
            function,
            f"argument '{path}' is a {type(leaf).__name__}, declared {type_}",
            f"pass np.asarray({path}, '{type_.dtype.numpy}')",
        )
    array = as_array(leaf)
    found = dtype_of(array, f"input '{path}'")
    if found != type_.dtype:
        raise _wrong_dtype(path, type_, str(found))
    return array


def _scalar(path: str, type_: TensorType, number: float) -> Array:
    """A Python number for a tensor of rank 0, if it loses nothing but precision."""
    order = {"bool": 0, "uint": 1, "int": 1, "float": 2}
    kind = {bool: 0, int: 1, float: 2}[type(number)]
    if kind > order[type_.dtype.kind]:
        raise _wrong_dtype(path, type_, f"the {type(number).__name__} {number}")
    return np.asarray(number, type_.dtype.numpy)


def _wrong_dtype(path: str, type_: TensorType, found: str) -> DTypeError:
    fix = f"pass {path}.astype('{type_.dtype.numpy}'), or declare ash.{found}"
    if found.startswith("the "):
        fix = f"pass a number that {type_.dtype} can hold"
    return DTypeError(f"input '{path}'", str(type_.dtype), found, fix)


def owned(result: Array) -> Array:
    """A result with memory of its own: the evaluator may give views of inputs and constants."""
    return np.array(result)
