"""Graphs of any number of nodes, one function per shape: does compiling grow with the work?

Each shape repeats one small pattern, so that twice the nodes are twice the work. All of them are
functions of few sizes; a binding gives each axis its size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from benchmarks.harness.model import Array, Binding, Shape, size

# ruff: noqa: PLC0415 - anyshape is imported by the processes that use it

WIDTH = 8
Build = Callable[..., Any]


@dataclass(frozen=True)
class Growing:
    """One graph: what it computes, its inputs, what is said of their axes, and sizes to run at."""

    build: Build
    inputs: Mapping[str, Shape]
    sizes: Callable[[int], Binding]
    axes: Mapping[str, int] = field(default_factory=dict[str, int])
    where: tuple[str, ...] = ()

    def graph(self) -> Any:
        """Traced; `axes` are declared with their least sizes."""
        import anyshape as ash

        def function(inputs: Any) -> Any:
            return self.build(*inputs.values())

        types = {name: ash.f32[shape] for name, shape in self.inputs.items()}
        function.__annotations__ = {"inputs": types}
        axes = [ash.Axis(name, min=least) for name, least in self.axes.items()]
        return ash.jit(axes=axes, where=self.where)(function).graph

    def arrays(self, binding: Binding) -> tuple[Array, ...]:
        rng = np.random.default_rng(1)
        shapes = ([size(dim, binding) for dim in shape] for shape in self.inputs.values())
        return tuple(rng.standard_normal(shape, np.float32) for shape in shapes)


def chain(nodes: int) -> Growing:
    """Elementwise ops, one after the other."""

    def build(x: Any) -> Any:
        import anyshape as ash

        for n in range(nodes):
            x = ash.tanh(x) if n % 2 else x * x
        return x

    return Growing(build, {"x": ("n", WIDTH)}, _some_rows)


def wide(nodes: int) -> Growing:
    """Softmaxes of one input side by side, and a tree of their sums."""

    def build(x: Any) -> Any:
        import anyshape as ash

        return _tree([ash.softmax(x * float(n + 2)) for n in range(nodes // 3)])

    return Growing(build, {"x": ("n", WIDTH)}, _some_rows)


def layers(nodes: int) -> Growing:
    """Equal layers of a perceptron with residuals."""

    def build(x: Any) -> Any:
        import anyshape as ash

        rng = np.random.default_rng(0)
        up, down = (rng.standard_normal((WIDTH, WIDTH), np.float32) / 4 for _ in range(2))
        scale, shift = np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32)
        for _ in range(nodes // 4):
            hidden = ash.dense(x, up, shift, "gelu")
            x = ash.layer_norm(x + ash.dense(hidden, down, shift), scale, shift)
        return x

    return Growing(build, {"x": ("n", WIDTH)}, _some_rows)


def slices(nodes: int) -> Growing:
    """The sum of slices of at most one element each: nothing says that the input is long enough."""
    count = nodes // 2

    def build(x: Any) -> Any:
        return _tree([x[n : n + 1] for n in range(count)])

    return Growing(build, {"x": ("n",)}, lambda turn: {"n": count + turn})


def concatenations(nodes: int) -> Growing:
    """One concatenation of slices with a step, each of another length."""

    def build(x: Any) -> Any:
        import anyshape as ash

        return ash.concat([x[n::2] for n in range(nodes)])

    return Growing(build, {"x": ("n",)}, lambda turn: {"n": nodes + turn})


def facts(nodes: int) -> Growing:
    """As many axes and facts as inputs: each size is at most the next one."""
    names = [f"a{n}" for n in range(nodes // 3)]

    def build(*inputs: Any) -> Any:
        return _tree([x.sum() for x in inputs])

    where = tuple(f"{a} <= {b}" for a, b in pairwise(names))
    return Growing(
        build,
        {f"x_{name}": (name,) for name in names},
        lambda turn: dict.fromkeys(names, turn + 1),
        dict.fromkeys(names, 1),
        where,
    )


def shrinking(nodes: int) -> Growing:
    """Each layer is two elements shorter than the one before, as unpadded convolutions are."""
    count = nodes // 2

    def build(x: Any) -> Any:
        import anyshape as ash

        for _ in range(count):
            x = ash.tanh(x[1:-1])
        return x

    return Growing(build, {"x": ("n",)}, lambda turn: {"n": 2 * count + turn}, {"n": 2 * count})


SHAPES: Mapping[str, Callable[[int], Growing]] = {
    function.__name__: function
    for function in (chain, wide, layers, slices, concatenations, facts, shrinking)
}


def _some_rows(turn: int) -> Binding:
    return {"n": turn + 1}


def _tree(values: Sequence[Any]) -> Any:
    """Their sum, in pairs."""
    while len(values) > 1:
        odd = values[len(values) // 2 * 2 :]
        pairs = zip(values[::2], values[1::2], strict=False)
        values = [*(a + b for a, b in pairs), *odd]
    return values[0]
