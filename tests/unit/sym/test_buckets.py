"""Buckets of an axis: which size a call is padded to, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from anyshape.base.errors import AxisDeclarationError
from anyshape.sym import Axis, parse_axis

SEQ = Axis("seq", min=1, max=512, buckets=[64, 128, 512])


@pytest.mark.parametrize(("size", "padded"), [(1, 64), (64, 64), (65, 128), (129, 512)])
def test_the_next_bucket_is_taken(size: int, padded: int) -> None:
    assert SEQ.padding is not None
    assert SEQ.padding.padded(size) == (padded, "")


def test_what_no_bucket_holds_stays_exact() -> None:
    open_ended = Axis("seq", buckets=[64])
    assert open_ended.padding is not None
    assert open_ended.padding.padded(65) == (65, "no bucket holds it")
    assert open_ended.padding.padded(0) == (0, "there is nothing to pad")


def test_powers_of_two_end_at_the_greatest_size() -> None:
    padding = Axis("seq", max=100, buckets="pow2").padding
    assert padding is not None
    assert [padding.padded(n)[0] for n in (1, 2, 3, 33, 64, 65, 100)] == [1, 2, 4, 64, 64, 100, 100]
    assert padding.listed() == [1, 2, 4, 8, 16, 32, 64, 100]


def test_powers_of_two_are_legal_sizes_or_none() -> None:
    eights = Axis("seq", min=8, multiple_of=8, buckets="pow2").padding
    threes = Axis("seq", multiple_of=3, buckets="pow2").padding
    assert eights is not None
    assert threes is not None
    assert eights.padded(24)[0] == 32
    assert threes.padded(24) == (24, "no bucket holds it")


@pytest.mark.parametrize(
    ("cap", "size", "padded"),
    [(10, 54, 64), (10, 53, 53), ("25%", 48, 64), ("25%", 47, 47), ("0%", 64, 64), (0, 63, 63)],
)
def test_padding_is_capped(cap: int | str, size: int, padded: int) -> None:
    padding = Axis("seq", buckets=[64], max_padding=cap).padding
    assert padding is not None
    assert padding.padded(size)[0] == padded


@pytest.mark.parametrize(
    "axis",
    [
        SEQ,
        Axis("seq", max=512, buckets="pow2", max_padding="25%"),
        Axis("seq", max=512, buckets=[512], max_padding=64, static=True, likely=[7]),
        Axis("buckets", max=7, static=True, broadcasts=False),
    ],
    ids=str,
)
def test_text_reads_back(axis: Axis) -> None:
    assert parse_axis(str(axis)) == axis


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"buckets": [128, 64]}, r"has the buckets \[128, 64\]\nfix: give them in order: \[64"),
        ({"buckets": [64, 64]}, "give them in order"),
        ({"buckets": [0, 64]}, "the bucket 0.*\n.*buckets start at 1"),
        ({"buckets": [1024], "max": 512}, r"the bucket 1024, which seq: 0\.\.512 forbids"),
        ({"buckets": [12], "multiple_of": 8}, "the bucket 12, which"),
        ({"buckets": "pow3"}, "has buckets='pow3'\nfix: give a list of sizes, or 'pow2'"),
        ({"buckets": 64}, "has buckets=64"),
        ({"buckets": [64.5]}, "has 64.5 where a size stands"),
        ({"max_padding": 64}, "has max_padding and no buckets"),
        ({"buckets": [64], "max_padding": "much"}, "has max_padding='much'\nfix: give a number"),
        ({"buckets": [64], "max_padding": "125%"}, "has max_padding='125%'"),
        ({"buckets": [64], "max_padding": -1}, "has max_padding=-1"),
        ({"static": True}, "is static without a max\nfix: give max"),
        ({"static": 1, "max": 4}, "has static=1"),
    ],
)
def test_contradictions_are_refused(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(AxisDeclarationError, match=problem):
        Axis("seq", **given)
