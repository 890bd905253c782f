"""Which steps form chains, why others do not, and that the memory of chains is right."""

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.plan.checking import wrong_with
from tests.unit.plan.pipelines import eager, feed_forward, gated, normal, passed, random_chain
from tests.unit.plan.planning import scheduled

import anyshape as ash
from anyshape.plan import tiles as tiling
from anyshape.plan.costs import MachineCosts
from anyshape.plan.schedule import Schedule
from anyshape.program import ArenaStore
from anyshape.sym import Symbol

W = normal(16, 16)
WEIGHTS_AGAIN = tiling._weights_again


@pytest.fixture(autouse=True)
def weights_are_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the costs of `eager`, chains are then taken at any number of rows."""
    monkeypatch.setattr(tiling, "_weights_again", lambda *_: 0)


def plan_of(model: Any, costs: MachineCosts | None = None) -> Schedule:
    return scheduled(passed(model), costs=costs or eager())


def members(plan: Schedule) -> list[tuple[int, ...]]:
    return [step.carried.chain.members for step in plan.steps if step.carried is not None]


def refusals(plan: Schedule) -> list[str]:
    return [d.why for d in plan.decisions if d.rule == "pipeline" and not d.taken]


def test_steps_that_follow_each_other_by_rows_are_a_chain() -> None:
    plan = plan_of(feed_forward())
    assert members(plan) == [(0, 1, 2)]
    assert [step.member_of is not None for step in plan.steps] == [True, True, True]


def test_a_chain_may_branch_and_meet_again() -> None:
    plan = plan_of(gated())
    assert members(plan) == [tuple(range(len(plan.steps)))]


def test_a_product_with_the_rows_themselves_is_refused() -> None:
    @ash.jit
    def model(x: ash.f32["rows", 16]):
        return ash.softmax((x @ W) @ (x @ W).mT)

    plan = plan_of(model)
    assert members(plan) == []


def test_a_sum_over_the_rows_is_refused() -> None:
    @ash.jit
    def model(x: ash.f32["rows", 16]):
        return ash.softmax(x @ W, axis=0) @ W

    plan = plan_of(model)
    assert members(plan) == []
    assert any("its rows depend on each other" in why for why in refusals(plan))


def test_what_the_caller_gets_is_not_handed_on() -> None:
    @ash.jit
    def model(x: ash.f32["rows", 16]):
        y = ash.gelu(x @ W)
        return y, ash.softmax(y @ W, axis=-1)

    plan = plan_of(model)
    assert members(plan) == [(1, 2)]
    assert "its result is given to the caller" in refusals(plan)


def test_what_others_read_is_not_handed_on() -> None:
    @ash.jit
    def model(x: ash.f32["rows", 16]):
        y = ash.gelu(x @ W)
        return ash.sum(y, axis=0), y @ W

    plan = plan_of(model)
    assert members(plan) == []
    assert "its result is read by steps outside of the chain" in refusals(plan)


@pytest.mark.parametrize(
    ("axes", "why"),
    [
        ([ash.Axis("rows", min=2)], "axis 'rows' may not be 1"),
        ([ash.Axis("rows", max=60)], "a tile would have 60 rows, fewer than 96"),
    ],
)
def test_a_tile_must_be_a_size_that_the_axis_allows(axes: list[ash.Axis], why: str) -> None:
    model = feed_forward(axes=axes)
    plan = plan_of(model)
    assert members(plan) == []
    assert why in refusals(plan)


def test_tiles_are_multiples_of_what_the_axis_declares() -> None:
    model = feed_forward(axes=[ash.Axis("rows", multiple_of=32)])
    plan = plan_of(model)
    (tiles,) = {step.member_of for step in plan.steps}
    assert tiles is not None
    for rows in (32, 320, 3200):
        sizes = {Symbol("rows"): rows}
        assert tiles.tile.evaluate(sizes) % 32 == 0
        assert tiles.last.evaluate(sizes) % 32 == 0


@pytest.mark.parametrize("limit", ["MOST_WEIGHTS", "LONGEST_TILE"])
def test_limits_cut_a_chain(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiling, limit, 1)
    plan = plan_of(feed_forward())
    assert members(plan) == []
    assert {"MOST_WEIGHTS": "weights of the chain would have over 1 bytes"}.get(
        limit, "a tile would take too long"
    ) in refusals(plan)


@pytest.mark.parametrize("threads", [1, 2, 3, 64])
@pytest.mark.parametrize("rows", [0, 1, 5, 95, 96, 97, 383, 384, 385, 4096, 100_003])
def test_tiles_cover_all_rows_evenly(rows: int, threads: int) -> None:
    plan = plan_of(feed_forward(), eager(threads))
    tiles = plan.steps[-1].member_of
    assert tiles is not None
    sizes = {Symbol("rows"): rows}
    tile, count, last = (d.evaluate(sizes) for d in (tiles.tile, tiles.count, tiles.last))
    assert (count - 1) * tile + last == rows
    assert 0 < last <= tile <= tiling.MOST_TILE
    if rows > threads * tiling.MOST_TILE:  # as many for each thread
        assert -(-count // threads) * threads * tile <= rows * 1.1


def test_small_sizes_and_few_rows_for_each_thread_are_not_worth_it() -> None:
    plan = plan_of(feed_forward(256, 1024), MachineCosts(threads=2))
    tiles = plan.steps[-1].member_of
    assert tiles is not None
    taken = [tiles.is_taken({Symbol("rows"): rows}) for rows in (0, 1, 32, 128, 4096)]
    assert taken == [False, False, False, False, True]


def test_weights_that_each_tile_reads_again_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are read six times from beyond a cache, or 5 MB of weights for each of four tiles."""
    rows = {Symbol("rows"): 512}
    for weights_again, taken in ((lambda *_: 0, True), (WEIGHTS_AGAIN, False)):
        monkeypatch.setattr(tiling, "_weights_again", weights_again)
        tiles = plan_of(feed_forward(384, 1536), MachineCosts()).steps[-1].member_of
        assert tiles is not None
        assert tiles.is_taken(rows) is taken


