"""Kernels that first copy an operand and then change the copy, such as scatters.

If the operand's memory is the result's, as of an input that the caller gives up, the copy is of
each element onto itself and can be left out: what remains is as long as the changes are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from anyshape.loop import Buffer, For, Kernel, Load, Statement, Store
from anyshape.loop.accesses import Access, KernelAccesses, accesses_of


def removable_copies(kernel: Kernel) -> frozenset[tuple[int, int]]:
    """Pairs of an operand and a result, by position: the operand is only copied to the result, and
    before anything else happens to the elements there."""
    if kernel.native:
        return frozenset()
    found = accesses_of(kernel)
    names = {buffer.name: number for number, buffer in enumerate(kernel.buffers)}
    return frozenset(
        (names[operand.name], names[result.name])
        for result in kernel.results
        for operand in kernel.buffers
        if not operand.written and _is_only_copied(kernel, found, operand, result)
    )


def without_copy(kernel: Kernel, operand: int, result: int) -> Kernel:
    """The kernel for an operand and a result that are one memory."""
    names = kernel.buffers[operand].name, kernel.buffers[result].name
    return replace(kernel, body=_without(kernel.body, *names))


def _is_only_copied(kernel: Kernel, found: KernelAccesses, operand: Buffer, result: Buffer) -> bool:
    if operand.dtype != result.dtype or operand.shape != result.shape:
        return False
    copies = list(_copies(kernel.body, operand.name, result.name))
    loads = [load for load in found.loads if load.buffer == operand.name]
    stores = [store for store in found.stores if store.buffer == result.name]
    first, others = stores[: len(copies)], stores[len(copies) :]
    return (
        operand.name not in found.matrices
        and len(copies) == len(loads) > 0
        and len(others) > 0
        and [store.path for store in first] == [load.path for load in loads]
        and all(_are_apart(copy, other) for copy in first for other in others)
    )


def _are_apart(copy: Access, other: Access) -> bool:
    """Whether runs through the loops around both are about elements of their own."""
    pairs = zip(copy.loops, other.loops, strict=False)
    together = takewhile(lambda pair: pair[0] is pair[1], pairs)
    return all(
        loop.index in copy.offset.symbols & other.offset.symbols for loop, _ in together
    ) and not _shares_innermost(copy, other)


def _shares_innermost(copy: Access, other: Access) -> bool:
    """Whether the copy is made beside the change, not in a loop of its own before it."""
    return copy.path[:-1] == other.path[: len(copy.path) - 1]


def _copies(body: Sequence[Statement], operand: str, result: str) -> Sequence[Store]:
    found: list[Store] = []
    for statement in body:
        if isinstance(statement, For):
            found += _copies(statement.body, operand, result)
        elif isinstance(statement, Store) and _is_copy(statement, operand, result):
            found.append(statement)
    return found


def _is_copy(store: Store, operand: str, result: str) -> bool:
    load = store.value
    if not isinstance(load, Load):
        return False
    return (load.buffer.name, store.buffer.name, load.index) == (operand, result, store.index)


def _without(body: Sequence[Statement], operand: str, result: str) -> tuple[Statement, ...]:
    """Loops that are left with nothing to do go, too."""
    kept: list[Statement] = []
    for statement in body:
        if isinstance(statement, For):
            inner = _without(statement.body, operand, result)
            kept += [replace(statement, body=inner)] if inner else []
        elif not isinstance(statement, Store) or not _is_copy(statement, operand, result):
            kept.append(statement)
    return tuple(kept)
