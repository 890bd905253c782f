"""Which steps take images through convolutions one by one, with which tiles, and when."""

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.plan.checking import wrong_with
from tests.unit.plan.pipelines import (
    CACHE,
    gated,
    inverted_residual,
    normal,
    passed,
    squeezed,
    with_small_cache,
)
from tests.unit.plan.planning import scheduled

import anyshape as ash
from anyshape.plan import chains, images
from anyshape.plan.costs import MachineCosts
from anyshape.plan.schedule import Schedule
from anyshape.plan.tiles import Tiles
from anyshape.sym import Axis, Dim, Fact, Facts, Predicate, Symbol, minimum


def plan_of(model: Any, costs: MachineCosts | None = None) -> Schedule:
    return scheduled(passed(model), costs=costs or with_small_cache())


def members(plan: Schedule) -> list[tuple[int, ...]]:
    return [step.carried.chain.members for step in plan.steps if step.carried is not None]


def tiles_of(plan: Schedule) -> Tiles:
    (tiles,) = {step.member_of for step in plan.steps if step.member_of is not None}
    return tiles


def sizes(batch: int, h: int = 10, w: int = 10) -> dict[Symbol, int]:
    return {Symbol("batch"): batch, Symbol("h"): h, Symbol("w"): w}


@pytest.mark.parametrize("model", [inverted_residual(), squeezed()], ids=["residual", "squeezed"])
def test_images_go_through_all_steps(model: Any) -> None:
    plan = plan_of(model)
    assert members(plan) == [tuple(range(len(plan.steps)))]
    assert len(plan.steps) > 3


def test_values_of_one_chain_share_rings() -> None:
    """Each is read by the next step: two rings do for any number of them."""
    taps = normal(12, 3, 3, 1, 1)

    @ash.jit
    def model(x: ash.f32["batch", "h", "w", 12]):
        for _ in range(6):
            x = ash.relu(ash.conv(x, taps, padding=[(1, 1), (1, 1)]))
        return x

    (carrier,) = (step for step in plan_of(model).steps if step.carried is not None)
    assert carrier.carried is not None
    assert len(carrier.carried.rings) == 5
    assert len(set(carrier.carried.rings.values())) == 2


def test_one_image_is_no_chain_and_more_than_a_cache_holds_are() -> None:
    tiles = tiles_of(plan_of(inverted_residual()))
    assert not any(tiles.is_taken(sizes(batch)) for batch in (0, 1))
    assert all(tiles.is_taken(sizes(batch)) for batch in (3, 8, 100))
    assert not tiles.is_taken(sizes(8, 1, 1)), "all of them stay in the cache"


def test_small_images_are_taken_together() -> None:
    tiles = tiles_of(plan_of(inverted_residual(), with_small_cache(2)))
    of_places = 4 * 40  # bytes of the widest value
    for batch in (1, 2, 7, 64, 1000):
        for edge in (1, 2, 5, 10, 50):
            at = sizes(batch, edge, edge)
            tile, count, last = (d.evaluate(at) for d in (tiles.tile, tiles.count, tiles.last))
            assert (count - 1) * tile + last == batch
            assert 0 < last <= tile
            assert tile == 1 or tile * edge * edge * of_places <= CACHE * 3 // 4


def test_a_thread_without_an_image_counts() -> None:
    """Three images on two threads take as long as four, so that apart is quicker."""
    costs = replace(with_small_cache(2), memory_byte=12_000)
    tiles = tiles_of(plan_of(inverted_residual(), costs))
    assert [tiles.is_taken(sizes(batch, 12, 12)) for batch in (3, 4)] == [False, True]


def test_a_tile_that_takes_too_long_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tiles_of(plan_of(inverted_residual())).is_taken(sizes(8))
    monkeypatch.setattr(images, "LONGEST_TILE", 1000)
    assert not tiles_of(plan_of(inverted_residual())).is_taken(sizes(8))


def test_models_without_images_have_none() -> None:
    assert all(len(tiles.lead) == 2 for tiles in [tiles_of(plan_of(gated()))])


@pytest.mark.parametrize(
    ("axis", "why"),
    [
        (ash.Axis("batch", min=2), "axis 'batch' may not be 1"),
        (ash.Axis("batch", max=16), None),
        (ash.Axis("batch", multiple_of=4), None),
    ],
)
def test_a_tile_is_a_number_that_the_axis_allows(axis: ash.Axis, why: str | None) -> None:
    plan = plan_of(inverted_residual(axes=[axis]))
    if why is not None:
        assert members(plan) == []
        assert why in [d.why for d in plan.decisions if not d.taken]
        return
    for batch in (4, 16):
        assert tiles_of(plan).tile.evaluate(sizes(batch)) % axis.multiple_of == 0


BATCH, H = Dim.of("batch"), Dim.of("h")


@pytest.mark.parametrize(
    ("predicate", "is_kept"),
    [
        (minimum(BATCH, 1) <= H, True),
        (minimum(BATCH, 1) + 3 < H, True),
        (H < 100, True),
        (BATCH <= H, False),
        (H <= BATCH, False),
        (minimum(BATCH, 1) >= H, False),
        (BATCH.divisible_by(2), False),
        (BATCH.equals(H), False),
    ],
    ids=str,
)
def test_facts_must_hold_for_a_tile(predicate: Predicate, is_kept: bool) -> None:
    """Images have sizes if there is one at least, which is so in any tile."""
    facts = Facts((Axis("batch"), Axis("h")), (Fact(predicate),))
    refusal = chains._facts_refusal((BATCH,), facts)
    assert str(refusal) == str(None if is_kept else f"a tile may break the fact {predicate}")


@pytest.mark.parametrize("model", [inverted_residual(), squeezed()], ids=["residual", "squeezed"])
def test_memory_is_proved_with_and_without_the_chain(model: Any) -> None:
    for costs in (with_small_cache(2), MachineCosts(threads=2)):
        plan = scheduled(passed(model), costs=costs)
        for batch in (0, 1, 2, 5, 16):
            for edge in (1, 3, 10, 40):
                assert wrong_with(plan, sizes(batch, edge, edge + 1)) is None
