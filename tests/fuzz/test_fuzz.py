"""A short run of the fuzzers in every test run; `make fuzz` and `make fuzz-native` are long."""

from collections import Counter

import pytest
from tests.fuzz.donated import check_donated
from tests.fuzz.dynamic import check_dynamic
from tests.fuzz.masks import check_masks
from tests.fuzz.native import check_native, share_in_kernels
from tests.fuzz.run import Tally, check

from anyshape.execute.target import executable_isas

LESSER = executable_isas()[1:]


@pytest.mark.parametrize("block", range(4))
def test_random_graphs(block: int) -> None:
    tally = Tally()
    for seed in range(block * 25, block * 25 + 25):
        check(100_000 + seed, tally)
    assert tally.runs > 25
    assert tally.nodes_checked > 500


@pytest.mark.parametrize("block", range(4))
def test_random_graphs_run_natively(block: int) -> None:
    tally: Counter[str] = Counter()
    for seed in range(block * 10, block * 10 + 10):
        check_native(200_000 + seed, tally)
    assert tally["runs"] > 10
    assert tally["in kernels"] > 30
    assert share_in_kernels(tally) > 0.8


@pytest.mark.parametrize("isa", LESSER)
def test_random_graphs_run_on_lesser_instruction_sets(isa: str) -> None:
    tally: Counter[str] = Counter()
    first = 201_000 + 100 * LESSER.index(isa)
    for seed in range(first, first + 10):
        check_native(seed, tally, isa=isa)
    assert tally["runs"] > 10
    assert tally["in kernels"] > 30


def test_random_graphs_with_donated_inputs() -> None:
    tally: Counter[str] = Counter()
    for seed in range(10):
        check_donated(300_000 + seed, tally)
    assert tally["runs"] > 8
    assert tally["starts"] > 5


@pytest.mark.parametrize("block", range(3))
def test_random_graphs_whose_sizes_are_born_while_they_run(block: int) -> None:
    tally: Counter[str] = Counter()
    for seed in range(block * 10, block * 10 + 10):
        check_dynamic(400_000 + seed, tally)
    assert tally["runs"] > 10
    assert tally["MemoryLimitError"] > 3


@pytest.mark.parametrize("block", range(3))
def test_random_graphs_with_padded_axes(block: int) -> None:
    tally: Counter[str] = Counter()
    for seed in range(block * 40, block * 40 + 40):
        check_masks(500_000 + seed, tally)
    assert tally["padded"] > 40
    assert tally["masks"] > 10


def test_random_graphs_with_buckets_run_natively() -> None:
    tally: Counter[str] = Counter()
    for seed in range(5):
        check_masks(510_000 + seed, tally, native=True)
    assert tally["padded"] > 4
