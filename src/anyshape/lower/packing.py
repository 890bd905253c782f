"""Constants in panels: the layout in which a matrix product reads them in one stream.

    packed[batch, panel, k, column]      a panel has the columns of a register tile

The last panel is filled up with zeros, which are multiplied but never stored. Where a result is
made of several columns, far apart in the constant, a panel has a run of columns of each part.

Products of small integers have groups of k together, the last one filled up with zeros:

    packed[batch, panel, k // group, column * group + k % group]
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from anyshape.ir.types import Array

ALIGNMENT = 64  # a cache line


@dataclass(frozen=True, slots=True)
class Packing:
    """Axes of the constant by their role in the product, and the columns of a panel, which are of
    so many parts of the free axes."""

    batch: tuple[int, ...]
    depth: tuple[int, ...]
    free: tuple[int, ...]
    columns: int
    parts: int = 1
    group: int = 1

    @property
    def run(self) -> int:
        """Columns of one part in a panel."""
        return self.columns // self.parts

    def shape(self, shape: tuple[int, ...]) -> tuple[int, int, int, int]:
        """Of the packed form of an array of this shape."""
        sizes = (self.batch, self.depth, self.free)
        batch, depth, free = (math.prod(shape[axis] for axis in axes) for axes in sizes)
        panels, groups = -(-(free // self.parts) // self.run), -(-depth // self.group)
        return batch, panels, groups, self.columns * self.group


def pack(array: Array, packing: Packing) -> Array:
    """The constant in panels, at the start of a cache line."""
    if packing.group > 1:
        return _grouped(pack(array, replace(packing, group=1)), packing)
    batch, panels, depth, columns = packing.shape(array.shape)
    packed = aligned_zeros((batch, panels, depth, columns), array.dtype)
    order = (*packing.batch, *packing.depth, *packing.free)
    plain = array.transpose(order).reshape(batch, depth, -1 if array.size else 0)
    runs = packed.reshape(batch, panels, depth, packing.parts, packing.run)
    for number, part in enumerate(np.split(plain, packing.parts, axis=2)):
        full = part.shape[2] // packing.run
        whole, rest = np.split(part, [full * packing.run], axis=2)
        in_panels = whole.reshape(batch, depth, full, packing.run).transpose(0, 2, 1, 3)
        runs[:, :full, :, number] = in_panels
        runs[:, full:, :, number, : rest.shape[2]] = rest[:, None]
    return packed


def _grouped(plain: Array, packing: Packing) -> Array:
    """Panels with groups of rows together."""
    batch, panels, depth, columns = plain.shape
    groups = -(-depth // packing.group)
    found = aligned_zeros((batch, panels, groups, columns * packing.group), plain.dtype)
    apart = found.reshape(batch, panels, groups, columns, packing.group)
    for step in range(packing.group):
        rows = plain[:, :, step :: packing.group]
        apart[:, :, : rows.shape[2], :, step] = rows
    return found


def _ungrouped(packed: Array, packing: Packing, shape: tuple[int, ...]) -> Array:
    batch, panels, groups, _ = packed.shape
    apart = packed.reshape(batch, panels, groups, packing.columns, packing.group)
    rows = apart.transpose(0, 1, 2, 4, 3).reshape(batch, panels, -1, packing.columns)
    return rows[:, :, : math.prod(shape[axis] for axis in packing.depth)]


def unpack(packed: Array, packing: Packing, shape: tuple[int, ...]) -> Array:
    """The constant of this shape, from its panels."""
    if packing.group > 1:
        plain = replace(packing, group=1)
        return unpack(_ungrouped(packed, packing, shape), plain, shape)
    batch, panels, depth, _ = packed.shape
    order = (*packing.batch, *packing.depth, *packing.free)
    width = math.prod(shape[axis] for axis in packing.free) // packing.parts
    runs = packed.reshape(batch, panels, depth, packing.parts, packing.run)
    filled = batch, depth, packing.parts, panels * packing.run
    rows = runs.transpose(0, 2, 3, 1, 4).reshape(filled)[:, :, :, :width]
    found = rows.reshape([shape[axis] for axis in order]).transpose(np.argsort(order))
    return np.ascontiguousarray(found)


def aligned_zeros(shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array:
    """Zeros that start at a cache line."""
    size = math.prod(shape) * dtype.itemsize
    memory = np.zeros(size + ALIGNMENT, np.uint8)
    skip = -memory.ctypes.data % ALIGNMENT
    return memory[skip : skip + size].view(dtype).reshape(shape)
