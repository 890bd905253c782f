"""Memory of random schedules, proved by the independent checker; and wrong plans, refused by it."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.plan.checking import home, wrong_with
from tests.unit.plan.planning import scheduled
from tests.unit.plan.random_plans import random_graph

from anyshape.plan.costs import MachineCosts
from anyshape.plan.schedule import Schedule
from anyshape.program import AliasStore, ArenaStore
from anyshape.runtime import _native
from anyshape.sym import Symbol

N, M = Symbol("n"), Symbol("m")
SIZES = st.sampled_from([0, 1, 2, 7, 64, 97])


@given(st.integers(0, 10**6), SIZES, SIZES, st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_any_schedule(seed: int, n: int, m: int, threads: int):
    plan = scheduled(random_graph(seed), costs=MachineCosts(threads=threads))
    assert wrong_with(plan, {N: n, M: m}, threads) is None


def test_random_schedules_tempt():
    """The property would be empty if the graphs never wrote in place or had no workspaces."""
    plans = [scheduled(random_graph(seed)) for seed in range(20)]
    assert sum(_in_place_count(plan) for plan in plans) > 10
    assert sum(bool(step.workspaces[0]) for plan in plans for step in plan.steps) > 3


def _in_place_count(plan: Schedule) -> int:
    stores = [buffer.store for buffer in plan.buffers]
    return sum(isinstance(store, AliasStore) and store.in_place for store in stores)


def test_without_lifetimes_and_conflicts_buffers_overlap():
    caught = 0
    for seed in range(20):
        plan = scheduled(random_graph(seed))
        buffers = tuple(
            replace(buffer, store=ArenaStore(number, number, (), buffer.store.per_worker))
            if isinstance(buffer.store, ArenaStore)
            else buffer
            for number, buffer in enumerate(plan.buffers)
        )
        caught += wrong_with(replace(plan, buffers=buffers), {N: 64, M: 64}) is not None
    assert caught > 10


def test_without_waits_nothing_is_ordered():
    plan = scheduled(random_graph(3))
    steps = tuple(replace(step, waits=()) for step in plan.steps)
    problem = wrong_with(replace(plan, steps=steps, window=100), {N: 64, M: 64})
    assert problem is not None
    assert "does not wait for" in problem


def test_in_place_over_what_is_still_needed():
    """Every operand of the same size that the plan spared is one too many."""
    refused = 0
    for seed in range(30):
        plan = scheduled(random_graph(seed))
        for wrong in _greedier(plan):
            refused += wrong_with(wrong, {N: 64, M: 64}) is not None
    assert refused > 20


def _greedier(plan: Schedule):
    for step in plan.steps:
        operands = step.buffers[: len(step.node.operands)]
        (result,) = step.buffers[len(operands) :]
        for operand in {home(plan, number) for number in operands}:
            is_temporary = isinstance(plan.buffers[operand].store, ArenaStore)
            if is_temporary and isinstance(plan.buffers[result].store, ArenaStore):
                store = AliasStore(operand, in_place=True)
                yield _with_store(plan, result, store)


def _with_store(plan: Schedule, number: int, store: AliasStore) -> Schedule:
    buffers = list(plan.buffers)
    buffers[number] = replace(buffers[number], store=store)
    for other, buffer in enumerate(buffers):
        if isinstance(buffer.store, ArenaStore):
            kept = tuple(c for c in buffer.store.conflicts if c != number)
            buffers[other] = replace(buffer, store=replace(buffer.store, conflicts=kept))
    return replace(plan, buffers=tuple(buffers))


# ---- the checker by itself ---------------------------------------------------------------------

A, B, C = (0, 0, 64), (0, 64, 64), (0, 32, 64)


def wrong(steps: list, places: list[tuple[int, int, int]], window: int = 100) -> str | None:
    return _native._wrong_with_accesses(steps, places, window)


def test_a_step_waits_for_its_operand():
    write, read = ([], [0], [], []), ([0], [1], [], [])
    assert wrong([write, read], [A, B]) == "step 1 does not wait for buffer 0"
    assert wrong([write, ([0], [1], [], [0])], [A, B]) is None
    assert wrong([write, read], [A, B], window=1) is None


def test_overlapping_buffers():
    write, read = ([], [0], [], []), ([0], [1], [], [0])
    in_use = "buffer 0 and buffer 1 share memory while both are in use"
    assert wrong([write, read], [A, C]) == in_use
    assert wrong([write, read], [A, A]) == in_use
    assert wrong([write, ([0], [1], [(0, 1)], [0])], [A, A]) is None
    assert wrong([write, ([0], [1], [(0, 1)], [0])], [A, C]) == in_use
    assert wrong([write, read], [A, (1, 0, 64)]) is None
    assert wrong([write, read], [A, (0, 0, 0)]) is None


def test_in_place_while_others_read():
    write, other, place = ([], [0], [], []), ([0], [1], [], [0]), ([0], [2], [(0, 2)], [0])
    in_use = "buffer 0 and buffer 2 share memory while both are in use"
    assert wrong([write, other, place], [A, B, A]) == in_use
    assert wrong([write, other, ([0], [2], [(0, 2)], [0, 1])], [A, B, A]) is None


def test_results_of_one_step_and_inputs():
    assert wrong([([], [0, 1], [], [])], [A, A]) is not None
    assert wrong([([0], [1], [], [])], [A, A]) is not None
    assert wrong([([0], [0], [], [])], [A]) == "buffer 0 is used before it is written"
