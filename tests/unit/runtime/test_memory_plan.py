"""Plans proved by an independent checker, on random conflicts and on lifetimes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyshape.runtime import _native
from anyshape.runtime.failures import ImpossibleSizeError

Pairs = list[tuple[int, int]]
SIZES = st.integers(0, 3000) | st.sampled_from([0, 1, 64, 4096, 1 << 20])


def aligned(size: int) -> int:
    return -(-size // 64) * 64


def overlapping(lifetimes: Pairs) -> Pairs:
    return [
        (a, b)
        for b, (first, last) in enumerate(lifetimes)
        for a, (other_first, other_last) in enumerate(lifetimes[:b])
        if first <= other_last and other_first <= last
    ]


@st.composite
def random_conflicts(draw) -> tuple[list[int], Pairs]:
    sizes = draw(st.lists(SIZES, max_size=30))
    index = st.integers(0, max(0, len(sizes) - 1))
    pairs = draw(st.lists(st.tuples(index, index), max_size=120)) if len(sizes) > 1 else []
    return sizes, [(a, b) for a, b in pairs if a != b]


@st.composite
def lifetimes(draw) -> tuple[list[int], Pairs]:
    sizes = draw(st.lists(SIZES, max_size=40))
    lives = [
        (first, first + draw(st.integers(0, 12)))
        for first in draw(st.lists(st.integers(0, 60), min_size=len(sizes), max_size=len(sizes)))
    ]
    return sizes, lives


@given(random_conflicts())
@settings(max_examples=400, deadline=None)
def test_any_conflicts(case: tuple[list[int], Pairs]):
    """Named ones count where lifetimes have no step in common."""
    sizes, conflicts = case
    offsets, arena, _ = _native._plan(sizes, conflicts, [(i, i) for i in range(len(sizes))])
    assert _native._wrong_with_plan(sizes, conflicts, offsets, arena) is None
    assert arena <= sum(map(aligned, sizes))
    pairs = [aligned(sizes[a]) + aligned(sizes[b]) for a, b in conflicts]
    assert arena >= max([*pairs, *map(aligned, sizes), 0])


@given(lifetimes())
@settings(max_examples=400, deadline=None)
def test_lifetimes(case: tuple[list[int], Pairs]):
    sizes, lives = case
    offsets, arena, bound = _native._plan(sizes, [], lives)
    assert _native._wrong_with_plan(sizes, overlapping(lives), offsets, arena) is None
    live = [
        sum(
            aligned(size)
            for size, (first, last) in zip(sizes, lives, strict=True)
            if first <= t <= last
        )
        for t in range(80)
    ]
    assert bound == max(live)
    assert bound <= arena <= sum(map(aligned, sizes))


def test_a_chain_needs_two():
    lives = [(i, i + 1) for i in range(50)]
    _, arena, bound = _native._plan([1000] * 50, [], lives)
    assert arena == bound == 2 * 1024


def test_many_that_live_together():
    """Too many pairs to list: a sweep finds places, and gaps of those that are over."""
    lives = [(i, i + 200 + i % 7) for i in range(600)]
    sizes = [1000 + 64 * (i % 5) for i in range(600)]
    soon = [
        (a, b) for a in range(600) for b in range(a + 1, 600) if 0 < lives[b][0] - lives[a][1] < 3
    ]
    offsets, arena, bound = _native._plan(sizes, soon, lives)
    assert _native._wrong_with_plan(sizes, [*overlapping(lives), *soon], offsets, arena) is None
    assert bound <= arena <= 1.1 * bound


def test_sizes_beyond_all_memory():
    with pytest.raises(ImpossibleSizeError):
        _native._plan([1 << 61] * 4, [], [(0, 0)] * 4)
    apart = [(i, i) for i in range(4)]
    with pytest.raises(ImpossibleSizeError):
        _native._plan([1 << 61] * 4, [(a, b) for a in range(4) for b in range(a)], apart)
    _, arena, bound = _native._plan([1 << 62] * 4, [], apart)
    assert arena == bound == 1 << 62


@pytest.mark.parametrize(
    ("offsets", "arena", "problem"),
    [
        ([0, 128], 256, None),
        ([128, 0], 256, None),
        ([0, 64], 192, "buffer 0 and buffer 1 overlap"),
        ([64, 0], 192, "buffer 0 and buffer 1 overlap"),
        ([0, 0], 128, "buffer 0 and buffer 1 overlap"),
        ([0, 130], 512, "buffer 1 is not aligned"),
        ([-64, 128], 256, "buffer 0 lies before the arena"),
        ([0, 128], 200, "buffer 1 ends after the arena"),
        ([0], 128, "not one offset for each buffer"),
    ],
)
def test_the_checker(offsets: list[int], arena: int, problem: str | None):
    assert _native._wrong_with_plan([100, 100], [(0, 1)], offsets, arena) == problem
