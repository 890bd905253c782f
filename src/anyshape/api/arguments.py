"""The arguments of a call, sorted into arrays and static values and checked against the
annotations. Sizes are checked later, all at once, when the binding is solved."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from anyshape.base.errors import DTypeError, TraceError
from anyshape.frontend.builder.annotation import Parameters, Static, StaticValue
from anyshape.frontend.builder.arrays import is_array
from anyshape.frontend.builder.pytree import StructureMismatchError, leaves_along
from anyshape.ir.types import TensorType, dtype_of

_PLAIN = inspect.Parameter.POSITIONAL_OR_KEYWORD


@dataclass(frozen=True, slots=True)
class Arguments:
    """The leaves of a call, in the order of the parameters."""

    arrays: tuple[Any, ...]  # NumPy's or other libraries'
    statics: tuple[StaticValue, ...]


class Binder:
    """Arguments by name, as `inspect.Signature.bind` does it but several times as fast."""

    def __init__(self, signature: inspect.Signature) -> None:
        parameters = signature.parameters.values()
        self._signature = signature
        self._in_order = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, _PLAIN)]
        self._by_name = {p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, _PLAIN)}
        self._defaults = {p.name: p.default for p in parameters if p.default is not p.empty}

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Every parameter with its argument or default; `TypeError` as Python would raise it."""
        given = dict(zip(self._in_order, args, strict=False))
        fits = len(given) == len(args) and not given.keys() & kwargs.keys()
        if fits and kwargs.keys() <= self._by_name:
            bound = {**self._defaults, **given, **kwargs}
            if len(bound) == len(self._signature.parameters):
                return bound
        slowly = self._signature.bind(*args, **kwargs)  # it knows what to say
        slowly.apply_defaults()
        return slowly.arguments


def sort_arguments(function: str, parameters: Parameters, given: dict[str, Any]) -> Arguments:
    """The leaves of the arguments; those that do not fit their annotations are refused."""
    try:
        leaves = leaves_along(parameters.structure, given)
    except StructureMismatchError as error:
        raise TraceError(
            function,
            f"argument '{error.path}' has {error.found}, declared with {error.expected}",
            "pass containers that are built like the annotation",
        ) from None
    arrays: list[object] = []
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


def _array(function: str, path: str, type_: TensorType, leaf: object) -> object:
    if isinstance(leaf, np.ndarray):
        array = cast(np.ndarray[Any, Any], leaf)
        if array.dtype != type_.dtype.numpy:
            raise _wrong_dtype(path, type_, str(dtype_of(array, f"input '{path}'")))
        return array
    if isinstance(leaf, (bool, int, float)) and type_.rank == 0:
        return _scalar(path, type_, leaf)
    if not is_array(leaf):
        raise TraceError(
            function,
            f"argument '{path}' is a {type(leaf).__name__}, declared {type_}",
            f"pass np.asarray({path}, '{type_.dtype.numpy}')",
        )
    return leaf  # of another library: the Executable looks at it


def _scalar(path: str, type_: TensorType, number: float) -> object:
    """A Python number for a tensor of rank 0, if it loses nothing but precision."""
    order = {"bool": 0, "uint": 1, "int": 1, "float": 2}
    kind = 0 if isinstance(number, bool) else 1 if isinstance(number, int) else 2
    if kind > order[type_.dtype.kind]:
        raise _wrong_dtype(path, type_, f"the {type(number).__name__} {number}")
    return np.asarray(number, type_.dtype.numpy)


def _wrong_dtype(path: str, type_: TensorType, found: str) -> DTypeError:
    fix = f"pass {path}.astype('{type_.dtype.numpy}'), or declare ash.{found}"
    if found.startswith("the "):
        fix = f"pass a number that {type_.dtype} can hold"
    return DTypeError(f"input '{path}'", str(type_.dtype), found, fix)
