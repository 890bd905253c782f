"""Frames: the place in the kernel at which a statement is written, and what it can refer to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from anyshape.codegen.llvm.emit.lanes import Lanes, Tile
from anyshape.codegen.llvm.emit.scope import Scope
from anyshape.codegen.llvm.emit.types import I64, POINTER, register_type
from anyshape.codegen.llvm.isa import InstructionSet
from anyshape.codegen.llvm.math.boundary import Builder, Type, Value, ir
from anyshape.ir.types import DType
from anyshape.sym import Predicate

Conditions = tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Slot:
    """Where an accumulator lives: stack memory, which LLVM turns into registers.

    One for each part of the tile, or one scalar (`lanes` is None).
    """

    op: str
    dtype: DType
    lanes: int | None
    places: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """What the whole function shares."""

    isa: InstructionSet
    stack: Builder  # writes into the function's first block
    pointers: Mapping[str, Value]  # the address of each buffer
    checked: Mapping[int, Conditions]  # by id: statements that may write or read outside
    streams: Value | None = None  # whether results go past the caches; None is never

    def slot(self, op: str, dtype: DType, tile: Tile | None) -> Slot:
        lanes, parts = (tile.lanes, tile.parts) if tile else (None, 1)
        kind = register_type(dtype, lanes)
        return Slot(op, dtype, lanes, tuple(self.reserve(kind) for _ in range(parts)))

    def reserve(self, kind: Type) -> Value:
        """Room on the stack."""
        place = self.stack.alloca(kind)
        place.type = POINTER  # llvmlite still writes `float*`, which LLVM merely tolerates
        return place

    def spare(self, lanes: int | None) -> Value:
        """Memory that may be read and written instead of what must not be touched."""
        return self.reserve(ir.ArrayType(I64, lanes or 1))

    def filled(self, element: Value, lanes: int) -> Value:
        """Memory with so many elements that are all this constant."""
        kind = ir.VectorType(element.type, lanes)
        place = self.reserve(kind)
        self.stack.store(ir.Constant(kind, [element] * lanes), place)
        return place


@dataclass(frozen=True, slots=True)
class Frame:
    """See the module. Frames are replaced, not changed, but for `locals`, which each body fills."""

    unit: Unit
    scope: Scope
    loads: Scope  # inside the innermost loop's test that it runs at all: unchanging loads go here
    stored: frozenset[str] = frozenset()  # buffers written in the innermost loop
    tile: Tile | None = None
    mask: Lanes | None = None  # which lanes exist; None is all
    streaming: bool = False  # vectors that are stored go past the caches, and are aligned
    known: Mapping[Predicate, bool] = field(default_factory=dict[Predicate, bool])
    locals: dict[str, Lanes] = field(default_factory=dict[str, Lanes])
    slots: Mapping[str, Slot] = field(default_factory=dict[str, Slot])

    @property
    def b(self) -> Builder:
        return self.scope.b

    def inside(self, scope: Scope, loads: Scope, stored: frozenset[str]) -> Frame:
        """In the body of a loop."""
        return replace(self, scope=scope, loads=loads, stored=stored, locals=dict(self.locals))
