"""Annotations to paste, derived from actual arguments."""

from __future__ import annotations

from collections.abc import Callable

from anyshape.frontend.builder.arrays import as_array, is_array
from anyshape.frontend.builder.pytree import Branch, Structure, flatten
from anyshape.ir.types import DTYPES, Array


def suggestion(argument: object) -> str:
    """An annotation that the argument fits: `ash.f32[None, 512]`, containers written out.

    The first axis is the one that most often varies, so it is left open.
    """
    leaves, structure = flatten(argument)
    return _written(structure, iter([_leaf(leaf) for leaf in leaves]).__next__)


def _leaf(argument: object) -> str:
    if is_array(argument):
        return _array(as_array(argument))
    if isinstance(argument, (bool, int, float, str)):
        return type(argument).__name__
    return 'ash.f32["batch", 64]'


def _array(array: Array) -> str:
    names = {dtype.numpy: name for name, dtype in DTYPES.items()}
    sizes = ["None", *map(str, array.shape[1:])] if array.ndim else ["()"]
    return f"ash.{names.get(array.dtype, 'f32')}[{', '.join(sizes)}]"


def _written(structure: Structure, next_leaf: Callable[[], str]) -> str:
    if not isinstance(structure, Branch):
        return next_leaf()
    children = [_written(child, next_leaf) for child in structure.children]
    if structure.kind is dict:
        pairs = zip(structure.keys, children, strict=True)
        return "{" + ", ".join(f"{key!r}: {child}" for key, child in pairs) + "}"
    if structure.kind is list:
        return "[" + ", ".join(children) + "]"
    if structure.kind is tuple:
        return "(" + "".join(child + ", " for child in children).strip() + ")"
    return "None" if structure.kind is type(None) else structure.kind.__name__
