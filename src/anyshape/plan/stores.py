"""Who owns each buffer of a schedule: callers, constants, the arena, or another buffer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from anyshape.ir.node import Value
from anyshape.ir.opdef import PARAM, param_index
from anyshape.ops.source import ConstantAttrs
from anyshape.plan.buffers import NOTHING, BufferPlan, ConstantPlan
from anyshape.plan.conflicts import conflicts_of
from anyshape.plan.given_memory import GivenMemory
from anyshape.plan.lifetimes import Lifetimes
from anyshape.plan.schedule_tables import BufferRow, Tables, ValueBuffer, Workspace
from anyshape.plan.step_buffers import StepBuffers
from anyshape.program import (
    AliasStore,
    ArenaStore,
    ConstantStore,
    InputStore,
    OutputStore,
    Store,
)
from anyshape.sym import Dim


def temporaries(tables: Tables, given: GivenMemory, written: Set[int]) -> dict[int, Dim]:
    """The bytes of all values that steps write for other steps alone. Workspaces are none."""
    rows = ((number, tables.buffers[number]) for number in sorted(written))
    return {number: row.bytes for number, row in rows if _is_temporary(row, given)}


def _is_temporary(row: BufferRow, given: GivenMemory) -> bool:
    return isinstance(row, ValueBuffer) and not given.has(row.value)


def constants_of(tables: Tables) -> dict[int, ConstantPlan]:
    """The constants that kernels read, by buffer: each form is one."""
    return {
        number: ConstantPlan(row.value.node.attrs, row.packing)
        for number, row in enumerate(tables.buffers)
        if isinstance(row, ValueBuffer) and isinstance(row.value.node.attrs, ConstantAttrs)
    }


def planned_buffers(
    tables: Tables,
    given: GivenMemory,
    overwrites: Mapping[int, int],
    arena: Mapping[int, ArenaStore],
) -> tuple[BufferPlan, ...]:
    """Every buffer with its memory. `arena` are those with memory of their own there."""
    own: dict[int, Store[Dim]] = {**arena}
    own |= {number: ConstantStore(at) for at, number in enumerate(constants_of(tables))}
    return tuple(
        BufferPlan(None, arena[number], row.bytes, row.only)
        if isinstance(row, Workspace)
        else BufferPlan(
            row.value, _store(number, row, tables, given, overwrites, own), row.bytes, row.only
        )
        for number, row in enumerate(tables.buffers)
    )


def _store(
    number: int,
    row: ValueBuffer,
    tables: Tables,
    given: GivenMemory,
    overwrites: Mapping[int, int],
    own: Mapping[int, Store[Dim]],
) -> Store[Dim]:
    """`own` are constants, and buffers with memory of their own in the arena."""
    value = row.value
    if value.node.op is PARAM:
        return InputStore(param_index(value.node))
    if number in tables.aliases:
        root, offset = tables.aliases[number]
        return AliasStore(root, None if offset is NOTHING else offset)
    if value in given.appended:
        return AliasStore(tables.appended[number], _bytes_before(value, given))
    if number in overwrites:
        return AliasStore(overwrites[number], in_place=True)
    if value in given.outputs:
        return OutputStore(given.outputs[value])
    return own[number]


def _bytes_before(value: Value, given: GivenMemory) -> Dim:
    """How far behind the start of the result that it is a part of an appended value lies."""
    past = given.appended[value].operands[0].tensor
    return past.size * past.dtype.itemsize


def arena_stores(
    tables: Tables, steps: Sequence[StepBuffers], lives: Lifetimes, arena: Set[int]
) -> dict[int, ArenaStore]:
    """When each buffer of the arena is in use, and which others it must be kept apart from."""
    return {
        number: ArenaStore(
            *lives.first_and_last(number),
            conflicts_of(number, steps, lives, arena),
            isinstance(tables.buffers[number], Workspace),
        )
        for number in sorted(arena)
    }
