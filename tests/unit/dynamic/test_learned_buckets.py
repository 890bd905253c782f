"""Buckets learned from sizes: no other choice pads less."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from anyshape.base.errors import OptionError
from anyshape.dynamic.buckets import learn_buckets


def padded(sizes: list[int], buckets: list[int]) -> int:
    return sum(min(bucket for bucket in buckets if bucket >= size) for size in sizes)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_nothing_else_pads_less(seed: int, count: int) -> None:
    sizes = np.random.default_rng(seed).integers(1, 40, 12).tolist()
    found = learn_buckets(sizes, count)
    assert found == sorted(found)
    assert len(found) <= count
    others = (
        [*some, max(sizes)]
        for size in range(count)
        for some in combinations(sorted(set(sizes)), size)
    )
    assert padded(sizes, found) == min(padded(sizes, list(each)) for each in others)


def test_as_many_buckets_as_sizes_pad_nothing() -> None:
    assert learn_buckets([5, 3, 3, 0, 9], 10) == [3, 5, 9]


@pytest.mark.parametrize(("sizes", "count"), [([], 2), ([0], 2), ([-1, 4], 2)])
def test_sizes_are_needed(sizes: list[int], count: int) -> None:
    with pytest.raises(OptionError, match="sizes that calls have had"):
        learn_buckets(sizes, count)


@pytest.mark.parametrize("count", [0, -1, True, 2.5])
def test_a_count_is_a_number(count: int) -> None:
    with pytest.raises(OptionError, match="a number of buckets, 1 or more"):
        learn_buckets([4], count)
