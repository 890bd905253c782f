"""Random small graphs and data for property tests of rewrite laws.

`Draw` builds one instance: inputs with symbolic axes, sizes for the axes (0 and 1 among them), and
data with NaN, infinities and both zeros. Everything follows from one seed.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import numpy as np

from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Value
from anyshape.ir.types import Array, DType, TensorType, bool_
from anyshape.sym import Dim, Symbol

AXES = tuple(Symbol(name) for name in "abc")
SPECIAL_FLOATS = (0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.0, 1.5, -2.5, 1e-8, 3e4)


class Draw:
    """A builder with random choices."""

    def __init__(self, seed: int, builder: Builder | None = None) -> None:
        self.random = random.Random(seed)
        self.b = builder or Builder.at_entry()
        self.names: list[str] = []
        self.sizes = {symbol: self.random.choice([0, 1, 2, 3, 5]) for symbol in AXES}
        # An input that has every axis, so that each has a size whatever else is drawn.
        self.param(bool_, map(Dim.of, AXES))

    # --- shapes -------------------------------------------------------------------------------

    def dim(self) -> Dim:
        """A constant or an axis."""
        if self.random.random() < 0.3:
            return Dim.of(self.random.choice([0, 1, 2, 3]))
        return Dim.of(self.random.choice(AXES))

    def shape(self, rank: int | None = None) -> tuple[Dim, ...]:
        return tuple(self.dim() for _ in range(self.random.randint(0, 3) if rank is None else rank))

    def value(self, dim: Dim) -> int:
        return dim.evaluate(self.sizes)

    # --- values -------------------------------------------------------------------------------

    def param(self, dtype: DType, shape: Iterable[Dim] | None = None) -> Value:
        dims = self.shape() if shape is None else tuple(shape)
        self.names.append(f"x{len(self.names)}")
        return self.b.param(TensorType(dtype, dims))

    def full(self, number: float, like: Value) -> Value:
        """A constant that does not change the shape of `like` when they meet."""
        dtype = like.tensor.dtype.numpy
        form = self.random.choice(["scalar", "ones", "broadcast"])
        scalar = self.b.constant(np.array(number).astype(dtype))
        if form == "scalar" or like.tensor.rank == 0:
            return scalar
        if form == "ones":
            return self.b.constant(np.full([1] * like.tensor.rank, number).astype(dtype))
        return self.b.emit("broadcast", scalar, shape=like.tensor.shape)

    def dtype(self, allowed: Sequence[DType]) -> DType:
        return self.random.choice(list(allowed))

    def array(self, type_: TensorType) -> Array:
        return random_array(self.random, type_.dtype, [self.value(dim) for dim in type_.shape])

    # --- the whole ----------------------------------------------------------------------------

    def graph(self, *results: Value) -> Graph:
        return self.b.graph("law", self.names, results)

    def inputs(self, graph: Graph) -> list[Array]:
        return [self.array(t) for t in graph.body.params if isinstance(t, TensorType)]


def random_array(rng: random.Random, dtype: DType, shape: Sequence[int]) -> Array:
    count = int(np.prod(shape))
    numbers = [_number(rng, dtype) for _ in range(count)]
    with np.errstate(all="ignore"):
        return (
            np.array(numbers, np.float64 if dtype.is_float else None)
            .astype(dtype.numpy)
            .reshape(shape)
            if count
            else np.zeros(shape, dtype.numpy)
        )


def _number(rng: random.Random, dtype: DType) -> float | int | bool:
    if dtype.is_float:
        return rng.choice(SPECIAL_FLOATS)
    if dtype.kind == "bool":
        return rng.random() < 0.5
    # Python integers of one array must fit one NumPy dtype, so extremes of u64 are left out.
    low, high = (0, 100) if dtype.kind == "uint" else (-100, 100)
    info = np.iinfo(dtype.numpy)
    return rng.choice([0, 1, info.max if dtype.bits < 64 else 1 << 62, rng.randint(low, high)])


def same_bits(left: Array, right: Array) -> bool:
    """Equal in dtype, shape and every bit, except that any NaN equals any NaN."""
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    if left.size == 0:
        return True
    bits = [np.ascontiguousarray(a).reshape(-1).view(f"u{a.dtype.itemsize}") for a in (left, right)]
    flat = [np.ascontiguousarray(a).reshape(-1) for a in (left, right)]
    both_nan = (flat[0] != flat[0]) & (flat[1] != flat[1])
    return bool(((bits[0] == bits[1]) | both_nan).all())
