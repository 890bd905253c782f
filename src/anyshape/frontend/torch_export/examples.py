"""Chooses the sizes of the example that a model is captured with.

torch records what the model does with one example. Its sizes must say nothing about others: axes
that are equal by chance would look like one axis, and many programs treat sizes 0 and 1 specially.
So named axes get sizes that are at least 2, all different, and within their declarations: those of
the user's example where they are such, because what is captured must hold for it.
Only sizes matter: nothing computes with the example.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import torch

from anyshape.base.errors import AxisConflictError, SizeSource
from anyshape.frontend.imported import where
from anyshape.frontend.imported.axes import InputAxes, NamedAxes, NamedDims
from anyshape.frontend.imported.example import Example
from anyshape.sym import Axis, Symbol

_NONE: Mapping[Symbol, int] = {}
_TRIED = 64
"""How many sizes to try for an axis before two axes get the same one."""


def with_sizes(example: Example, named: NamedAxes, sizes: Mapping[Symbol, int]) -> Example:
    """The example with tensors of these sizes where axes are named."""
    return example.with_leaves(
        [_resized(leaf, axes.dims, sizes) for leaf, axes in _leaves(example, named)]
    )


def _leaves(example: Example, named: NamedAxes) -> Iterator[tuple[Any, InputAxes]]:
    return zip(example.leaves, named.inputs, strict=True)


def example_sizes(
    named: NamedAxes, own: Mapping[Symbol, int], avoid: Mapping[Symbol, int] = _NONE
) -> dict[Symbol, int]:
    """A size for each axis: the user's `own` where it says nothing about others. They satisfy what
    the user says of axes, for which only the `own` ones may be known to do."""
    if not named.where:
        return _telling_sizes(named.axes, own, avoid)
    sizes: dict[Symbol, int] = {}
    for facts in (named.where, where.without_ones(named.where)):
        left = where.settled(named.axes, facts)
        sizes = _telling_sizes(left.facts.axes, own, avoid)
        sizes.update((symbol, size.evaluate(sizes)) for symbol, size in left.sizes.items())
        is_legal = all(axis.contains(sizes[axis.symbol]) for axis in named.axes)
        if is_legal and all(fact.holds(sizes) for fact in named.where):
            return sizes
    return {axis.symbol: own.get(axis.symbol, sizes[axis.symbol]) for axis in named.axes}


def _telling_sizes(
    axes: Sequence[Axis], own: Mapping[Symbol, int], avoid: Mapping[Symbol, int]
) -> dict[Symbol, int]:
    sizes: dict[Symbol, int] = {}
    for axis in axes:
        taken = frozenset((*sizes.values(), *avoid.values()))
        size = own.get(axis.symbol, 0)
        telling = size >= 2 and axis.contains(size) and size not in taken
        sizes[axis.symbol] = size if telling else _size(axis, taken | frozenset(own.values()))
    return sizes


def tells_axes_apart(named: NamedAxes, sizes: Mapping[Symbol, int]) -> bool:
    """Whether positions have equal sizes only where they have the same name, or names of which the
    user says that they are one size."""
    same = where.settled(named.axes, named.where).sizes if named.where else {}
    dims = {dim.substitute(same) for axes in named.inputs for dim in axes.dims.values()}
    return len({dim.evaluate(sizes) for dim in dims}) == len(dims)


def own_sizes(example: Example, named: NamedAxes) -> dict[Symbol, int]:
    """The sizes that the user's example has."""
    return {**example_sizes(named, {}), **dict(_shown_sizes(example, named))}


def _size(axis: Axis, taken: frozenset[int]) -> int:
    allowed = [size for size, _ in zip(_allowed(axis), range(_TRIED), strict=False)]
    telling = [size for size in allowed if size >= 2] or allowed
    return next((size for size in telling if size not in taken), telling[0])


def _allowed(axis: Axis) -> Iterator[int]:
    """The sizes that a declaration allows, ascending, from 3 on where possible."""
    for low, high in axis.ranges:
        start = -(-max(low, 3) // axis.multiple_of) * axis.multiple_of
        if high is not None and start > high:
            start = -(-low // axis.multiple_of) * axis.multiple_of
        for size in count(start, axis.multiple_of):
            if high is not None and size > high:
                break
            yield size


def _resized(leaf: Any, dims: NamedDims, sizes: Mapping[Symbol, int]) -> Any:
    if not dims:
        return leaf
    shape = list(leaf.shape)
    for position, dim in dims.items():
        shape[position] = dim.evaluate(sizes)
    return torch.zeros(shape, dtype=leaf.dtype)


def check_one_size_each(example: Example, named: NamedAxes) -> None:
    """An axis named twice has one size in the user's example."""
    seen: dict[str, SizeSource] = {}
    for leaf, axes in _leaves(example, named):
        for position, dim in axes.dims.items():
            if dim.symbol is None:
                continue
            name = dim.symbol.name
            here = SizeSource(f"input '{axes.path}'", position, int(leaf.shape[position]), name)
            if seen.setdefault(name, here).size != here.size:
                raise AxisConflictError(name, seen[name], here)


def check_where(example: Example, named: NamedAxes) -> None:
    """What is said of axes is about axes, contradicts nothing, and holds for the example."""
    where.check_known(named.where, (axis.symbol for axis in named.axes))
    where.check_consistent(named.axes, named.where)
    where.check_example(named.where, dict(_shown_sizes(example, named)))


def _shown_sizes(example: Example, named: NamedAxes) -> Iterator[tuple[Symbol, int]]:
    """The axes that are whole sizes of the example."""
    for leaf, axes in _leaves(example, named):
        for position, dim in axes.dims.items():
            if dim.symbol is not None:
                yield dim.symbol, int(leaf.shape[position])
