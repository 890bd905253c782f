"""Random arrays of the sizes of a binding, for timings and first looks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from anyshape.ir.types import Array, TensorType
from anyshape.sym import Symbol

if TYPE_CHECKING:
    from anyshape.execute.executable import Executable


def usual_binding(executable: Executable) -> dict[str, int]:
    """A size for each axis: a likely one, or else a small one."""
    return {axis.name: next(iter(axis.likely), max(axis.min, 1)) for axis in executable.axes}


def example_arrays(
    executable: Executable,
    binding: Mapping[str, int],
    given: Mapping[str, Array] | None = None,
    seed: int = 0,
) -> list[Array]:
    """Those that are `given` by name, else random: floats around 0, integers 0 and 1."""
    random = np.random.default_rng(seed)
    symbols = {axis.symbol: binding[axis.name] for axis in executable.axes}
    known = given or {}
    return [
        known[name] if name in known else _random(random, type_, symbols)
        for name, type_ in executable.notes.inputs
    ]


def _random(random: np.random.Generator, type_: TensorType, sizes: Mapping[Symbol, int]) -> Array:
    shape = tuple(dim.evaluate(sizes) for dim in type_.shape)
    if type_.dtype.is_float:
        return random.standard_normal(shape).astype(type_.dtype.numpy)
    return random.integers(0, 2, shape).astype(type_.dtype.numpy)
