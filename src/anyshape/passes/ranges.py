"""Parts of values: what is needed of one axis, or of several.

words:
    part      elements of one axis: those from a start to a stop, in steps
    window    a part for each of some axes; the other axes are needed whole
    cut       a part of one axis of a node's result, which is all that is needed of it
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from anyshape.ir.node import Node
from anyshape.ir.types import Shape
from anyshape.sym import Answer, Dim, Equal, FactScope, Symbol, ceildiv


@dataclass(frozen=True, slots=True)
class Part:
    """Of an axis, every `step`-th element from `start` to before `stop`."""

    start: Dim
    stop: Dim
    step: int = 1

    @property
    def size(self) -> Dim:
        return ceildiv(self.stop - self.start, self.step)

    @property
    def symbols(self) -> frozenset[Symbol]:
        return self.start.symbols | self.stop.symbols

    def of(self, outer: Part) -> Part | None:
        """This part of another part; with steps in that, its end has no simple expression."""
        if outer.step != 1:
            return None
        return Part(outer.start + self.start, outer.start + self.stop, self.step)

    def __str__(self) -> str:
        return f"{self.start}:{self.stop}" + (f":{self.step}" if self.step != 1 else "")


Window = Mapping[int, Part]

WHOLE: Window = {}


@dataclass(frozen=True, slots=True)
class Cut:
    """A part of one axis of a node's result, and the facts to decide by."""

    node: Node
    axis: int
    part: Part
    scope: FactScope

    @property
    def shape(self) -> Shape:
        return self.node.result().tensor.shape

    @property
    def size(self) -> Dim:
        """Of the whole axis."""
        return self.shape[self.axis]

    def same(self, one: Dim, other: Dim) -> bool:
        return one is other or self.scope.proves(Equal(one, other)) is Answer.TRUE

    def aligned(self, shape: Shape) -> int | str | None:
        """The axis of an operand that broadcasts to the cut one: None if it repeats along that."""
        axis = self.axis - len(self.shape) + len(shape)
        if axis < 0:
            return None
        if self.same(shape[axis], self.size):
            return axis
        return None if shape[axis] == 1 else f"{shape[axis]} may or may not repeat"
