"""Operands for a case: sizes, values and memory layouts.

Sizes: everything 0, everything 1, distinct primes, odd numbers, some larger ones, and random
mixtures. Values: random, for elementwise ops with NaN, infinities, signed zeros, subnormals and
extremes sprinkled in.
Layouts: contiguous, transposed, and strided with a reversed last axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any

import ml_dtypes
import numpy as np
from tests.compliance.case import Case, Rng, Sizes

from anyshape.ir import DType, Graph, lookup
from anyshape.ir.opdef import Trait
from anyshape.ir.types import TensorType, bool_
from anyshape.sym import Symbol, parse_predicate

CHOICES = (0, 1, 2, 3, 4, 5, 7, 8, 11, 13)
PRIMES = (2, 3, 5, 7, 11, 13)
LARGE = (67, 17, 31)
LIMIT = 20_000  # elements of all inputs
RANDOM_SIZES = 24
KEPT = 7


# --- sizes ----------------------------------------------------------------------------------------


def candidate_sizes(case: Case, graph: Graph) -> list[Sizes]:
    """Bindings worth trying; some may break a requirement of the op."""
    symbols = sorted(
        {symbol for type_ in graph.body.params for symbol in type_.symbols}, key=lambda s: s.name
    )
    given = [{Symbol(name): size for name, size in sizes.items()} for sizes in case.sizes]
    regular = [
        dict.fromkeys(symbols, 0),
        dict.fromkeys(symbols, 1),
        dict(zip(symbols, cycle(PRIMES), strict=False)),
        dict(zip(symbols, cycle((9, 3, 5)), strict=False)),
        dict(zip(symbols, cycle(LARGE), strict=False)),
    ]
    rng = np.random.default_rng(case.seed)
    drawn = [{symbol: int(rng.choice(CHOICES)) for symbol in symbols} for _ in range(RANDOM_SIZES)]
    return [sizes for sizes in (*given, *regular, *drawn) if _is_shape(case, graph, sizes)]


def _is_shape(case: Case, graph: Graph, sizes: Sizes) -> bool:
    domain = all(parse_predicate(text).holds(sizes) for text in case.domain)
    shapes = input_shapes(graph, sizes)
    small = elements(graph, sizes) <= LIMIT
    return domain and small and all(size >= 0 for shape in shapes for size in shape)


def input_shapes(graph: Graph, sizes: Sizes) -> list[tuple[int, ...]]:
    return [tuple(dim.evaluate(sizes) for dim in type_.shape) for type_ in tensor_params(graph)]


def elements(graph: Graph, sizes: Sizes) -> int:
    """Of all inputs."""
    return sum(math.prod(shape) for shape in input_shapes(graph, sizes))


def tensor_params(graph: Graph) -> list[TensorType]:
    return [type_ for type_ in graph.body.params if isinstance(type_, TensorType)]


def is_legal(case: Case, sizes: Sizes) -> bool:
    """Whether the hand-written requirements allow these sizes."""
    axes = all(
        axis.contains(sizes[axis.symbol]) for axis in case.declared.axes if axis.symbol in sizes
    )
    return axes and all(predicate.holds(sizes) for predicate in case.requirements)


def legal_sizes(case: Case, graph: Graph) -> list[Sizes]:
    """A few bindings to evaluate at, all different."""
    distinct = {tuple(sizes.values()): sizes for sizes in candidate_sizes(case, graph)}
    return [sizes for sizes in distinct.values() if is_legal(case, sizes)][: KEPT + len(case.sizes)]


# --- values ---------------------------------------------------------------------------------------


def operands(case: Case, graph: Graph, sizes: Sizes, layout: Layout) -> list[Any]:
    """Arrays of these sizes, for all inputs of the graph."""
    rng = np.random.default_rng([case.seed, *sizes.values()])
    shapes = input_shapes(graph, sizes)
    dtypes = [type_.dtype for type_ in tensor_params(graph)]
    count = len(case.inputs)
    if case.fill is not None:
        arrays = case.fill(rng, shapes[:count], dtypes[:count])
    else:
        special = lookup(case.op).has(Trait.ELEMENTWISE)
        pairs = zip(shapes[:count], dtypes, strict=False)
        arrays = [values(rng, shape, dtype, special) for shape, dtype in pairs]
    extra = [np.zeros(shape, np.bool_) for shape in shapes[count:]]
    return [layout(array) for array in (*arrays, *extra)]


def values(rng: Rng, shape: tuple[int, ...], dtype: DType, special: bool = False) -> Any:
    """Random elements; floats of order one, small integers."""
    if dtype is bool_:
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype.is_integer:
        low = 0 if dtype.kind == "uint" else -9
        array = rng.integers(low, 10, shape).astype(dtype.numpy)
        return _sprinkle(rng, array, _extreme_integers(dtype)) if special else array
    array = rng.normal(0, 2, shape).astype(dtype.numpy)
    return _sprinkle(rng, array, _special_floats(dtype)) if special else array


def _sprinkle(rng: Rng, array: Any, specials: Any) -> Any:
    chosen = rng.random(array.shape) < 0.3
    drawn = rng.choice(len(specials), array.shape)
    return np.where(chosen, specials[drawn], array)


def _extreme_integers(dtype: DType) -> Any:
    info = np.iinfo(dtype.numpy)
    return np.array([info.min, info.max, 0, 1], dtype.numpy)


def _special_floats(dtype: DType) -> Any:
    info = ml_dtypes.finfo(dtype.numpy)
    numbers = [
        np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, 88.0, -88.0, 700.0,
        float(info.max), float(info.min), float(info.smallest_normal),
        float(info.smallest_subnormal), -float(info.smallest_subnormal),
    ]  # fmt: skip
    with np.errstate(all="ignore"):
        return np.array(numbers, np.float64).astype(dtype.numpy)


# --- layouts --------------------------------------------------------------------------------------

Layout = Callable[[Any], Any]


def contiguous(array: Any) -> Any:
    return np.array(array, order="C")


def transposed(array: Any) -> Any:
    return np.array(array, order="F")


def strided(array: Any) -> Any:
    """Every second element of a larger buffer, the last axis backwards."""
    if array.ndim == 0:
        return np.array(array)
    buffer = np.zeros([2 * size for size in array.shape], array.dtype)
    view = buffer[(slice(None, None, 2),) * array.ndim][..., ::-1]
    view[...] = array
    return view


def layouts() -> Iterator[Layout]:
    return cycle((contiguous, strided, transposed))
