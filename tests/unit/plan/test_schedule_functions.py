"""What a schedule decides, function by function: on small tables written by hand, and on random
ones against all orders in which their steps may run."""

from collections.abc import Mapping
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.plan.random_steps import Planned, State, is_live, planned, states

from anyshape.ir.types import TensorType, f32, i32
from anyshape.plan.conflicts import conflicts_of
from anyshape.plan.in_place import overwrites_of
from anyshape.plan.lifetimes import Lifetimes, StepOrder, lifetimes_of
from anyshape.plan.output_prefixes import output_prefixes
from anyshape.plan.step_buffers import StepBuffers, waits_of, writers_of
from anyshape.sym import Dim

Pair = tuple[int, int]


def step(operands: tuple[int, ...], *results: int, over: tuple[Pair, ...] = ()) -> StepBuffers:
    return StepBuffers(operands, results, overwritable=frozenset(over))


def lives_of(steps: list[StepBuffers], window: int = 100) -> Lifetimes:
    writers = writers_of(steps, {})
    return lifetimes_of(steps, StepOrder.of(waits_of(steps, writers), window), writers)


# --- waits ----------------------------------------------------------------------------------------


def test_a_step_waits_for_what_writes_its_operands() -> None:
    steps = [step((0,), 1), step((0,), 2), step((2, 1, 2), 3)]
    writers = writers_of(steps, {})
    assert writers == {1: 0, 2: 1, 3: 2}
    assert waits_of(steps, writers) == ((), (), (0, 1))


def test_workspaces_are_written_by_their_step() -> None:
    assert writers_of([StepBuffers((0,), (1,), (2, 3))], {}) == {1: 0, 2: 0, 3: 0}


def test_who_reads_what_continues_an_input_waits_for_what_is_appended() -> None:
    """Buffer 9 is an input with buffer 1 behind it; nothing else writes it."""
    steps = [step((0,), 1), step((0,), 2), step((9,), 3)]
    writers = writers_of(steps, {1: 9})
    assert writers[9] == 0
    assert waits_of(steps, writers)[2] == (0,)


# --- lifetimes ------------------------------------------------------------------------------------


def test_lifetimes_join_where_memory_is_taken_over() -> None:
    steps = [step((0,), 1), step((1,), 2), step((2, 1), 3)]
    lives = lives_of(steps)
    assert lives.users == {0: (0,), 1: (0, 1, 2), 2: (1, 2), 3: (2,)}
    joined = lives.joined({3: 2})
    assert joined.users == {**lives.users, 2: (1, 2)}
    assert lives.joined({2: 0, 3: 0}).users[0] == (0, 1, 2)
    assert lives.users[0] == (0,), "what was there stays as it was"


# --- in place -------------------------------------------------------------------------------------

FOUR, EIGHT = Dim.of(4), Dim.of(8)


def overwritten(steps: list[StepBuffers], sizes: Mapping[int, Dim]) -> dict[int, int]:
    return overwrites_of(steps, lives_of(steps), sizes)


def test_a_result_takes_over_the_memory_of_its_operand() -> None:
    steps = [step((0,), 1), step((1,), 2, over=((0, 1),))]
    assert overwritten(steps, {1: FOUR, 2: FOUR}) == {2: 1}
    assert overwritten(steps, {1: FOUR, 2: EIGHT}) == {}, "of another size"
    assert overwritten(steps, {2: FOUR}) == {}, "the operand is no temporary"
    assert overwritten([steps[0], step((1,), 2)], {1: FOUR, 2: FOUR}) == {}, "not allowed"


def test_a_chain_lies_in_its_first_buffer() -> None:
    chain = [step((n,), n + 1, over=((0, 1),)) for n in range(4)]
    assert overwritten(chain, dict.fromkeys(range(1, 5), FOUR)) == {2: 1, 3: 1, 4: 1}


def test_what_others_still_need_stays() -> None:
    later = [step((0,), 1), step((1,), 2, over=((0, 1),)), step((1, 2), 3)]
    assert overwritten(later, dict.fromkeys((1, 2), FOUR)) == {}
    at_the_same_time = [step((0,), 1), step((1,), 2), step((1,), 3, over=((0, 1),))]
    assert overwritten(at_the_same_time, dict.fromkeys((1, 2, 3), FOUR)) == {}
    before = [step((0,), 1), step((1,), 2), step((1, 2), 3, over=((0, 2),))]
    assert overwritten(before, dict.fromkeys((1, 2, 3), FOUR)) == {3: 1}


def test_two_results_take_over_two_operands() -> None:
    both = ((0, 2), (0, 3), (1, 2), (1, 3))
    steps = [step((), 1), step((), 2), step((1, 2), 3, 4, over=both)]
    assert overwritten(steps, dict.fromkeys((1, 2, 3, 4), FOUR)) == {3: 1, 4: 2}


def test_an_operand_that_is_read_twice_is_overwritten_only_if_both_reads_allow_it() -> None:
    sizes = {1: FOUR, 2: FOUR}
    assert overwritten([step((), 1), step((1, 1), 2, over=((0, 2),))], sizes) == {}
    assert overwritten([step((), 1), step((1, 1), 2, over=((0, 2), (1, 2)))], sizes) == {2: 1}


# --- outputs in inputs ----------------------------------------------------------------------------

