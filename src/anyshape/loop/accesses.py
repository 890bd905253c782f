"""Where a kernel reads and writes: every load and store with the loops around it, in order.

From this two things are proved, of one kernel and for all sizes:

  - a result may be written over an operand (`overwritable`): each element is read before it is
    written, by the task that writes it;
  - the kernel does nothing but copy a stretch of memory (`copied_from`).

Both rely on what every kernel promises: tasks run in any order and on any thread, so no two of them
write the same element.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import assert_never

from anyshape.loop import (
    Bind,
    Copy,
    For,
    Kernel,
    Let,
    Load,
    Local,
    Multiply,
    Number,
    Prepare,
    Scalar,
    Statement,
    Store,
    Update,
)
from anyshape.loop.rewrite import accesses
from anyshape.sym import Dim, Symbol


@dataclass(frozen=True, slots=True)
class Access:
    """One element, at `offset` of a buffer. `path` is the number of each statement around it."""

    buffer: str
    offset: Dim
    path: tuple[int, ...]
    loops: tuple[For, ...]


@dataclass
class KernelAccesses:
    """All accesses of a kernel to the buffers that it is given."""

    loads: list[Access] = field(default_factory=list[Access])
    stores: list[Access] = field(default_factory=list[Access])
    matrices: set[str] = field(default_factory=set[str])  # read as a whole, who knows when
    derived: set[Symbol] = field(default_factory=set[Symbol])  # indices computed from others
    from_data: set[Symbol] = field(default_factory=set[Symbol])  # indices that data decide


def accesses_of(kernel: Kernel) -> KernelAccesses:
    found = KernelAccesses()
    _walk(kernel.body, (), (), found)
    return found


def _walk(
    body: Sequence[Statement], path: tuple[int, ...], loops: tuple[For, ...], found: KernelAccesses
) -> None:
    for number, statement in enumerate(body):
        here = (*path, number)
        match statement:
            case For():
                _walk(statement.body, here, (*loops, statement), found)
            case Copy(_, source):
                found.matrices.add(source.buffer.name)
            case Multiply(_, lhs, rhs):
                found.matrices |= {lhs.buffer.name, rhs.buffer.name}
            case Prepare(_, inside):  # other tasks read the same
                found.matrices |= {buffer.name for buffer, _ in accesses(inside)}
                found.matrices |= {s.source.buffer.name for s in inside if isinstance(s, Copy)}
            case Store(buffer, index, _):
                found.stores.append(Access(buffer.name, buffer.offset(index), here, loops))
                found.loads += _loads(statement, here, loops)[1:]  # the first is the store itself
            case Bind(symbol, value, _):
                (found.derived if isinstance(value, Number) else found.from_data).add(symbol)
                found.loads += _loads(statement, here, loops)
            case Let() | Update():
                found.loads += _loads(statement, here, loops)
            case _:
                assert_never(statement)


def _loads(statement: Statement, path: tuple[int, ...], loops: tuple[For, ...]) -> list[Access]:
    places = accesses((statement,))
    return [Access(b.name, b.offset(index), path, loops) for b, index in places]


# --- in place -------------------------------------------------------------------------------------


def overwritable(kernel: Kernel) -> frozenset[tuple[int, int]]:
    """Pairs of an operand and a result, by position, that may be one memory of equal elements."""
    if kernel.native:  # nothing is known of it
        return frozenset()
    found = accesses_of(kernel)
    loads, stores = _by_buffer(found.loads), _by_buffer(found.stores)
    positions = {buffer.name: number for number, buffer in enumerate(kernel.buffers)}
    return frozenset(
        (positions[operand.name], positions[result.name])
        for result in kernel.results
        if all(_stores_once(kernel, store, found) for store in stores[result.name])
        for operand in kernel.buffers
        if not operand.written
        and operand.dtype.itemsize == result.dtype.itemsize
        and operand.name not in found.matrices
        and _are_read_first(loads[operand.name], stores[result.name])
    )


def _by_buffer(all_of_them: Sequence[Access]) -> Mapping[str, list[Access]]:
    """The accesses of each buffer, in order; an empty list where there are none."""
    found: defaultdict[str, list[Access]] = defaultdict(list)
    for access in all_of_them:
        found[access.buffer].append(access)
    return found


def _are_read_first(loads: Sequence[Access], stores: Sequence[Access]) -> bool:
    return all(_reads_first(load, store) for load in loads for store in stores)


def _stores_once(kernel: Kernel, store: Access, found: KernelAccesses) -> bool:
    """Whether each run through the loops around it, and each task, stores another element."""
    used = store.offset.symbols
    is_of_task = kernel.tasks == 1 or kernel.task in used or bool(used & found.derived)
    return (
        is_of_task
        and not used & found.from_data
        and all(loop.index in used for loop in store.loops)
    )


def _reads_first(load: Access, store: Access) -> bool:
    """Whether what `load` reads is later written by `store`, and by nobody else before that.

    Around the loops that both are in nothing is shared: each run through those stores elements of
    its own. Within one run, the load's further loops must be over when the store's begin, and go
    through the same elements.
    """
    together = sum(1 for _ in takewhile(_equal, zip(load.path[:-1], store.path[:-1], strict=False)))
    inner, outer = load.loops[together:], store.loops[together:]
    if len(inner) != len(outer) or load.path > store.path:
        return False
    names = {a.index: Dim.of(b.index) for a, b in zip(inner, outer, strict=True)}
    extents = zip(inner, outer, strict=True)
    return (
        all(a.extent.substitute(names) is b.extent for a, b in extents)
        and load.offset.substitute(names) is store.offset
    )


def _equal(pair: tuple[int, int]) -> bool:
    return pair[0] == pair[1]


# --- copies ---------------------------------------------------------------------------------------


def copied_from(kernel: Kernel) -> tuple[int, Dim] | None:
    """The operand that the only result is a stretch of, and where in it that stretch begins."""
    if len(kernel.results) != 1:
        return None
    stores = list(_stores(kernel.body))
    if len(stores) != 1:
        return None
    named, store = stores[0]
    value = named.get(store.value.name) if isinstance(store.value, Local) else store.value
    if not isinstance(value, Load) or value.dtype != store.buffer.dtype:
        return None
    start = value.buffer.offset(value.index) - store.buffer.offset(store.index)
    given = [buffer.name for buffer in kernel.buffers]
    if not start.symbols <= set(kernel.sizes) or value.buffer.name not in given:
        return None
    return given.index(value.buffer.name), start


def _stores(body: Sequence[Statement]) -> Iterator[tuple[dict[str, Scalar], Store]]:
    """Every store, with the locals that its own body names."""
    named: dict[str, Scalar] = {}
    for statement in body:
        if isinstance(statement, Let):
            named[statement.local.name] = statement.value
        elif isinstance(statement, Store):
            yield named, statement
        elif isinstance(statement, For):
            yield from _stores(statement.body)
