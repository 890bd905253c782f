"""Rows in blocks: the numbers of several short rows first, and then their elements.

    for r < rows of the block { for k < n { … }; mean0[r] = total / n }
    for r < rows of the block { for k < n { y[r, k] = silu(x[r, k] - mean0[r]) } }

A row is summed and divided before any of its elements can be computed. A CPU looks some hundred
instructions ahead: where a row is short, but the code for its elements is long, that is not as far
as the next row, and it waits for the sums of each. Those of several rows do not wait for each
other, and nor do elements whose numbers are known. Of long rows a block reads too much twice.

A row may consist of runs, of which a number is the same for each: the pixels of a channel in a
group norm. Where these are few, a vector along a run is nearly empty, and its lanes are runs:

    for i < pixels { for c < channels of the block { y[c, i] = silu(x[c, i] - mean0[c // 4]) } }
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from anyshape.ir.opdef import lookup
from anyshape.loop import (
    Apply,
    Bind,
    Buffer,
    For,
    Kernel,
    Let,
    Load,
    Local,
    Number,
    Statement,
    Store,
)
from anyshape.loop.printer import row_major
from anyshape.loop.rewrite import substitute
from anyshape.loop.walk import read_locals, scalars
from anyshape.lower.effort import Effort
from anyshape.lower.tasks import INNER, STRIP, Indices, Work, one_each, strips
from anyshape.sym import Answer, Dim, FactScope, LessEqual, Symbol, maximum, minimum

ROWS = 8
"""Rows of a block: as many as a CPU can have in flight at once, and whose elements a first-level
cache holds until they are read again."""

SHORT = 1024
"""Elements of a row from which on blocks no longer pay."""

WAIT = 2000
"""Operations of vectors in the time that passes until a row's numbers are known."""

LONG = 12
"""From this many additions for an element on, the code of a row is long; an exponential is."""

FEW = 2
"""Elements of a run that would leave most lanes of a vector empty. Lanes that are runs are gathered
and scattered, which takes as long as three or four vectors of such elements."""

VECTOR = 500
"""Operations in the time that is lost for a run, by one form or the other."""

ROW, LANE = Symbol("r"), Symbol("c")


def may_be_blocks(kernel: Kernel) -> bool:
    """Whether a kernel with a task for each row has long code for elements behind its sums."""
    *start, last = kernel.body
    return (
        kernel.tasks != 1
        and not kernel.scratch
        and all(isinstance(s, Let | For) or _is_place(s) for s in start)
        and any(isinstance(s, For) for s in start)
        and isinstance(last, For)
        and last.index is not INNER  # a strip of rows has no task for each
        and (isinstance(last.body[0], For) or _cost(last) >= LONG)
    )


def _cost(loop: For) -> int:
    """Of an element, in additions."""
    return sum(lookup(s.op).cost for s in scalars(loop.body) if isinstance(s, Apply))


def _is_place(statement: Statement) -> bool:
    return isinstance(statement, Bind) and isinstance(statement.value, Number)


@dataclass(frozen=True, slots=True)
class Runs:
    """A row that is so many runs, each as long as a size says."""

    index: Symbol
    count: int
    run: For


def runs_of(row: Statement) -> Runs | None:
    """Those of a row's loops, if nobody knows how long they are."""
    if not isinstance(row, For) or row.extent.constant is None or len(row.body) != 1:
        return None
    (run,) = row.body
    is_run = isinstance(run, For) and run.vector and run.extent.constant is None
    if not isinstance(run, For) or not is_run or any(isinstance(s, For) for s in run.body):
        return None
    return Runs(row.index, row.extent.constant, run)


def are_short(kernel: Kernel) -> Answer:
    """Whether blocks of its rows pay; UNKNOWN where level 2 has to find out."""
    scope = FactScope.of(kernel.facts)
    return scope.proves(LessEqual(_elements(kernel.body[-1]), Dim.of(SHORT)))


def efforts(kernel: Kernel, effort: Effort) -> tuple[Effort, Effort]:
    """Of a kernel with a task for each row, and of the same in blocks."""
    waits = kernel.tasks * WAIT
    misses = waits * _elements(kernel.body[-1]) // SHORT
    return effort + _lost(waits), effort + _lost(misses)


def efforts_of_runs(kernel: Kernel, effort: Effort) -> tuple[Effort, Effort]:
    """Of blocks whose lanes go along runs, and of those whose lanes are runs."""
    runs = runs_of(kernel.body[-1])
    assert runs is not None, "a kernel without runs has no such form"
    each, length = kernel.tasks * runs.count * VECTOR, runs.run.extent
    along, across = maximum(0, FEW + 1 - length), maximum(0, length - FEW)
    return effort + _lost(each * along), effort + _lost(each * across)


