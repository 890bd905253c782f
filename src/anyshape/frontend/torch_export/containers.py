"""torch's containers, which it calls pytrees, in our own terms."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping, Sequence
from typing import Any, cast

from torch.utils import _pytree as pytree

from anyshape.frontend.builder.pytree import LEAF, Branch, Registered, Structure
from anyshape.frontend.imported.example import Example, Path, PathStep


def example_of(arguments: Mapping[str, Any]) -> Example:
    """An example call, taken apart as torch does it: None is a leaf."""
    pairs, spec = pytree.tree_flatten_with_path(dict(arguments))
    paths = tuple(_path(path) for path, _ in pairs)
    return Example(tuple(leaf for _, leaf in pairs), paths, cast(Branch, structure_of(spec)))


def structure_of(spec: Any) -> Structure:
    """What a TreeSpec describes; classes that torch knows by registration keep its functions."""
    if spec.is_leaf():
        return LEAF
    children = tuple(map(structure_of, spec.children()))
    if spec.type is dict:
        return Branch(dict, tuple(spec.context), children)
    if spec.type is namedtuple:  # torch's word for all classes of them
        return Branch(spec.context, spec.context._fields, children)
    numbers = tuple(range(len(children)))
    if spec.type in (list, tuple):
        return Branch(spec.type, numbers, children)
    node = pytree.SUPPORTED_NODES[spec.type]
    registered = Registered(spec.context, node.flatten_fn, node.unflatten_fn)
    return Branch(spec.type, numbers, children, registered)


def _path(keys: Sequence[Any]) -> Path:
    return tuple(PathStep(_key(key), str(key)) for key in keys)


def _key(key: Any) -> Any:
    """torch has a class for each kind of key, with a field of its own."""
    fields = (getattr(key, field) for field in ("key", "idx", "name") if hasattr(key, field))
    return next(fields)
