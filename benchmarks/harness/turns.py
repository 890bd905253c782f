"""Cases: contenders that take turns at one binding, after their results have been checked."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from benchmarks.harness.engines import EngineName, computes
from benchmarks.harness.model import Array, Binding, FileModel, Model
from benchmarks.harness.process import EngineError, EngineProcess, Timing

TOLERANCE = 1e-4  # of the largest value
CLEARLY_QUICKER = 0.98
OURS = "anyshape"
REFERENCE: EngineName = "torch"
REFERENCE_OF_FILES: EngineName = "onnxruntime"
Results: TypeAlias = tuple[Array, ...]


@dataclass(frozen=True)
class Contender:
    """Who takes part, by which name in the table. `python`: the interpreter of another environment,
    whose anyshape takes part instead of ours."""

    label: str
    engine: EngineName
    model: Model
    threads: int
    python: str = ""


@dataclass(frozen=True)
class Case:
    """A row: what is computed, and who computes it."""

    label: str
    binding: Binding
    contenders: tuple[Contender, ...]


def race(
    label: str, model: Model, binding: Binding, engines: Sequence[EngineName], threads: int
) -> Case:
    """The same model in several engines."""
    return Case(label, binding, tuple(Contender(e, e, model, threads) for e in engines))


@dataclass(frozen=True)
class Measured:
    """Timings of each contender, slice by slice; a failure instead where one did not take part."""

    case: Case
    timings: dict[str, list[Timing]] = field(default_factory=dict[str, list[Timing]])
    failures: dict[str, str] = field(default_factory=dict[str, str])

    def best(self, label: str) -> float:
        """Seconds of its quickest call; NaN if it failed."""
        return min((t.best for t in self.timings.get(label, ())), default=float("nan"))

    def median(self, label: str) -> float:
        """Seconds: the median of its slices' medians; NaN if it failed."""
        medians = [t.median for t in self.timings.get(label, ())]
        return statistics.median(medians) if medians else float("nan")

    @property
    def best_peer(self) -> float:
        """Seconds of the quickest call of any engine that is not ours."""
        peers = [c.label for c in self.case.contenders if computes(c.engine) and c.engine != OURS]
        return min((self.best(peer) for peer in peers if peer in self.timings), default=np.nan)


@dataclass(frozen=True)
class Effort:
    """How long to measure: rounds in which everybody has a slice of so many seconds.

    They go on until nobody's best call has become clearly quicker for `settled` rounds: on a busy
    machine it takes a while until everybody has had a call without disturbance.
    """

    seconds: float
    settled: int
    most: int


class Turns:
    """The processes of all engines that have been needed, and whose turn it is."""

    def __init__(self, effort: Effort) -> None:
        self._effort = effort
        self._processes: dict[tuple[EngineName, int, str], EngineProcess] = {}

    def measure(
        self, case: Case, progress: Callable[[str], None], effort: Effort | None = None
    ) -> Measured:
        """Everybody's time; their results are checked against a peer's before and after."""
        measured, effort = Measured(case), effort or self._effort
        self._check_all(measured, progress)
        quiet = rounds = 0
        while quiet < effort.settled and rounds < effort.most:
            quicker = self._round(measured, effort.seconds, progress)
            quiet = 0 if quicker else quiet + 1
            rounds += 1
        self._check_all(measured, progress)
        return measured

    def _check_all(self, measured: Measured, progress: Callable[[str], None]) -> None:
        """Those that fail take no part, or no longer: their timings mean nothing."""
        case, expected = measured.case, dict[tuple[Model, int], Results]()
        for contender in case.contenders:
            if contender.label in measured.failures:
                continue
            progress(f"{case.label}: checking {contender.label}")
            try:
                self._check(contender, case.binding, expected)
            except EngineError as error:
                measured.failures[contender.label] = str(error)
                measured.timings.pop(contender.label, None)

    def _round(self, measured: Measured, seconds: float, progress: Callable[[str], None]) -> bool:
        """A slice for everybody; whether somebody's best call became clearly quicker."""
        case, quicker = measured.case, False
        for contender in case.contenders:
            if contender.label in measured.failures:
                continue
            progress(f"{case.label}: {contender.label}")
            try:
                timing = self._process(contender).time(contender.model, case.binding, seconds)
            except EngineError as error:  # it died, or hangs; the others go on
                measured.failures[contender.label] = str(error)
                measured.timings.pop(contender.label, None)
                continue
            before = measured.best(contender.label)
            quicker |= not timing.best >= CLEARLY_QUICKER * before
            measured.timings.setdefault(contender.label, []).append(timing)
        return quicker

    def close(self) -> None:
        for process in self._processes.values():
            process.close()

    def _process(self, contender: Contender) -> EngineProcess:
        key = contender.engine, contender.threads, contender.python
        if key not in self._processes:
            self._processes[key] = EngineProcess(*key)
        return self._processes[key]

    def _check(
        self, contender: Contender, binding: Binding, expected: dict[tuple[Model, int], Results]
    ) -> None:
        """Builds the model, too: that happens at the first request."""
        model, threads = contender.model, contender.threads
        found = self._process(contender).outputs(model, binding)
        name = reference_of(model)
        if not computes(contender.engine) or contender.engine == name:
            return
        if (model, threads) not in expected:
            reference = self._process(Contender(name, name, model, threads))
            expected[model, threads] = reference.outputs(model, binding)
        require_close(found, expected[model, threads])


def reference_of(model: Model) -> EngineName:
    """Whose results are right: torch reads no ONNX files."""
    return REFERENCE_OF_FILES if isinstance(model, FileModel) else REFERENCE


def require_close(found: Sequence[Array], expected: Sequence[Array]) -> None:
    """Raises unless all results agree, relative to the largest value of each."""
    for ours, theirs in zip(found, expected, strict=True):
        if ours.shape != theirs.shape:
            raise EngineError(f"wrong result: shape {ours.shape}, expected {theirs.shape}")
        scale = float(np.max(np.abs(theirs), initial=np.finfo(np.float32).tiny))
        off = float(np.max(np.abs(ours - theirs), initial=0)) / scale
        if not off <= TOLERANCE:
            raise EngineError(f"wrong result: off by {off:.1e} of the largest value")