def _lost(operations: Dim) -> Effort:
    """Time that passes whether operations or bytes are what a kernel is made of."""
    return Effort(operations=operations, bytes=operations)


def _elements(statement: Statement) -> Dim:
    """Through how many iterations a nest of loops goes."""
    if not isinstance(statement, For):
        return Dim.of(1)
    return statement.extent * _elements(statement.body[0])


def blocks_of_rows(outer: Indices, start: Sequence[Statement], rows: Sequence[Statement]) -> Work:
    """A task for each block. Blocks are along an axis that has enough rows, if there is one."""
    along = next((pair for pair in reversed(outer) if not _is_few(pair[1])), outer[-1])
    return _blocks(outer, along, start, rows, _one_after_the_other)


def blocks_of_runs(outer: Indices, start: Sequence[Statement], rows: Sequence[Statement]) -> Work:
    """The same, with a lane for each run of elements, so that rows have to be neighbours."""
    return _blocks(outer, outer[-1], start, rows, _beside_each_other)


@dataclass(frozen=True, slots=True)
class _Block:
    """Rows from `first` on, of as many as an axis has."""

    index: Symbol
    first: Dim
    extent: Dim

    def each(self, body: Sequence[Statement]) -> For:
        inside = substitute(body, {self.index: self.first + Dim.of(ROW)})
        return For(ROW, minimum(ROWS, self.extent - self.first), inside)


Elements = Callable[[_Block, Sequence[Statement], Sequence[Statement]], For]
"""The loops over all elements of a block: what each row needs, and its own loops."""


def _one_after_the_other(
    block: _Block, needed: Sequence[Statement], rows: Sequence[Statement]
) -> For:
    return block.each((*needed, *rows))


def _beside_each_other(
    block: _Block, needed: Sequence[Statement], rows: Sequence[Statement]
) -> For:
    """Runs of a row, and those of other rows, lie next to each other."""
    runs = runs_of(rows[-1])
    assert runs is not None, "a kernel without runs has no such form"
    count, lane = runs.count, Dim.of(LANE)
    row = lane // count
    names = {block.index: block.first + row, ROW: row, runs.index: lane - row * count}
    inside = substitute((*needed, *rows[:-1], *runs.run.body), names)
    extent = minimum(ROWS * count, (block.extent - block.first) * count)
    return replace(runs.run, body=(For(LANE, extent, inside, vector=True),), vector=False)


def _blocks(
    outer: Indices,
    along: tuple[Symbol, Dim],
    start: Sequence[Statement],
    rows: Sequence[Statement],
    elements: Elements,
) -> Work:
    block = _Block(along[0], Dim.of(STRIP) * ROWS, along[1])
    summed, others = _numbers(start)
    kept = {local: _room(n, local) for n, local in enumerate(_read_by((*others, *rows), summed))}
    place = (Dim.of(ROW),)
    stored = (Store(buffer, place, local) for local, buffer in kept.items())
    loaded = (Let(local, Load(buffer, place)) for local, buffer in kept.items())
    needed = (*_needed(others, rows), *loaded)
    loops = block.each((*start, *stored)), elements(block, needed, rows)
    work = one_each((*(p for p in outer if p is not along), strips(along, ROWS)), loops)
    return Work(work.tasks, work.body, tuple(kept.values()))


def _is_few(extent: Dim) -> bool:
    return extent.constant is not None and extent.constant < ROWS


def _numbers(start: Sequence[Statement]) -> tuple[list[Local], list[Let]]:
    """Of what is known when a row's elements begin: what is made of sums, and everything else."""
    summed: list[Local] = []
    others: list[Let] = []
    names: set[str] = set()
    for statement in start:
        if isinstance(statement, For):
            found = [state.local for state in statement.accumulators]
        elif isinstance(statement, Let) and names & read_locals((statement,)):
            found = [statement.local]
        else:
            assert isinstance(statement, Let)
            others.append(statement)
            continue
        summed += found
        names |= {local.name for local in found}
    return summed, others


def _read_by(body: Sequence[Statement], numbers: Sequence[Local]) -> list[Local]:
    names = read_locals(body)
    return [local for local in numbers if local.name in names]


def _needed(lets: Sequence[Let], body: Sequence[Statement]) -> tuple[Let, ...]:
    """Those that the body reads, or others of these do."""
    kept: tuple[Let, ...] = ()
    for let in reversed(lets):
        if let.local.name in read_locals((*kept, *body)):
            kept = (let, *kept)
    return kept


def _room(number: int, local: Local) -> Buffer:
    shape = (Dim.of(ROWS),)
    return Buffer(f"row{number}", local.dtype, shape, row_major(shape))
