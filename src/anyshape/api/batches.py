"""`batches`: requests of different lengths, put together so that they take the least time.

What a batch takes is asked of the executable's level 2, at a grid of sizes, and interpolated in
between. Where batches are padded to their longest request, requests of like lengths go together:
sorted by length, the best cut into batches is found by dynamic programming, in as many steps as
there are requests times the most that a batch may have. Where nothing is padded, the order of
arrival is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from anyshape.api.strategies import executable_of
from anyshape.base.errors import InputError, OptionError
from anyshape.execute import Executable
from anyshape.execute.strategies import Costs, ragged_axes
from anyshape.frontend.builder.ragged_value import Ragged, pack
from anyshape.ir.types import Array
from anyshape.sym import Axis

MOST: Final = 64
"""Requests of one batch, unless told otherwise."""

GRID: Final = 12
"""So many lengths are asked about."""

PER_BATCH: Final = 50e-6
"""Seconds that a call takes beside its kernels: packing, dispatch, results."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Batch:
    """Requests that one call takes, where they were among all, and what it is expected to take."""

    requests: tuple[Any, ...]
    indices: tuple[int, ...]
    lengths: tuple[int, ...]
    seconds: float
    ragged: bool

    @property
    def tokens(self) -> int:
        return sum(self.lengths)

    def padded(self, fill: Any = 0) -> tuple[Array, Array]:
        """The requests as rows of one array, as long as the longest, and a mask: 1 where a request
        is, 0 in the padding."""
        arrays = [np.asarray(request) for request in self.requests]
        longest = max(self.lengths)
        values = np.full((len(arrays), longest, *arrays[0].shape[1:]), fill, arrays[0].dtype)
        mask = np.zeros((len(arrays), longest), np.int64)
        for row, array in enumerate(arrays):
            values[row, : len(array)], mask[row, : len(array)] = array, 1
        return values, mask

    def packed(self) -> Ragged:
        """The requests end to end."""
        return pack([np.asarray(request) for request in self.requests])


class Batches(tuple[Batch, ...]):
    """All requests in batches, each once."""

    __slots__ = ()

    @property
    def seconds(self) -> float:
        """What they are expected to take, one after the other."""
        return sum(batch.seconds for batch in self)

    def in_order(self, results: Sequence[Sequence[Any]]) -> list[Any]:
        """The results of each batch, one for each of its requests, in the order of requests."""
        if len(results) != len(self) or any(map(_differ, results, self)):
            fix = "pass for each batch, in order, one result for each of its requests"
            raise InputError("results", "are not those of the batches", fix)
        found: list[Any] = [None] * sum(len(batch.indices) for batch in self)
        for batch, of_batch in zip(self, results, strict=True):
            for at, result in zip(batch.indices, of_batch, strict=True):
                found[at] = result
        return found


def _differ(results: Sequence[Any], batch: Batch) -> bool:
    return len(results) != len(batch.requests)


def batches(
    requests: Sequence[Any],
    exe: Any,
    *,
    budget: float | None = None,
    most: int = MOST,
    length: Callable[[Any], int] = len,
    batch: str = "batch",
    axis: str | None = None,
) -> Batches:
    """Groups requests into batches that `exe` takes the least time for, by its own estimate.

        for each in ash.batches(requests, model, budget=0.02):
            ids, mask = each.padded()
            embeddings = model(input_ids=ids, attention_mask=mask)

    `exe` is an executable, or a compiled, ragged or loaded model. Where it pads, or its caller
    does, requests of like lengths go together; for a ragged one they stay in order, and
    `each.packed()` is what it takes.

    - `budget`: the most seconds that one batch is expected to take. A request that takes more by
      itself is a batch of its own. After `profile_calls()`, estimates are scaled to measured times.
    - `most`: the most requests in one batch.
    - `length`: of a request, along `axis`; `batch` is the axis that counts requests. `axis` may be
      left out where there is one other.
    """
    executable = executable_of(exe)
    _check(budget, most)
    rows, along = _axes(executable, batch, axis)
    lengths = [_length(request, length, along) for request in requests]
    if not requests:
        return Batches()
    ragged = along.symbol in ragged_axes(executable.notes)
    costs = Costs(executable.executor, executable.profile())
    ask = _Asking(executable, costs, rows.name, along.name)
    groups = (_in_order if ragged else _by_length)(lengths, ask, rows, along, budget, most)
    return Batches(
        Batch(
            tuple(requests[at] for at in group),
            tuple(group),
            tuple(lengths[at] for at in group),
            seconds,
            ragged,
        )
        for group, seconds in groups
    )


