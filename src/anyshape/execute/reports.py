"""What a Specialization says of itself: memory, steps and their costs, as data that prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from anyshape.observe.table import amount, byte_text, table, time_text

CONSTANT = "constant"
"""The place of whatever the Executable holds."""


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """Bytes that one run at a binding needs. No plan needs fewer than `lower_bound` in its arena.

    `aliased` were saved by results that are names for parts of other buffers, `in_place` by results
    that are written over an operand. Weights are held once, whatever the number of bindings.
    """

    arena: int
    lower_bound: int
    aliased: int
    in_place: int
    outputs: int
    weights: int

    @property
    def ratio(self) -> float:
        """Arena to lower bound; 1 is as good as possible."""
        return self.arena / self.lower_bound if self.lower_bound else 1.0

    def __str__(self) -> str:
        return (
            f"arena {byte_text(self.arena)} ({self.ratio:.2f} of the lower bound), "
            f"saved by aliases {byte_text(self.aliased)}, in place {byte_text(self.in_place)}; "
            f"results {byte_text(self.outputs)}, weights {byte_text(self.weights)}"
        )


class ArenaPart(NamedTuple):
    """A buffer in the arena: where it lies, and the first and the last step that use it."""

    buffer: int
    offset: int
    bytes: int
    first: int
    last: int


class StepEffort(NamedTuple):
    """What a step does at a binding: flops of products, other operations, bytes moved."""

    flops: int
    operations: int
    bytes: int


@dataclass(frozen=True, slots=True)
class VariantCost:
    """A way to do a step, and the nanoseconds that it would take on all threads."""

    name: str
    nanoseconds: float
    chosen: bool


@dataclass(frozen=True, slots=True)
class StepCost:
    """What a step takes on one thread, as estimated; None if unknown. The least variant is taken.

    `variants` are empty where there is one way only.
    """

    name: str
    tasks: int
    split: bool  # whether threads share the tasks
    nanoseconds: float | None
    variants: tuple[VariantCost, ...] = ()

    @property
    def variant(self) -> str:
        """The one that runs and the others, each with what it takes on all threads."""
        texts = {v: f"{v.name} {time_text(v.nanoseconds)}" for v in self.variants}
        won = [text for v, text in texts.items() if v.chosen]
        lost = [text for v, text in texts.items() if not v.chosen]
        return " ".join(won + ([f"(not {', '.join(lost)})"] if lost else []))


@dataclass(frozen=True, slots=True)
class CostReport:
    """Estimates by which level 2 chooses; nobody should read them as promises. Steps are those of
    one of `parts`."""

    steps: tuple[StepCost, ...]
    parts: int = 1

    @property
    def nanoseconds(self) -> float | None:
        """Of all steps on one thread; None if some step is unknown."""
        known = [step.nanoseconds for step in self.steps if step.nanoseconds is not None]
        return sum(known) * self.parts if len(known) == len(self.steps) else None

    def __str__(self) -> str:
        head = ("", "kernel", "tasks", "split", "estimate", "variant")
        rows = [_cost_row(number, step) for number, step in enumerate(self.steps)]
        return "\n".join(
            [*table(head, rows), f"  all on one thread: {time_text(self.nanoseconds)}"]
        )


def _cost_row(number: int, step: StepCost) -> Sequence[str]:
    split = "yes" if step.split else "no"
    estimate = time_text(step.nanoseconds)
    return (str(number), step.name, str(step.tasks), split, estimate, step.variant)


@dataclass(frozen=True, slots=True)
class EconomyReport:
    """What a call does to fit into a limit: it runs in `parts` of `size` along an axis, if they are
    several, one step after the other, and some steps `again`, by number and name. Nanoseconds are
    estimates on one thread, None where unknown."""

    parts: int
    axis: str
    size: int
    again: tuple[tuple[int, str], ...]
    again_nanoseconds: float
    nanoseconds: float | None
    usual_arena: int
    usual_nanoseconds: float | None

    def __str__(self) -> str:
        return f"{', '.join(self._means())}; {self._price()}"

    def _means(self) -> list[str]:
        means = ["one step after the other"]
        if self.parts > 1:
            means.insert(0, f"{self.parts} parts along '{self.axis}', {self.size} in the first")
        if self.again:
            steps = ", ".join(f"{number} ({name})" for number, name in self.again)
            means.append(f"computed again: {steps} for {time_text(self.again_nanoseconds)}")
        return means

    def _price(self) -> str:
        arena = f"the usual arena has {byte_text(self.usual_arena)}"
        if self.nanoseconds is None or not self.usual_nanoseconds:
            return arena
        return f"{arena}; {self.nanoseconds / self.usual_nanoseconds:.2f} of the usual estimate"


@dataclass(frozen=True, slots=True)
class StepReport:
    """One step at a binding: what it computes, in how many tasks, and where its buffers lie."""

    number: int
    results: tuple[str, ...]  # types, such as f32[8, 128]
    cost: StepCost
    reads: tuple[str, ...]
    writes: tuple[str, ...]


def step_table(steps: Sequence[StepReport]) -> list[str]:
    """One line for each step."""
    head = ("", "kernel", "result", "tasks", "estimate", "variant", "reads", "writes")
    return table(head, [_step_row(step) for step in steps])


def _step_row(step: StepReport) -> Sequence[str]:
    return (
        str(step.number),
        step.cost.name,
        ", ".join(step.results),
        str(step.cost.tasks),
        time_text(step.cost.nanoseconds),
        step.cost.variant,
        ", ".join(_counted(step.reads)),
        ", ".join(step.writes),
    )


def _counted(places: Sequence[str]) -> list[str]:
    """What is read, constants last and all in one."""
    constants = sum(place == CONSTANT for place in places)
    others = [place for place in places if place != CONSTANT]
    return [*others, amount(constants, CONSTANT)] if constants else others