@pytest.mark.parametrize("model", [feed_forward(), gated()], ids=["feed forward", "gated"])
def test_memory_is_proved_with_and_without_the_chain(model: Any) -> None:
    for costs in (eager(2), MachineCosts(threads=2)):
        plan = scheduled(passed(model), costs=costs)
        symbols = sorted({s for b in plan.buffers for s in b.bytes.symbols}, key=str)
        for size in (0, 1, 7, 500):
            assert wrong_with(plan, dict.fromkeys(symbols, size)) is None


@pytest.mark.parametrize("seed", range(12))
def test_memory_of_random_chains_is_proved(seed: int) -> None:
    model, _ = random_chain(seed)
    plan = scheduled(passed(model), costs=eager(2))
    for sizes in ((1, 1), (3, 50), (2, 300)):
        binding = {Symbol("batch"): sizes[0], Symbol("seq"): sizes[1]}
        assert wrong_with(plan, binding) is None


def test_the_checker_finds_a_chain_whose_carrier_does_not_keep_what_members_read() -> None:
    """What the first member reads is in use until the carrier is done."""

    @ash.jit
    def model(x: ash.f32["rows", 16]):
        start = ash.cumsum(x, axis=0)
        return ash.softmax(ash.gelu(start @ W) @ W, axis=-1)

    plan = plan_of(model)
    carrier = plan.steps[-1]
    assert carrier.carried is not None
    first = plan.steps[carrier.carried.chain.members[0]]
    start = plan.buffers[first.buffers[0]]
    assert isinstance(start.store, ArenaStore)
    assert start.store.last == start.store.first + 1, "members may have its memory"
    assert set(carrier.carried.workspaces) <= set(start.store.conflicts)
    short = replace(start, store=replace(start.store, conflicts=()))
    buffers = [short if buffer is start else buffer for buffer in plan.buffers]
    wrong = wrong_with(replace(plan, buffers=tuple(buffers)), {Symbol("rows"): 500})
    assert wrong is not None
    assert "share memory while both are in use" in wrong


def test_what_is_handed_on_takes_no_memory_where_the_chain_is_taken() -> None:
    model = feed_forward(256, 1024)
    on, off = ash.compile(model), ash.compile(model, without=["pipeline"])
    with_rings, whole = (e.specialize(rows=4096).memory().arena for e in (on, off))
    assert 0 < with_rings <= 0.4 * whole
    few = [e.specialize(rows=16).memory().arena for e in (on, off)]
    assert few[0] == few[1]