# --- what is asked for ----------------------------------------------------------------------------


def _check(budget: object, most: object) -> None:
    number = isinstance(budget, (int, float)) and not isinstance(budget, bool)
    if budget is not None and not (number and cast(float, budget) > 0):
        raise OptionError("budget", str(budget), "seconds that a batch may take, such as 0.02")
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise OptionError("most", repr(most), "a number of requests, 1 or more")


def _axes(executable: Executable, batch: str, axis: str | None) -> tuple[Axis, Axis]:
    known = {each.name: each for each in executable.axes}
    others = [name for name in known if name != batch]
    listed = ", ".join(known) or "it has none"
    if batch not in known:
        raise OptionError("batch", batch, f"the axis that counts requests, of {listed}")
    if axis is None and len(others) == 1:
        axis = others[0]
    if axis is None or axis not in others:
        raise OptionError("axis", axis or "None", f"the axis that requests vary along, of {listed}")
    if len(others) > 1:
        free = ", ".join(name for name in others if name != axis)
        raise OptionError("exe", executable.notes.name, f"of two axes; it also has {free}")
    return known[batch], known[axis]


def _length(request: Any, length: Callable[[Any], int], along: Axis) -> int:
    try:
        count = index(length(request))
    except TypeError:
        fix = "pass arrays, or give length= a function that counts tokens"
        raise InputError("requests", "have one without a length", fix) from None
    if along.max is not None and count > along.max:
        problem = f"have one of {count}, and axis '{along.name}' is {along.ranges_text}"
        raise InputError("requests", problem, "cut it, or allow longer ones")
    return count


@dataclass(frozen=True, slots=True)
class _Asking:
    """Seconds of a batch, as level 2 sees it."""

    executable: Executable
    costs: Costs
    rows: str
    along: str

    def seconds(self, count: int, size: int) -> float:
        binding = {self.rows: count, self.along: size}
        found = self.costs.at(binding)
        if found is None or found.seconds is None:
            found = self.executable.estimate(**binding)  # says what forbids it
        if found.seconds is None:
            problem = "has steps whose cost is not known ahead"
            raise InputError("exe", problem, "group its requests by their lengths yourself")
        return found.seconds + PER_BATCH


# --- batches that are padded ----------------------------------------------------------------------

Groups = list[tuple[list[int], float]]


def _by_length(
    lengths: Sequence[int],
    ask: _Asking,
    rows: Axis,
    along: Axis,
    budget: float | None,
    most: int,
) -> Groups:
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    ascending = [lengths[at] for at in order]
    most = min(most, len(order), rows.max or most)
    distinct = sorted(set(ascending))
    table = _table(ask, _counts(rows, most), _grid(along, distinct), most, along, distinct)
    columns = {size: column for column, size in enumerate(distinct)}
    cuts = _best_cuts([columns[size] for size in ascending], table, budget)
    return [(order[first:last], seconds) for first, last, seconds in cuts]


