"""A short run of `make fuzz-groups`, and the layouts that it uses."""

from collections import Counter

import numpy as np
import pytest
from tests.fuzz.groups import LAYOUTS, LEAST_SHARE, check_groups
from tests.fuzz.native import share_in_kernels

from anyshape.execute.target import executable_isas

LESSER = executable_isas()[1:]


@pytest.mark.parametrize("block", range(4))
def test_random_fusion_groups(block: int) -> None:
    tally: Counter[str] = Counter()
    for seed in range(block * 6, block * 6 + 6):
        tally += check_groups(300_000 + seed)
    assert tally["groups"] > 10
    assert tally["runs"] > 10
    assert share_in_kernels(tally) >= LEAST_SHARE


@pytest.mark.parametrize("isa", LESSER)
def test_random_fusion_groups_on_lesser_instruction_sets(isa: str) -> None:
    tally: Counter[str] = Counter()
    first = 301_000 + 100 * LESSER.index(isa)
    for seed in range(first, first + 4):
        tally += check_groups(seed, isa=isa)
    assert tally["groups"] > 6
    assert tally["runs"] > 6


@pytest.mark.parametrize("shape", [(), (3,), (0, 2), (3, 4, 5)])
def test_layouts_keep_the_values(shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    laid_out = [layout(array) for layout in LAYOUTS]
    assert all(np.array_equal(found, array) for found in laid_out)
    assert all(found.shape == shape for found in laid_out)
    if array.size > 1 and array.ndim > 1:
        assert sum(not found.flags.c_contiguous for found in laid_out) == 3
