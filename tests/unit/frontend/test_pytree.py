"""Containers: taken apart, named, and put together again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from anyshape.frontend.builder.pytree import (
    StructureMismatchError,
    flatten,
    leaves_along,
    paths,
    unflatten,
)


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclass
class Layer:
    w: Any
    b: Any = None


TREE = {"layers": [Layer(1, 2), Layer(3)], "pair": Pair(4, (5,)), "empty": {}, "none": None}


def test_flatten_and_back() -> None:
    leaves, structure = flatten(TREE)
    assert leaves == [1, 2, 3, 4, 5]
    assert unflatten(structure, leaves) == TREE


def test_paths_name_the_leaves() -> None:
    _, structure = flatten(TREE)
    assert list(paths(structure)) == [
        "layers.0.w", "layers.0.b", "layers.1.w", "pair.left", "pair.right.0",
    ]  # fmt: skip


def test_a_leaf_is_a_tree() -> None:
    leaves, structure = flatten(7)
    assert leaves == [7]
    assert list(paths(structure)) == [""]
    assert unflatten(structure, [8]) == 8


def test_leaves_along_stops_at_the_leaves_of_the_structure() -> None:
    _, structure = flatten({"a": 1, "b": 2})
    assert leaves_along(structure, {"b": [1, 2], "a": None}) == [None, [1, 2]]


def test_the_path_of_a_mismatch_deep_inside() -> None:
    _, structure = flatten({"a": ({"b": [1]}, 2)})
    with pytest.raises(StructureMismatchError) as caught:
        leaves_along(structure, {"a": ({"b": [1, 2]}, 2)})
    assert caught.value.path == "a.0.b"


@pytest.mark.parametrize(
    ("tree", "path", "expected", "found"),
    [
        ({"a": [1]}, "a", "a tuple", "a list"),
        ({"a": (1,)}, "a", "keys 0, 1", "keys 0"),
        ({"b": (1, 2)}, "", "keys a", "keys b"),
        ({"a": None}, "a", "a tuple", "None"),
    ],
)
def test_a_mismatch_names_its_place(tree: Any, path: str, expected: str, found: str) -> None:
    _, structure = flatten({"a": (1, 2)})
    with pytest.raises(StructureMismatchError) as caught:
        leaves_along(structure, tree)
    assert (caught.value.path, caught.value.expected, caught.value.found) == (path, expected, found)
