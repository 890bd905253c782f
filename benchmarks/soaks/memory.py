"""Resident memory over a stream of random shapes, side by side with other engines.

Each engine runs the same stream in a process of its own. Two figures, against processes that only
ever saw one shape:

    level   the most that was resident in the second half of the stream, over what the largest shape
            alone needs. The goal is 1.3: memory follows the largest, not the number of shapes.
    after   what is resident at the end, after trim() where there is one, over what the smallest
            shape alone needs. The goal is 1.5.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from resource import getpagesize

import numpy as np
from benchmarks.harness.engines import EngineName, build
from benchmarks.harness.model import Array, Binding, WrittenModel, size
from benchmarks.harness.process import in_fresh_process
from benchmarks.harness.report import Row, Table, at_most, number
from benchmarks.harness.session import Session
from benchmarks.soaks.chart import MIB, chart
from benchmarks.workloads.encoder import Encoder
from benchmarks.workloads.mlp import Mlp

THREADS = 2
BINDINGS, QUICK_BINDINGS = 10_000, 1_000
SAMPLES = 60  # of resident memory over a stream
CALLS_ALONE = 30  # of one shape, for what it needs alone
LEVEL_GOAL, AFTER_GOAL = 1.3, 1.5
ENGINES: tuple[EngineName, ...] = ("anyshape", "onnxruntime", "openvino")
PROCESSES = 4  # for each engine and stream


@dataclass(frozen=True)
class Stream:
    """Random bindings of a model: each axis between 1 and its largest size, small ones often."""

    name: str
    model: WrittenModel
    largest: Mapping[str, int]

    @property
    def smallest(self) -> Binding:
        return dict.fromkeys(self.largest, 1)

    def bindings(self, count: int) -> Iterator[Binding]:
        """The largest of all comes once, in the first half."""
        rng = np.random.default_rng(5)
        for number_ in range(count):
            drawn = {
                axis: int(math.exp(rng.uniform(0, math.log(most + 1))))
                for axis, most in self.largest.items()
            }
            yield self.largest if number_ == count // 4 else drawn


STREAMS = (
    Stream("perceptron, 3 × 128", Mlp(128), {"batch": 16_384}),
    Stream("encoder, 2 × 64", Encoder(2, 64, 2), {"batch": 32, "seq": 256}),
)


@dataclass(frozen=True)
class Residence:
    """Bytes that were resident: now and then, and after everything that was idle was given back."""

    samples: tuple[int, ...]
    after: int

    @property
    def level(self) -> int:
        return max(self.samples[len(self.samples) // 2 :])


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * getpagesize()


def run_stream(
    name: EngineName, model: WrittenModel, largest: Binding, bindings: Sequence[Binding]
) -> Residence:
    """In a process of its own. All inputs are views of one array, which counts for every engine."""
    inputs = model.inputs(largest)
    engine = build(name, model, THREADS)
    every = max(1, len(bindings) // SAMPLES)
    samples: list[int] = []
    for done, binding in enumerate(bindings, 1):
        result = engine.call(part_of(inputs, model, binding))()
        del result
        if done % every == 0:
            samples.append(resident())
    gc.collect()
    engine.trim()
    return Residence(tuple(samples), resident())


def part_of(inputs: Sequence[Array], model: WrittenModel, binding: Binding) -> tuple[Array, ...]:
    shapes = ([size(dim, binding) for dim in shape] for shape in model.signature.values())
    pairs = zip(inputs, shapes, strict=True)
    return tuple(array.reshape(-1)[: math.prod(shape)].reshape(shape) for array, shape in pairs)


@dataclass(frozen=True)
class Measured:
    """One engine on one stream, and what its largest and its smallest shape need alone."""

    engine: EngineName
    stream: Residence
    largest: int
    smallest: int

    @property
    def level(self) -> float:
        return self.stream.level / self.largest

    @property
    def after(self) -> float:
        return self.stream.after / self.smallest


def measure(
    name: EngineName, stream: Stream, count: int, advance: Callable[[str], None]
) -> Measured:
    def residence(what: str, bindings: Sequence[Binding]) -> Residence:
        arguments = (name, stream.model, stream.largest, bindings)
        advance(f"{name}, {what}")
        return in_fresh_process(run_stream, *arguments, threads=THREADS)

    residence("compiling", [stream.smallest])  # kernels are left in files; the rest goes
    largest = residence("largest", [stream.largest] * CALLS_ALONE)
    smallest = residence("smallest", [stream.smallest] * CALLS_ALONE)
    whole = residence(f"{count:,} shapes", list(stream.bindings(count)))
    return Measured(name, whole, max(largest.samples), max(smallest.samples))


def memory(session: Session, title: str) -> None:
    """Every stream, by every engine that takes part."""
    count = QUICK_BINDINGS if session.quick else BINDINGS
    engines = session.taking_part(ENGINES)
    for stream in STREAMS:
        with session.progress(title, PROCESSES * len(engines)) as advance:
            measured = [measure(name, stream, count, advance) for name in engines]
        session.show(_table(f"{title}: {stream.name}, {count:,} random shapes", measured))
        curves = {one.engine: one.stream.samples for one in measured}
        session.print(*chart(curves))
        session.record(f"memory: {stream.name}", curves)


def _table(title: str, measured: Sequence[Measured]) -> Table:
    columns = ("largest alone", "level", "smallest alone", "after", "after ÷ smallest")
    return Table(title, columns, tuple(map(_row, measured)), "level ÷ largest")


def _row(measured: Measured) -> Row:
    stream, ours = measured.stream, measured.engine == "anyshape"
    sizes = (measured.largest, stream.level, measured.smallest, stream.after)
    met = at_most(measured.level, LEVEL_GOAL) and at_most(measured.after, AFTER_GOAL)
    return Row(
        measured.engine,
        (*(f"{bytes_ / MIB:,.0f} MiB" for bytes_ in sizes), number(measured.after)),
        number(measured.level),
        f"≤ {LEVEL_GOAL}, ≤ {AFTER_GOAL}" if ours else "",
        met if ours else None,
    )
