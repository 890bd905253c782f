"""A short run of the fuzzer in every test run; `make fuzz` is the long one."""

import pytest
from tests.fuzz.run import Tally, check


@pytest.mark.parametrize("block", range(4))
def test_random_graphs(block: int) -> None:
    tally = Tally()
    for seed in range(block * 25, block * 25 + 25):
        check(100_000 + seed, tally)
    assert tally.runs > 25
    assert tally.nodes_checked > 500
