"""Which memory each step touches, and which steps it has to wait for because of that.

Buffers and steps are numbers here; steps are in the order in which they are taken up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Pairs = frozenset[tuple[int, int]]
"""An operand and a result, by position: results come after operands."""


@dataclass(frozen=True, slots=True)
class StepBuffers:
    """The buffers of a step: what each operand is a name of, its results, its workspaces.

    `others` are what a carrier reads only for other members of its chain (`chain_tables.py`).
    `overwritable` pairs may be one memory, those of `removable_copies` may if the kernel does not
    copy the one to the other.
    """

    operands: tuple[int, ...]
    results: tuple[int, ...]
    workspaces: tuple[int, ...] = ()
    overwritable: Pairs = frozenset()
    removable_copies: Pairs = frozenset()
    others: tuple[int, ...] = ()

    @property
    def read(self) -> tuple[int, ...]:
        return (*self.operands, *self.others)

    @property
    def written(self) -> tuple[int, ...]:
        return (*self.results, *self.workspaces)

    @property
    def used(self) -> tuple[int, ...]:
        return (*self.read, *self.written)


Waits = tuple[tuple[int, ...], ...]
"""For each step the earlier ones that must be over when it starts, in ascending order."""


def writers_of(steps: Sequence[StepBuffers], appended: Mapping[int, int]) -> dict[int, int]:
    """The step that writes each buffer; of one that continues an input, the step that writes what
    is appended. `appended` are the buffers of those parts, with those that they lie in."""
    writers = {buffer: number for number, step in enumerate(steps) for buffer in step.written}
    return writers | {whole: writers[part] for part, whole in appended.items()}


def waits_of(steps: Sequence[StepBuffers], writers: Mapping[int, int]) -> Waits:
    """A step waits for those that write its operands."""
    return tuple(
        tuple(sorted({writers[buffer] for buffer in step.read if buffer in writers}))
        for step in steps
    )