N = f32["n"]


def prefixes(
    steps: list[StepBuffers],
    inputs: Mapping[int, TensorType],
    outputs: Mapping[int, TensorType],
    continued: Mapping[int, int] | None = None,
) -> dict[int, int]:
    return output_prefixes(steps, lives_of(steps), continued or {}, inputs, outputs)


OVER = step((0,), 1, over=((0, 1),))


def test_an_output_is_written_over_an_input_of_its_type() -> None:
    assert prefixes([OVER], {0: N}, {1: N}) == {1: 0}
    assert prefixes([OVER], {0: i32["n"]}, {1: N}) == {}, "of the same size, but another type"
    assert prefixes([OVER], {}, {1: N}) == {}, "not given up"
    assert prefixes([OVER], {0: N}, {}) == {}, "no output"


def test_a_copy_that_can_be_left_out_allows_it_too() -> None:
    copying = StepBuffers((0,), (1,), removable_copies=frozenset({(0, 1)}))
    assert prefixes([copying], {0: N}, {1: N}) == {1: 0}


def test_an_input_that_others_read_is_not_written_over() -> None:
    reader = step((0,), 2)
    assert prefixes([OVER, reader], {0: N}, {1: N}) == {}
    assert prefixes([reader, OVER], {0: N}, {1: N}) == {}, "nothing waits for the reader"
    waits = step((2, 0), 1, over=((1, 2),))
    assert prefixes([reader, waits], {0: N}, {1: N}) == {1: 0}


def test_an_input_is_the_beginning_of_one_output() -> None:
    both = step((0,), 1, 2, over=((0, 1), (0, 2)))
    assert prefixes([both], {0: N}, {1: N, 2: N}) == {1: 0}
    assert prefixes([OVER], {0: N}, {1: N, 9: N}, continued={9: 0}) == {9: 0}


# --- conflicts ------------------------------------------------------------------------------------


def test_what_is_written_soon_after_the_last_use_conflicts_unless_it_waits() -> None:
    steps = [step((), 1), step((1,), 2), step((), 3), step((2,), 4)]
    arena = {1, 2, 3, 4}
    lives = lives_of(steps, window=3)
    assert conflicts_of(1, steps, lives, arena) == (3,), "step 3 waits for step 1, step 2 does not"
    assert conflicts_of(1, steps, lives, arena - {3}) == ()
    assert conflicts_of(1, steps, lives_of(steps, window=1), arena) == ()
    assert conflicts_of(4, steps, lives, arena) == (), "nothing comes after it"


def clashes(plan: Planned, state: State) -> list[Pair]:
    """Buffers that may share memory and are in use at the same time."""
    live = [buffer for buffer in sorted(plan.arena) if is_live(buffer, plan.lives, state)]
    return [pair for pair in combinations(live, 2) if plan.may_share(*pair)]


def spoiled(plan: Planned, state: State) -> list[Pair]:
    """Values that are overwritten while a step other than the one that does it may read them."""
    running, over = state
    found: list[Pair] = []
    for result, memory in plan.overwrites.items():
        writer = plan.plain.writers[result]
        earlier = [
            value
            for value in (memory, *plan.overwrites)
            if plan.overwrites.get(value, value) == memory and plan.plain.writers[value] < writer
        ]
        if writer in running:
            others = ((v, u) for v in earlier for u in plan.plain.users[v])
            found += [(v, u) for v, u in others if u != writer and u not in over]
    return found


@given(st.integers(0, 10**9))
@settings(max_examples=150, deadline=None)
def test_no_order_of_steps_uses_memory_for_two_values_at_once(seed: int) -> None:
    plan = planned(seed)
    for state in states(plan.waits, plan.window):
        assert clashes(plan, state) == []
        assert spoiled(plan, state) == []


@given(st.integers(0, 10**9))
@settings(max_examples=100, deadline=None)
def test_no_conflict_is_named_without_need(seed: int) -> None:
    """Each is between buffers that some order of the steps uses at the same time."""
    plan = planned(seed)
    named = {(b, other) for b, others in plan.conflicts.items() for other in others}
    for state in states(plan.waits, plan.window):
        live = {pair for pair in named if all(is_live(b, plan.lives, state) for b in pair)}
        named -= live
    assert named == set()


def test_random_steps_tempt() -> None:
    """The properties would be empty if nothing shared memory, or nothing conflicted."""
    plans = [planned(seed) for seed in range(200)]
    assert sum(len(plan.overwrites) for plan in plans) > 50
    assert sum(len(found) for plan in plans for found in plan.conflicts.values()) > 50
    pairs = [(plan, pair) for plan in plans for pair in combinations(sorted(plan.arena), 2)]
    assert sum(plan.may_share(*pair) for plan, pair in pairs) > 50


@pytest.mark.parametrize("broken", ["conflicts", "window"])
def test_the_simulation_sees_what_is_left_out(broken: str) -> None:
    caught = 0
    for seed in range(200):
        plan = planned(seed)
        without = dict.fromkeys(plan.conflicts, ())
        wrong = Planned(**{**vars(plan), "conflicts": without}) if broken == "conflicts" else plan
        window = plan.window + (5 if broken == "window" else 0)  # threads look further ahead
        caught += any(clashes(wrong, state) for state in states(plan.waits, window))
    assert caught > 10
