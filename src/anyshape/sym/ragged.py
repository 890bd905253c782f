"""Axes that are as long as the sequence at hand: those of all sequences lie end to end."""

from __future__ import annotations

from dataclasses import dataclass

from anyshape.base.errors import DimError
from anyshape.sym.dim import Dim


@dataclass(frozen=True, slots=True)
class RaggedAxis:
    """The packed axis `name`, whose size is the total length of `over` sequences."""

    name: str
    over: str

    def __post_init__(self) -> None:
        for what, text in (("name", self.name), ("over", self.over)):
            if not isinstance(text, str) or not text.isidentifier():  # pyright: ignore[reportUnnecessaryIsInstance]
                problem = f"the {what} of a ragged axis must be the name of an axis"
                raise DimError(repr(text), problem, 'write ragged("seq", over="batch")')
        if self.name == self.over:
            problem = "a ragged axis cannot be over itself: its sequences are counted by another"
            raise DimError(self.name, problem, f'write ragged("{self.name}", over="batch")')

    @property
    def total(self) -> Dim:
        return Dim.of(self.name)

    @property
    def places(self) -> Dim:
        """Of the offsets."""
        return Dim.of(self.over) + 1


def ragged(name: str, *, over: str) -> RaggedAxis:
    """The axis of sequences that lie end to end: `ash.f32[ash.ragged("seq", over="batch"), 64]`.

    A parameter that is declared so is given as a `Ragged`, by `pack` for example: the values of all
    sequences, `[seq, 64]`, where `seq` is their total length, and the offsets, `[batch + 1]`, from
    which to which each sequence goes.
    """
    return RaggedAxis(name, over)
