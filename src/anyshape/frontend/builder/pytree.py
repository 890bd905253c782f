"""Nested containers: dicts, lists, tuples, NamedTuples, dataclasses and None around leaves.

`flatten` takes a container apart into leaves and a `Structure`; `unflatten` puts it together
again. A leaf is whatever is no container. Every leaf has a path, `layers.0.w`, which names graph
inputs and appears in messages.

A framework may have classes of containers of its own. It describes them by `Structure`s with the
functions that it registered for them (`Registered`); `flatten` makes none of those.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast, get_args

from anyshape.sym import Predicate


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value."""


@dataclass(frozen=True, slots=True)
class Registered:
    """How a framework takes one container of its own apart and puts it together. The `context` is
    what it needs besides the children; it is the same for containers that are built alike."""

    context: object
    flatten: Callable[[Any], tuple[Sequence[object], object]]  # children and context
    unflatten: Callable[[Sequence[Any], Any], object]


@dataclass(frozen=True, slots=True)
class Branch:
    """A container of class `kind` with children under `keys`; None is one without children."""

    kind: type
    keys: tuple[Hashable, ...] = ()
    children: tuple[Structure, ...] = ()
    registered: Registered | None = None


Structure = Leaf | Branch
LEAF = Leaf()


class StructureMismatchError(Exception):
    """A container that is not built as expected; `path` says where."""

    def __init__(self, path: str, expected: str, found: str) -> None:
        super().__init__(path, expected, found)
        self.path = path
        self.expected = expected
        self.found = found


def flatten(tree: object) -> tuple[list[object], Structure]:
    """All leaves from left to right, and what is around them."""
    kind = container_kind(tree)
    if kind is None:
        return [tree], LEAF
    keys, values = _items(tree)
    parts = [flatten(value) for value in values]
    leaves = [leaf for part, _ in parts for leaf in part]
    return leaves, Branch(kind, keys, tuple(structure for _, structure in parts))


def leaves_along(structure: Structure, tree: object) -> list[object]:
    """The parts of `tree` at the leaves of `structure`, which it must be built like.

    Every call of a jitted function comes here, so paths are made up only for errors.
    """
    leaves: list[object] = []
    _collect(structure, tree, leaves)
    return leaves


def _collect(structure: Structure, tree: object, leaves: list[object]) -> None:
    if isinstance(structure, Leaf):
        leaves.append(tree)
        return
    if type(tree) is not structure.kind:
        raise StructureMismatchError("", f"a {structure.kind.__name__}", _describe(tree))
    if structure.registered is not None:
        keys, values = _registered_items(structure, structure.registered, tree)
    else:
        keys, values = _items(tree)
    if keys != structure.keys:
        by_key = dict(zip(keys, values, strict=True))
        if by_key.keys() != set(structure.keys):
            raise StructureMismatchError("", _keys_text(structure.keys), _keys_text(keys))
        values = [by_key[key] for key in structure.keys]
    for key, child, value in zip(structure.keys, structure.children, values, strict=True):
        try:
            _collect(child, value, leaves)
        except StructureMismatchError as error:
            error.path = join(str(key), error.path) if error.path else str(key)
            raise


def unflatten(structure: Structure, leaves: Sequence[object]) -> object:
    """The container that `flatten` would take apart into `leaves`."""
    remaining = iter(leaves)
    tree = _rebuild(structure, remaining)
    assert next(remaining, LEAF) is LEAF, "more leaves than the structure has"
    return tree


def paths(structure: Structure, path: str = "") -> Iterator[str]:
    """The path of every leaf, in the order of `flatten`."""
    if isinstance(structure, Leaf):
        yield path
        return
    for key, child in zip(structure.keys, structure.children, strict=True):
        yield from paths(child, join(path, key))


def join(path: str, key: Hashable) -> str:
    """The path of a child."""
    return f"{path}.{key}" if path else str(key)


def is_named_tuple(kind: type) -> bool:
    return hasattr(kind, "_fields") and issubclass(kind, tuple)


def container_kind(tree: object) -> type | None:
    """The class of a container, or None for a leaf."""
    kind = type(tree)
    plain = kind in (dict, list, tuple, type(None))
    return kind if plain or is_named_tuple(kind) or _is_record(kind) else None


def _is_record(kind: type) -> bool:
    """A dataclass of the user's; what is said of sizes is one value."""
    return dataclasses.is_dataclass(kind) and kind not in get_args(Predicate)


def _items(tree: object) -> tuple[tuple[Hashable, ...], list[object]]:
    """Keys and values of a container."""
    if tree is None:
        return (), []
    if isinstance(tree, dict):
        entries = cast(dict[Hashable, object], tree)
        return tuple(entries), list(entries.values())
    if isinstance(tree, (list, tuple)):
        values = list(cast(Sequence[object], tree))
        names = cast(tuple[str, ...], getattr(cast(object, tree), "_fields", range(len(values))))
        return tuple(names), values
    names = _field_names(type(tree))
    return names, [getattr(tree, name) for name in names]


def _registered_items(
    structure: Branch, registered: Registered, tree: object
) -> tuple[tuple[Hashable, ...], Sequence[object]]:
    """Children of a framework's container, which must have the context of the structure."""
    values, context = registered.flatten(tree)
    if context != registered.context:
        name = structure.kind.__name__
        expected = f"a {name} of {registered.context!r}"
        raise StructureMismatchError("", expected, f"a {name} of {context!r}")
    return tuple(range(len(values))), values


@cache
def _field_names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(cast(Any, kind)))


def _rebuild(structure: Structure, leaves: Iterator[object]) -> object:
    if isinstance(structure, Leaf):
        return next(leaves)
    values = [_rebuild(child, leaves) for child in structure.children]
    if structure.registered is not None:
        return structure.registered.unflatten(values, structure.registered.context)
    kind = cast(Any, structure.kind)
    if kind is type(None):
        return None
    if kind is dict:
        return dict(zip(structure.keys, values, strict=True))
    if kind is list:
        return values
    if kind is tuple:
        return tuple(values)
    return kind(**dict(zip(map(str, structure.keys), values, strict=True)))


def _describe(tree: object) -> str:
    return "None" if tree is None else f"a {type(tree).__name__}"


def _keys_text(keys: Sequence[Hashable]) -> str:
    return f"keys {', '.join(map(str, keys))}" if keys else "no keys"
