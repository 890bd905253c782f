"""jaxtyping's annotations: `Float32[Array, "batch seq-2 512"]`.

They are recognised by their attributes, so jaxtyping need not be installed. A name is an axis, an
expression is one over axes, `_` is dynamic without a name, `name=4` is 4. What has no counterpart
here (any number of axes, broadcasting axes, several element types) is refused with a way out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from anyshape.ir.types import DTYPES, DType, TensorType

_NUMPY_NAMES: Mapping[str, DType] = {str(dtype.numpy): dtype for dtype in DTYPES.values()}

_REFUSED = {
    "*": "any number of axes",
    "#": "a broadcasting axis",
    "?": "an axis that depends on the position in a tree",
    "{": "a size that depends on an argument",
}


class UnsupportedFormError(Exception):
    """An annotation with no counterpart: what it is, and what to write instead."""

    def __init__(self, problem: str, fix: str) -> None:
        super().__init__(problem, fix)
        self.problem = problem
        self.fix = fix


def is_jaxtyping(annotation: object) -> bool:
    """Whether it is jaxtyping's, by its attributes."""
    return all(hasattr(annotation, name) for name in ("dtypes", "dim_str", "array_type"))


def tensor_type(annotation: Any) -> TensorType:
    """The tensor type that the annotation means."""
    dtype = _dtype(annotation)
    return dtype[tuple(_size(token) for token in annotation.dim_str.split())]


def _dtype(annotation: Any) -> DType:
    listed = isinstance(annotation.dtypes, (tuple, list))
    names = cast(Sequence[str], annotation.dtypes) if listed else ()
    known = {_NUMPY_NAMES[name] for name in names if name in _NUMPY_NAMES}
    if len(known) != 1:
        raise UnsupportedFormError(
            f"{_short(annotation)} does not say which element type",
            "use one with a width, for example Float32 or Int64",
        )
    return known.pop()


def _size(token: str) -> int | str | None:
    if token == "_":
        return None
    if token == "...":
        raise UnsupportedFormError("'...' stands for any number of axes", "write out every axis")
    if token[0] in _REFUSED:
        raise UnsupportedFormError(
            f"'{token}' is {_REFUSED[token[0]]}", "write out every axis by its plain name"
        )
    value = token.partition("=")[2] if "==" not in token and "=" in token else token
    return int(value) if value.lstrip("-").isdigit() else value


def _short(annotation: Any) -> str:
    return str(getattr(annotation, "__name__", annotation))