def _counts(rows: Axis, most: int) -> list[int]:
    """Numbers of requests to ask about; each where they are padded, too."""
    if rows.buckets:
        return list(range(1, most + 1))
    steps = [count for power in range(31) for count in (2**power, 3 * 2**power // 2)]
    return sorted({count for count in steps if 1 <= count <= most} | {most})


def _grid(along: Axis, distinct: Sequence[int]) -> list[int]:
    """Lengths to ask about: the sizes that these are padded to, or some between the ends."""
    padding = along.padding
    if padding is not None:
        return sorted({padding.padded(_legal(along, size))[0] for size in distinct})
    wanted = np.geomspace(max(distinct[0], 1), max(distinct[-1], 1), GRID)
    legal = {_legal(along, int(size)) for size in wanted}
    return sorted(legal | {_legal(along, size) for size in (distinct[0], distinct[-1])})


def _legal(along: Axis, size: int) -> int:
    """The next size that the axis allows."""
    step = along.multiple_of
    up = -(-max(size, along.min) // step) * step
    return up if along.max is None else min(up, along.max // step * step)


def _table(
    ask: _Asking,
    counts: Sequence[int],
    grid: Sequence[int],
    most: int,
    along: Axis,
    distinct: Sequence[int],
) -> Floats:
    """Seconds of 1 … `most` requests (rows) of each distinct length (columns)."""
    known = np.array([[ask.seconds(count, size) for size in grid] for count in counts])
    padding = along.padding
    sizes = [_legal(along, size) for size in distinct]
    if padding is not None:
        sizes = [padding.padded(size)[0] for size in sizes]
    rows = [_between(sizes, grid, row) for row in known]
    every = list(range(1, most + 1))
    columns = [_between(every, counts, column) for column in np.array(rows).T]
    return np.array(columns).T


def _between(sizes: Sequence[int], grid: Sequence[int], known: Floats) -> Floats:
    return np.interp(sizes, grid, known).astype(np.float64)


def _best_cuts(
    columns: Sequence[int], table: Floats, budget: float | None
) -> list[tuple[int, int, float]]:
    """From which request to which each batch goes, so that all take least together."""
    most = len(table)
    allowed = table if budget is None else np.where(table <= budget, table, np.inf)
    allowed[0] = table[0]  # alone, a request may take what it takes
    best = np.zeros(len(columns) + 1)
    taken = np.zeros(len(columns) + 1, np.int64)
    for last, column in enumerate(columns, 1):
        counts = min(most, last)
        totals = best[last - counts : last][::-1] + allowed[:counts, column]
        taken[last] = int(np.argmin(totals)) + 1
        best[last] = totals[taken[last] - 1]
    return _cuts(taken, columns, table)


def _cuts(
    taken: NDArray[np.int64], columns: Sequence[int], table: Floats
) -> list[tuple[int, int, float]]:
    found: list[tuple[int, int, float]] = []
    last = len(columns)
    while last:
        count = int(taken[last])
        found.append((last - count, last, float(table[count - 1, columns[last - 1]])))
        last -= count
    return found[::-1]


# --- batches without padding ----------------------------------------------------------------------


def _in_order(
    lengths: Sequence[int],
    ask: _Asking,
    rows: Axis,
    along: Axis,
    budget: float | None,
    most: int,
) -> Groups:
    most = min(most, rows.max or most)
    cost = _surface(ask, sum(lengths), min(most, len(lengths)), along)
    groups: Groups = []
    group: list[int] = []
    tokens = 0
    for at, size in enumerate(lengths):
        full = len(group) == most or (along.max is not None and tokens + size > along.max)
        over = budget is not None and cost(len(group) + 1, tokens + size) > budget
        if group and (full or over):
            groups.append((group, cost(len(group), tokens)))
            group, tokens = [], 0
        group.append(at)
        tokens += size
    return [*groups, (group, cost(len(group), tokens))]


def _surface(ask: _Asking, tokens: int, most: int, along: Axis) -> Callable[[int, int], float]:
    """Seconds of so many requests with so many tokens together."""
    grid = _grid(along, [1, max(tokens if along.max is None else min(tokens, along.max), 1)])
    few = [ask.seconds(1, size) for size in grid]
    many = [ask.seconds(most, max(size, 1)) for size in grid]

    def cost(count: int, size: int) -> float:
        low, high = float(np.interp(size, grid, few)), float(np.interp(size, grid, many))
        return low + (high - low) * (count - 1) / max(most - 1, 1)

    return cost
