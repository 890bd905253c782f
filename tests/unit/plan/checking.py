"""Plans of whole schedules, placed by the runtime's planner and proved by its checker.

No machine code is needed: sizes are evaluated here, in the way the compiled shape program would.
"""

from __future__ import annotations

from collections.abc import Mapping

from anyshape.analysis.row_slices import has_rows
from anyshape.loop.accesses import overwritable
from anyshape.plan.buffers import BufferPlan
from anyshape.plan.schedule import Schedule, StepPlan
from anyshape.program import AliasStore, ArenaStore
from anyshape.runtime import _native
from anyshape.sym import Symbol

Binding = Mapping[Symbol, int]
ARENA = 0


def wrong_with(plan: Schedule, binding: Binding, workers: int = 2) -> str | None:
    """What is wrong with the memory of a schedule at a binding; None if nothing is."""
    steps = [_access(plan, step, binding) for step in plan.steps]
    return _native._wrong_with_accesses(steps, ranges(plan, binding, workers), plan.window)


def home(plan: Schedule, number: int) -> int:
    """The buffer in whose memory another one lies."""
    store = plan.buffers[number].store
    return home(plan, store.of) if isinstance(store, AliasStore) else number


def root(plan: Schedule, number: int) -> int:
    """The value that a buffer is only a name of: what is written in place is one of its own."""
    store = plan.buffers[number].store
    is_name = isinstance(store, AliasStore) and not store.in_place
    return root(plan, store.of) if is_name else number


def begins_there(plan: Schedule, number: int) -> bool:
    """Whether a buffer begins where the value does that it is a name of."""
    store = plan.buffers[number].store
    if not isinstance(store, AliasStore) or store.in_place:
        return True
    return store.offset is None and begins_there(plan, store.of)


def _access(plan: Schedule, step: StepPlan, binding: Binding):
    """What a step does at a binding; the carrier of a chain that is taken does what all members
    do, and they nothing."""
    if step.member_of is None or not step.member_of.is_taken(binding):
        return _own_access(plan, step)
    if step.carried is None:
        return ([], [], [], list(step.waits))
    _, results, pairs, waits = _own_access(plan, step)
    chain = step.carried.chain
    members = [plan.steps[number] for number in chain.members]
    operands = [
        (root(plan, number), value)
        for member in members
        for number, value in zip(member.buffers, member.node.operands, strict=False)
    ]
    reads = {number for number, _ in operands} - set(chain.between)
    whole = {number for number, value in operands if not has_rows(value.type, chain.tiles.lead)}
    pairs = [pair for pair in pairs if pair[0] not in whole]
    return (sorted(reads), [*results, *step.carried.workspaces], pairs, waits)


def _own_access(plan: Schedule, step: StepPlan):
    operands = step.buffers[: len(step.node.operands)]
    results = step.buffers[len(operands) :]
    spaces = [number for numbers in step.workspaces for number in numbers]
    kernels = [way.variant.kernel for way in step.variants]
    pairs = [
        (root(plan, operand), result)
        for i, operand in enumerate(operands)
        for j, result in enumerate(results, len(operands))
        if begins_there(plan, operand) and all((i, j) in overwritable(kernel) for kernel in kernels)
    ]
    reads = sorted({root(plan, operand) for operand in operands})
    return (reads, [*results, *spaces], pairs, list(step.waits))


def ranges(plan: Schedule, binding: Binding, workers: int) -> list[tuple[int, int, int]]:
    """Base, offset and bytes of each buffer; buffers outside the arena have bases of their own."""
    placed = offsets(plan, binding, workers)
    found: list[tuple[int, int, int]] = []
    for number, buffer in enumerate(plan.buffers):
        bytes_ = needed(buffer, binding)
        at, offset = number, 0
        while isinstance(store := plan.buffers[at].store, AliasStore):
            begin = 0 if store.offset is None else store.offset.evaluate(binding)
            at, offset = store.of, offset + begin
        if isinstance(store, ArenaStore):
            slices = workers if store.per_worker else 1
            found.append((ARENA, placed[at] + offset, bytes_ * slices))
        else:
            found.append((1 + at, offset, bytes_))
    return found


def needed(buffer: BufferPlan, binding: Binding) -> int:
    """The bytes of a buffer: none if it is for a variant that is not taken."""
    only = buffer.only
    if only is None:
        return buffer.bytes.evaluate(binding)
    sizes = {own: dim.evaluate(binding) for own, dim in only.sizes} or binding
    costs = [cost.evaluate(sizes) for cost in only.costs]
    return only.bytes.evaluate(sizes) if costs.index(min(costs)) == only.index else 0


def offsets(plan: Schedule, binding: Binding, workers: int) -> dict[int, int]:
    """Where the planner puts the arena buffers."""
    arena = [
        (number, buffer, buffer.store)
        for number, buffer in enumerate(plan.buffers)
        if isinstance(buffer.store, ArenaStore)
    ]
    place = {number: index for index, (number, _, _) in enumerate(arena)}
    sizes = [
        needed(buffer, binding) * (workers if store.per_worker else 1) for _, buffer, store in arena
    ]
    conflicts = [(place[n], place[other]) for n, _, store in arena for other in store.conflicts]
    lives = [(store.first, store.last) for _, _, store in arena]
    found, bytes_, _ = _native._plan(sizes, conflicts, lives)
    conflicts += overlapping(lives)
    assert _native._wrong_with_plan(sizes, conflicts, found, bytes_) is None
    return {number: found[index] for number, index in place.items()}


def overlapping(lifetimes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Pairs that have a step in common."""
    return [
        (a, b)
        for b, (first, last) in enumerate(lifetimes)
        for a, (other_first, other_last) in enumerate(lifetimes[:b])
        if first <= other_last and other_first <= last
    ]
