"""Larger handmade programs: a chain, a diamond, random graphs; and which buffers conflict."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from tests.unit.runtime.handmade import (
    Handmade,
    Sizes,
    add_kernel,
    double_kernel,
    matrices,
    multiply_kernel,
)

from anyshape.program import Address, ArenaStore
from anyshape.runtime.program import Program


def with_conflicts(made: Handmade) -> Handmade:
    """Fill in lifetimes and conflicts from who uses what and who waits for whom.

    The last address of a step's block is what it writes. Two buffers may share memory if all uses
    of one are, through waits, before the first write of the other.
    """
    before: list[set[int]] = []  # steps that are certainly done when a step starts
    for step in made.steps:
        before.append(set(step.waits).union(*(before[w] for w in step.waits)))
    uses: dict[int, list[int]] = {}
    for number, step in enumerate(made.steps):
        for source in step.block:
            if isinstance(source, Address):
                uses.setdefault(source.buffer, []).append(number)
    arena = [b for b, buffer in enumerate(made.buffers) if isinstance(buffer.store, ArenaStore)]

    def precedes(a: int, b: int) -> bool:
        return all(use in before[uses[b][0]] for use in uses[a])

    for b in arena:
        conflicts = [a for a in arena if a < b and not precedes(a, b) and not precedes(b, a)]
        store = replace(
            made.buffers[b].store,
            first=uses[b][0],
            last=uses[b][-1],
            conflicts=tuple(conflicts),
        )
        made.buffers[b] = replace(made.buffers[b], store=store)
    return made


def temporary(made: Handmade, sizes: Sizes) -> int:
    return made.buffer(ArenaStore(0, 0), sizes.nbytes)


def chain_program(**options: int) -> Program:
    """((a + b) + (a + b)) * b + a: three temporaries in the memory of two."""
    made = Handmade()
    sizes = matrices(made, ["a", "b"])
    t0, t1, t2 = (temporary(made, sizes) for _ in range(3))
    out = made.output([sizes.m, sizes.n], sizes.nbytes)
    n, tasks = sizes.count, sizes.tasks
    s0 = made.step(add_kernel(), [0, 1, t0], n, tasks)
    s1 = made.step(double_kernel(), [t0, t1], n, tasks, [s0])
    s2 = made.step(multiply_kernel(), [t1, 1, t2], n, tasks, [s1])
    made.step(add_kernel(), [t2, 0, out], n, tasks, [s2])
    return with_conflicts(made).program(**options)


def chain_reference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return ((a + b) + (a + b)) * b + a


def diamond_program(**options: int) -> Program:
    """(2a) * (a + b) and 4a: two branches that do not wait for each other."""
    made = Handmade()
    sizes = matrices(made, ["a", "b"])
    t0, t1 = (temporary(made, sizes) for _ in range(2))
    product = made.output([sizes.m, sizes.n], sizes.nbytes)
    fourfold = made.output([sizes.n, sizes.m], sizes.nbytes)
    n, tasks = sizes.count, sizes.tasks
    left = made.step(double_kernel(), [0, t0], n, tasks)
    right = made.step(add_kernel(), [0, 1, t1], n, tasks)
    made.step(multiply_kernel(), [t0, t1, product], n, tasks, [left, right])
    made.step(double_kernel(), [t0, fourfold], n, tasks, [left])
    return with_conflicts(made).program(**options)


@dataclass(frozen=True)
class RandomGraph:
    """A program, and the same computed by NumPy."""

    program: Program
    operations: tuple[tuple[int, int, int], ...]  # kernel, operands; values in order, inputs first

    def reference(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        values = [a, b]
        for kernel, x, y in self.operations:
            values.append([values[x] + values[y], (values[x] + values[x]) * np.float32(1)][kernel])
        return values[-1]


def random_graph(seed: int, steps: int, **options: int) -> RandomGraph:
    """Each step reads values made shortly before; the last one is the result."""
    rng = random.Random(seed)
    made = Handmade()
    sizes = matrices(made, ["a", "b"])
    values = [0, 1]  # buffers
    producer: dict[int, int] = {}  # step, by value
    operations: list[tuple[int, int, int]] = []
    for number in range(steps):
        kernel = rng.randrange(2)
        x, y = (rng.randrange(max(0, len(values) - 6), len(values)) for _ in range(2))
        last = number == steps - 1
        result = made.output([sizes.m, sizes.n], sizes.nbytes) if last else temporary(made, sizes)
        operands: Sequence[int] = [x, y] if kernel == 0 else [x]
        waits = sorted({producer[value] for value in operands if value in producer})
        made.step(
            [add_kernel, double_kernel][kernel](),
            [*(values[value] for value in operands), result],
            sizes.count,
            sizes.tasks,
            waits,
        )
        producer[len(values)] = number
        values.append(result)
        operations.append((kernel, x, y))
    return RandomGraph(with_conflicts(made).program(**options), tuple(operations))
