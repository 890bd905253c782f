"""Results of a kernel that are reshapes: names for memory that is written without them.

Buffers are dense, so a value and a reshape of it have the same elements in the same order. A kernel
whose results end in reshapes is lowered without those: its loops, and its text, are those of the
kernel that knows nothing of the other shape.
"""

from __future__ import annotations

from dataclasses import replace

from anyshape.ir.node import Region, Value
from anyshape.ops.known import RESHAPE


def without_names(region: Region) -> Region:
    """The region with what is written to memory as its results; they may have other shapes then.

    Results of several shapes stay as they are: a kernel has one.
    """
    results = tuple(map(_written, region.results))
    one_shape = len({value.tensor.shape for value in results}) == 1
    return replace(region, results=results) if one_shape else region


def _written(value: Value) -> Value:
    while value.node.op is RESHAPE:
        value = value.node.operands[0]
    return value
