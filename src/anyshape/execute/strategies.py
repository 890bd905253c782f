"""Strategy analysis: for each axis the technique in use, the others, and what each would cost.

Sizes are those of profiled calls, else likely ones, else a spread over what the axis allows. What
a call at some sizes costs is asked of level 2 (`Executor.estimate`): by the costs that it chooses
kernels by, so that an answer takes microseconds and nothing runs. Where calls were timed, estimates
are scaled to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Final

from anyshape.base.errors import (
    CapabilityError,
    DimError,
    MemoryLimitError,
    RefusedCaseError,
    ShapeError,
    UncapturedCaseError,
)
from anyshape.dynamic.buckets import learn_buckets
from anyshape.execute.caching_executor import CachingExecutor
from anyshape.execute.call_profile import CallProfile
from anyshape.execute.executor import Executor
from anyshape.execute.hot_executor import HotExecutor
from anyshape.execute.notes import GraphNotes
from anyshape.execute.padding_executor import PaddingExecutor
from anyshape.ir.types import TensorType
from anyshape.observe.strategies import Alternative, AxisStrategy, Strategies, Technique
from anyshape.observe.table import byte_text, time_text
from anyshape.runtime.program import Estimate
from anyshape.sym import Axis, Dim, Symbol

LEARNED: Final = 4
"""So many buckets are tried where none are declared."""

MOST_BINDINGS: Final = 64
"""Of profiled bindings, the most frequent are asked about."""

ASSUMED_MOST: Final = 512
"""Where nothing bounds an axis, sizes up to this one are assumed."""

ASSUMED_USUAL: Final = 8
"""And of other axes, the first of these sizes from this one on."""

UNKNOWN = (CapabilityError, ShapeError, DimError, MemoryLimitError, RefusedCaseError)

Binding = Mapping[str, int]
Weighted = tuple[Binding, float]  # and the share of calls that have it


@dataclass(frozen=True, slots=True)
class Expectation:
    """Of calls: seconds, the most bytes, and how many different bindings there are for a call."""

    seconds: float
    memory: int
    new: float


class Costs:
    """What calls cost at some bindings, as level 2 sees it."""

    def __init__(self, executor: Executor, profile: CallProfile) -> None:
        self._executor = executor
        self._estimate = executor.estimate
        self._known: dict[tuple[tuple[str, int], ...], Estimate | None] = {}
        self._spent: list[float] = []
        self.scale = 1.0
        self.scale = self._measured_scale(profile)

    def unpadded(self) -> Costs | None:
        """Of the same program where nothing is padded; None if it pads nothing."""
        if not isinstance(self._executor, PaddingExecutor):
            return None
        costs = Costs(self._executor, CallProfile())
        costs._estimate, costs.scale = self._executor.unpadded_estimate, self.scale
        return costs

    def at(self, binding: Binding) -> Estimate | None:
        """None where the model takes no such sizes, or no cost is known ahead."""
        key = tuple(sorted(binding.items()))
        if key not in self._known:
            self._known[key] = self._asked(binding)
        return self._known[key]

    def _asked(self, binding: Binding) -> Estimate | None:
        started = perf_counter()
        try:
            found = self._estimate(binding)
        except (*UNKNOWN, UncapturedCaseError):
            return None
        self._spent.append(perf_counter() - started)
        if found is None or found.seconds is None:
            return None
        return found._replace(seconds=found.seconds * self.scale)

    def _measured_scale(self, profile: CallProfile) -> float:
        """Measured seconds to estimated ones."""
        measured = estimated = 0.0
        for each in profile.seen[:MOST_BINDINGS]:
            found = self.at(each.binding)
            if found is not None and found.seconds:
                measured += each.calls * each.seconds
                estimated += each.calls * found.seconds
        self._known.clear()
        return measured / estimated if measured and estimated else 1.0

    @property
    def level_2(self) -> float | None:
        """Seconds of a new binding: those that were made, else those that were asked about."""
        metrics = self._executor.metrics()
        if metrics.misses:
            return metrics.specialize_ns / metrics.misses / 1e9
        return min(self._spent, default=None)

    def expected(self, bindings: Iterable[Weighted], calls: int) -> Expectation | None:
        """None if there are none, or no cost is known for one of them."""
        seconds, memory, different = 0.0, 0, set[tuple[tuple[str, int], ...]]()
        for binding, share in bindings:
            found = self.at(binding)
            if found is None or found.seconds is None:
                return None
            seconds += share * found.seconds
            memory = max(memory, found.arena + found.results)
            different.add(tuple(sorted(binding.items())))
        if not different:
            return None
        new = len(different) / calls if calls else 0.0
        return Expectation(seconds + new * (self.level_2 or 0.0), memory, new)


def strategies_of(notes: GraphNotes, executor: Executor, profile: CallProfile) -> Strategies:
    """Of each axis that calls choose, and of those that the graph computes."""
    axes = notes.bindings.axes
    costs, seen = Costs(executor, profile), _seen(profile)
    found = [
        _Axis(axis, notes, costs, seen or _assumed(axis, axes, costs), profile).strategy()
        for axis in axes
    ]
    late = [
        AxisStrategy(symbol.name, Alternative("late", "the graph computes this size as it runs"))
        for symbol in sorted(notes.graph.body.born, key=lambda symbol: symbol.name)
    ]
    hot = _hot_lines(executor)
    return Strategies(notes.name, (*found, *late), profile.calls, costs.level_2, hot)


def _hot_lines(executor: Executor) -> tuple[str, ...]:
    """Of the executor that knows, behind others."""
    if isinstance(executor, HotExecutor):
        return executor.hot_lines()
    if isinstance(executor, CachingExecutor):
        return _hot_lines(executor.executor)
    return ()


# --- sizes ----------------------------------------------------------------------------------------


def _seen(profile: CallProfile) -> list[Weighted]:
    top = profile.seen[:MOST_BINDINGS]
    calls = sum(each.calls for each in top)
    return [(each.binding, each.calls / calls) for each in top]


def _assumed(axis: Axis, axes: Sequence[Axis], costs: Costs) -> list[Weighted]:
    """The axis at several sizes, the others at a usual one; as far as the model takes them."""
    others = {each.name: _usual(each) for each in axes}
    bindings = [{**others, axis.name: size} for size in _spread(axis)]
    taken = [binding for binding in bindings if costs.at(binding) is not None]
    return [(binding, 1 / len(taken)) for binding in taken]


def _usual(axis: Axis) -> int:
    """The likeliest size, else a small one."""
    if axis.likely:
        return axis.likely[0]
    return next((size for size in _spread(axis) if size >= ASSUMED_USUAL), axis.min)


def _spread(axis: Axis) -> list[int]:
    """Likely sizes, else some of those that are allowed."""
    if axis.likely:
        return list(axis.likely)
    most = ASSUMED_MOST if axis.max is None else axis.max
    step = axis.multiple_of
    parts = (most * part // 8 for part in range(1, 9))
    wanted = {max(axis.min, size) for size in (1, ASSUMED_USUAL, *parts)}
    sizes = {min(-(-size // step) * step, most) for size in wanted}
    return sorted(size for size in sizes if axis.contains(size))


# --- one axis -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Axis:
    """What there is to say of one axis."""

    axis: Axis
    notes: GraphNotes
    costs: Costs
    seen: Sequence[Weighted]
    profile: CallProfile

    def strategy(self) -> AxisStrategy:
        name, reasons = self.axis.name, tuple(self._reasons())
        if self.axis.symbol in ragged_axes(self.notes):
            why = "sequences lie end to end, and nothing is computed for padding"
            return AxisStrategy(name, self._timed("ragged", why, self.seen), reasons)
        every = (self._exact(), self._buckets(), self._static(), self._ragged())
        known = {each.technique: each for each in every if each is not None}
        used = known.pop("static" if self.axis.static else "buckets" if self._pads else "exact")
        others = tuple(known.values())
        return AxisStrategy(name, used, reasons, others, tuple(self._changes(used, others)))

    @property
    def _pads(self) -> bool:
        return bool(self.axis.buckets)

    # --- techniques ---------------------------------------------------------------------------

    def _timed(self, technique: Technique, why: str, bindings: Sequence[Weighted]) -> Alternative:
        found = self.costs.expected(bindings, self.profile.calls)
        if found is None:
            return Alternative(technique, f"{why}; what it costs is not known ahead")
        return Alternative(technique, why, found.seconds, found.memory)

    def _exact(self) -> Alternative:
        why = "each size has a binding of its own"
        unpadded = self.costs.unpadded() if self._pads else None
        if unpadded is None:
            return self._timed("exact", why, self.seen)
        return replace(self, costs=unpadded)._timed("exact", why, self.seen)

    def _buckets(self) -> Alternative:
        if not self.seen or not self._sizes:
            return Alternative("buckets", "no size is known that it takes", possible=False)
        padded = self.axis if self._pads else self._learned()
        rule = padded.padding
        assert rule is not None
        sizes = {size: rule.padded(size)[0] for size in self._sizes}
        given = sum(share * size for size, share in self._sizes.items())
        taken = sum(share * sizes[size] for size, share in self._sizes.items())
        listed = padded.buckets if isinstance(padded.buckets, str) else list(padded.buckets)
        waste = 1 - given / taken if taken else 0.0
        why = f"buckets {listed} compute {100 * waste:.1f} % padding, and copy arrays into it"
        name = self.axis.name
        bindings = [({**b, name: sizes.get(b[name], b[name])}, share) for b, share in self.seen]
        return self._timed("buckets", why, self.seen if self._pads else bindings)

    def _learned(self) -> Axis:
        """As many buckets as are tried, for the sizes there are."""
        counts = [size for size, share in self._sizes.items() for _ in range(_times(share))]
        return replace(self.axis, buckets=learn_buckets(counts, LEARNED), static=False)

    @property
    def _sizes(self) -> dict[int, float]:
        """The shares of calls that have a size, 0 left out: nothing is padded there."""
        shares: dict[int, float] = {}
        for binding, share in self.seen:
            if binding[self.axis.name] > 0:
                size = binding[self.axis.name]
                shares[size] = shares.get(size, 0.0) + share
        return shares

    def _static(self) -> Alternative:
        axes = self.notes.bindings.axes
        free = [each.name for each in axes if each.max is None]
        if free:
            problem = f"no max is declared for {', '.join(free)}"
            return Alternative("static", problem, possible=False)
        if self._pads:
            problem = "calls are padded in new arrays; drop the buckets for it"
            return Alternative("static", problem, possible=False)
        greatest = {each.name: each.max or 0 for each in axes}
        most = self.costs.at(greatest)
        if most is None:
            return Alternative("static", "the greatest sizes have no plan", possible=False)
        found = self.costs.expected(self.seen, 0)
        why = "exact sizes in memory for the greatest, taken once"
        held = most.arena + most.results
        return Alternative("static", why, found.seconds if found else None, held)

    def _ragged(self) -> Alternative | None:
        """Where an encoder's batch is padded to its longest sequence, and a mask says how far."""
        symbol = self.axis.symbol
        pairs = [(n, t.shape) for n, t in self.notes.inputs if len(t.symbols) == 2]
        padded = [name for name, shape in pairs if shape[-1].symbols == frozenset({symbol})]
        if not any("mask" in name for name in padded):
            return None
        why = f"compile(..., ragged='{self.axis.name}') computes no padding inside batches"
        return Alternative("ragged", f"{why}; it pays by as much as these are padded")

    # --- reasons ------------------------------------------------------------------------------

    def _reasons(self) -> Iterable[str]:
        axis = self.axis
        yield f"sizes are {axis.ranges_text}" + ("" if axis.max is not None else ", unbounded")
        counts = self.profile.sizes(axis.name)
        if counts:
            top = sorted(counts.items(), key=lambda item: -item[1])[:3]
            share = 100 * sum(calls for _, calls in top) / sum(counts.values())
            listed = ", ".join(str(size) for size, _ in top)
            yield f"{len(counts)} sizes were seen; {listed} make {share:.0f} % of calls"
        level_2 = self.costs.level_2
        found = self.costs.expected(self.seen, 0)
        if level_2 is not None and found is not None and found.seconds:
            part = 100 * level_2 / found.seconds
            yield f"a new size costs {time_text(1e9 * level_2)}, {part:.2g} % of a call"

    def _changes(self, used: Alternative, others: Sequence[Alternative]) -> Iterable[str]:
        for other in others:
            match used.technique, other.technique:
                case "exact", "buckets":
                    yield from self._towards_buckets(used, other)
                case _, "static" if other.possible and other.memory is not None:
                    memory = byte_text(other.memory)
                    yield f"no call may wait for memory: static=True on all axes holds {memory}"
                case "buckets", "exact":
                    yield from self._away_from_buckets(used, other)
                case _:
                    pass

    def _away_from_buckets(self, buckets: Alternative, exact: Alternative) -> Iterable[str]:
        if buckets.seconds is None or exact.seconds is None:
            return
        padding = buckets.seconds - exact.seconds
        if padding > 0:
            cost = time_text(1e9 * padding)
            yield f"memory of one size is not what matters: exact sizes take {cost} less a call"
        else:
            yield "sizes came from fewer values: exact sizes take no less here"

    def _towards_buckets(self, exact: Alternative, buckets: Alternative) -> Iterable[str]:
        level_2 = self.costs.level_2
        if not buckets.possible or None in (exact.seconds, buckets.seconds, level_2):
            return
        assert exact.seconds is not None
        assert buckets.seconds is not None
        padding = buckets.seconds - exact.seconds
        if padding <= 0:
            yield "fewer sizes are wanted: buckets cost no more here"
        elif level_2:
            yield (
                f"a call met more than {padding / level_2:,.0f} new sizes: padding costs "
                f"{time_text(1e9 * padding)} a call"
            )


def ragged_axes(notes: GraphNotes) -> frozenset[Symbol]:
    """Axes whose sequences lie end to end: of inputs whose offsets are checked."""
    if not any(check.kind == "offsets" for check in notes.checks):
        return frozenset()
    types = [type_ for _, type_ in notes.inputs]
    over = {s for t in types if t.rank == 1 and _is_count(t) for s in t.symbols}
    return frozenset(symbol for type_ in types for symbol in type_.symbols) - over


def _is_count(type_: TensorType) -> bool:
    """One more than an axis, as offsets are."""
    (dim,) = type_.shape
    return len(dim.symbols) == 1 and dim == Dim.of(next(iter(dim.symbols))) + 1


def _times(share: float) -> int:
    return max(1, round(1000 * share))
