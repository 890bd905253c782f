"""Compaction in parts, on several threads: every element is written once."""

from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.ir import parse
from anyshape.passes.long_tasks import PART

Array = Any

TEXT = """
graph chosen(x: f32[n, m], mask: bool[n, m], rows: bool[n])
    -> (i64[i, 2], i64[j, 1], f32[k], f32[l, m]) {
  %0 = nonzero(x) late [i <= n*m]
  %1 = nonzero(rows) late [j <= n]
  %2 = compress(mask, x) late [k <= n*m]
  %3 = compress(rows, x) late [l <= n]
  return %0, %1, %2, %3
}
"""


@pytest.fixture(scope="module")
def chosen() -> Any:
    return ash.compile(parse(TEXT), threads=2)


def made(rows: int, columns: int, share: float) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(rows)
    mask = rng.random((rows, columns)) < share
    x = np.where(mask, rng.standard_normal(mask.shape), 0).astype(np.float32)
    return x, rng.random(mask.shape) < share, rng.random(rows) < share


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.6, 0.99, 1.0])
@pytest.mark.parametrize(
    ("rows", "columns"), [(1, 63), (64, 1), (PART - 1, 1), (PART + 1, 2), (5 * PART + 17, 3)]
)
def test_parts(chosen: Any, rows: int, columns: int, share: float) -> None:
    x, mask, flags = made(rows, columns, share)
    wanted = np.argwhere(x), np.argwhere(flags), x[mask], x[flags]
    for ours, theirs in zip(chosen(x, mask, flags), wanted, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_rows_alone_have_parts(chosen: Any) -> None:
    """What is one part in one kernel may be several in another of the same graph."""
    x, mask, flags = made(3 * PART + 1, 1, 0.5)
    assert chosen(x, mask, flags)[1].tolist() == np.argwhere(flags).tolist()
