"""What a plan says of memory: whose memory each buffer is, its size, and the constants it reads.

Whose memory it is, is said with the stores of `anyshape.program`, in dims.
"""

from __future__ import annotations

from dataclasses import dataclass

from anyshape.ir.node import Value
from anyshape.level2.words import Sizes
from anyshape.lower.packing import Packing
from anyshape.ops.source import ConstantAttrs
from anyshape.program import Store
from anyshape.sym import Dim

NOTHING = Dim.of(0)


@dataclass(frozen=True, slots=True)
class ConstantPlan:
    """A constant that kernels read, in panels if a matrix product reads it so."""

    constant: ConstantAttrs
    packing: Packing | None = None


@dataclass(frozen=True, slots=True)
class ForVariant:
    """That a buffer is needed only if one of several costs is the least: costs, and the bytes that
    are needed then, in sizes of a kernel's own."""

    costs: tuple[Dim, ...]
    index: int
    bytes: Dim
    sizes: Sizes


@dataclass(frozen=True, slots=True)
class BufferPlan:
    """The memory of a value, or of a workspace, which has none: its bytes are for one worker."""

    value: Value | None
    store: Store[Dim]
    bytes: Dim
    only: ForVariant | None = None
