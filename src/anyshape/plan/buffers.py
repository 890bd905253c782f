"""What a plan says of memory: who owns each buffer, and how large it is."""

from __future__ import annotations

from dataclasses import dataclass

from anyshape.ir.node import Value
from anyshape.lower.packing import Packing
from anyshape.ops.source import ConstantAttrs
from anyshape.plan.words import Sizes
from anyshape.sym import Dim

NOTHING = Dim.of(0)


@dataclass(frozen=True, slots=True)
class InputStore:
    """The memory of an input."""

    index: int


@dataclass(frozen=True, slots=True)
class OutputStore:
    """The memory of a result."""

    index: int


@dataclass(frozen=True, slots=True)
class ConstantStore:
    """A constant's memory, in panels if a matrix product reads it so."""

    constant: ConstantAttrs
    packing: Packing | None = None


@dataclass(frozen=True, slots=True)
class ArenaStore:
    """Memory in the arena, used from step `first` to step `last`.

    Buffers that are used at one step conflict. `conflicts` are the other ones: written later, but
    perhaps before the last use of this one is over.
    """

    first: int
    last: int
    conflicts: tuple[int, ...]
    per_worker: bool = False


@dataclass(frozen=True, slots=True)
class AliasStore:
    """Another name for a buffer, or for the part of it that begins `offset` bytes after its start.

    `in_place`: the value is written over another one that nobody needs any more.
    """

    of: int
    offset: Dim = NOTHING
    in_place: bool = False


BufferStore = InputStore | OutputStore | ConstantStore | ArenaStore | AliasStore


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
    store: BufferStore
    bytes: Dim
    only: ForVariant | None = None
