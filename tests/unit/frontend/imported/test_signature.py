"""How an imported model is called: its leaves in order, and what differs from the example."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from anyshape.base.errors import InputError
from anyshape.frontend.builder.pytree import LEAF, Branch, Registered, unflatten
from anyshape.frontend.imported.axes import named_axes
from anyshape.frontend.imported.call_signature import CallSignature, Parameters
from anyshape.frontend.imported.example import Example, PathStep

ONE, TWO = np.zeros(2), np.ones(3)


class Cache:
    """A container that only its framework can take apart."""

    def __init__(self, layers: list[Any], kind: str) -> None:
        self.layers, self.kind = layers, kind


def cache_parts(cache: Cache) -> tuple[list[Any], str]:
    return cache.layers, cache.kind


CACHE = Branch(Cache, (0, 1), (LEAF, LEAF), Registered("plain", cache_parts, Cache))


def path(name: str, *indices: int) -> tuple[PathStep, ...]:
    return PathStep(name, ""), *(PathStep(index, f"[{index}]") for index in indices)


def example(of_cache: Branch = CACHE) -> Example:
    """`f(x, cache, scale=2)`."""
    structure = Branch(dict, ("x", "cache", "scale"), (LEAF, of_cache, LEAF))
    paths = (path("x"), path("cache", 0), path("cache", 1), path("scale"))
    return Example((ONE, ONE, TWO, 2), paths, structure)


@pytest.fixture
def signature() -> CallSignature:
    return CallSignature(Parameters(("x", "cache", "scale")), example())


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(InputError) as caught:
        call()
    return str(caught.value)


def test_a_call_becomes_leaves(signature: CallSignature) -> None:
    cache = Cache([1, 2], "plain")
    assert signature.flatten((ONE, cache), {"scale": 2}) == [ONE, 1, 2, 2]
    assert signature.paths == ("x", "cache[0]", "cache[1]", "scale")
    assert signature.is_tensor == (True, True, True, False)


def test_a_registered_container_is_built_again() -> None:
    cache = unflatten(CACHE, [1, 2])
    assert isinstance(cache, Cache)
    assert (cache.layers, cache.kind) == ([1, 2], "plain")


@pytest.mark.parametrize(
    ("cache", "problem"),
    [
        ((1, 2), "input 'cache' has a tuple, the model was compiled with a Cache"),
        (
            Cache([1, 2], "static"),
            "input 'cache' has a Cache of 'static', the model was compiled with a Cache of 'plain'",
        ),
        (
            Cache([1, 2, 3], "plain"),
            "input 'cache' has keys 0, 1, 2, the model was compiled with keys 0, 1",
        ),
    ],
)
def test_other_containers(signature: CallSignature, cache: object, problem: str) -> None:
    assert refusal(lambda: signature.flatten((ONE, cache, 2), {})) == (
        f"{problem}\nfix: pass 'cache' in the same containers"
    )


def test_one_tensor_in_a_container_is_no_plain_argument() -> None:
    structure = Branch(dict, ("x",), (Branch(tuple, (0,), (LEAF,)),))
    signature = CallSignature(Parameters(("x",)), Example((ONE,), (path("x", 0),), structure))
    assert signature.flatten(((TWO,),), {}) == [TWO]


def test_dicts_may_come_in_any_order() -> None:
    inner = Branch(dict, ("a", "b"), (LEAF, LEAF))
    paths = (path("x", 0), path("x", 1))
    given = Example((ONE, TWO), paths, Branch(dict, ("x",), (inner,)))
    assert CallSignature(Parameters(("x",)), given).flatten(({"b": 2, "a": 1},), {}) == [1, 2]


def test_axes_are_given_in_the_containers_of_the_input() -> None:
    named = named_axes(example(), {"x": ("n",), "cache": [None, ("past",)]})
    assert [axis.name for axis in named.axes] == ["n", "past"]
    assert [{i: str(dim) for i, dim in each.dims.items()} for each in named.inputs] == [
        {0: "n"}, {}, {0: "past"}, {},
    ]  # fmt: skip
    assert [each.path for each in named.inputs] == ["x", "cache[0]", "cache[1]", "scale"]


@pytest.mark.parametrize(
    ("axes", "leaf"), [([("n",)], "cache[1]"), ("n", "cache[0]"), (5, "cache[0]")]
)
def test_axes_that_are_not_built_like_the_input(axes: object, leaf: str) -> None:
    assert refusal(lambda: named_axes(example(), {"cache": axes})) == (
        f"input '{leaf}' is in a container, for which axes are {axes!r}\n"
        "fix: build axes like the input, with None for no names"
    )


def test_no_framework_is_imported() -> None:
    """Import contracts see imports; this sees what runs."""
    modules = ("axes", "call_signature", "conditions", "example", "program")
    imports = "; ".join(f"import anyshape.frontend.imported.{module}" for module in modules)
    code = f"{imports}; import sys; print([m for m in ('torch', 'sympy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
