"""Writes of what lies in the memory that is read: refused, also where eager mode has an answer that
depends on the order of its loops. Writes beside it are not: captured at one size, and compared with
eager mode at others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import anyshape as ash
from anyshape.base.errors import AnyshapeError, FactViolationError, TraceError

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns of its own parts

Function = Callable[[Any], Any]
AXES = {"x": ("b", "n")}
SIZES = ((5, 8), (1, 1), (0, 3), (3, 0), (2, 7), (7, 2), (1, 5), (3, 4))


def rows_onto_rows(x: Any) -> Any:
    x[1:] += x[:-1]
    return x


def columns_onto_columns(x: Any) -> Any:
    x[:, 1:].copy_(x[:, :-1])
    return x


def diagonally(x: Any) -> Any:
    x[1:, 1:] -= x[:-1, :-1]
    return x


def a_row_onto_all(x: Any) -> Any:
    return x.sub_(x[:1])


def a_column_onto_all(x: Any) -> Any:
    return x.sub_(x[:, :1])


def repeated(x: Any) -> Any:
    x[:, :1].expand(-1, 3).add_(1)
    return x


def into_a_result(x: Any) -> Any:
    torch.add(x[1:], 1, out=x[:-1])
    return x


def rows_by_number(x: Any) -> Any:
    return x.index_add_(0, torch.arange(x.shape[0]) // 2, x)


def transposed(x: Any) -> Any:
    x[: x.shape[0], : x.shape[0]].add_(x[: x.shape[0], : x.shape[0]].t())
    return x


OVERLAPPING = (
    rows_onto_rows, columns_onto_columns, diagonally, into_a_result, rows_by_number, transposed,
)  # fmt: skip
REPEATED = (a_row_onto_all, a_column_onto_all, repeated)


@pytest.mark.parametrize("function", OVERLAPPING)
def test_what_overlaps_is_refused(function: Function) -> None:
    def of_a_copy(x: Any) -> Any:
        return function(x.clone())

    for called in (function, of_a_copy):
        with pytest.raises(TraceError, match="lie at the same place in memory") as caught:
            ash.compile(called, (torch.randn(4, 6),), axes=AXES)
        assert "test_torch_overlapping_writes.py" in str(caught.value).splitlines()[0]


@pytest.mark.parametrize("function", REPEATED)
def test_what_is_repeated_onto_itself_is_refused(function: Function) -> None:
    axes = {"x": (ash.Axis("b", min=1), ash.Axis("n", min=1))}
    for given in (axes, AXES, None):
        with pytest.raises(TraceError, match=r"test_torch_overlapping_writes\.py"):
            ash.compile(function, (torch.randn(4, 6),), axes=given)


def halves(x: Any) -> Any:
    x[:, : x.shape[1] // 2] = x[:, x.shape[1] - x.shape[1] // 2 :]
    return x


def chunks(x: Any) -> Any:
    left, right = x.split([x.shape[1] - 1, 1], 1)
    left.mul_(right)
    return x


def first_and_last(x: Any) -> Any:
    x[0] += x[-1]
    x[:, -1:] *= x[:, :1]
    return x


def neighbours(x: Any) -> Any:
    for i in range(1, 3):
        x[:, i] += x[:, i - 1]
    return x


def itself(x: Any) -> Any:
    x += x
    x.t().mul_(x.t())
    x[x > 0] = x[x > 0] * 2
    return x.sub_(x.flip(0)).addcmul_(x, x)


def ends_of_one_axis(x: Any) -> Any:
    x[:2] = x[-2:]
    return x


@pytest.mark.parametrize("function", [halves, chunks, first_and_last, neighbours, itself])
def test_what_does_not_overlap_is_as_in_eager_mode(function: Function) -> None:
    model, compared = ash.compile(function, (torch.randn(4, 6),), axes=AXES), 0
    for sizes in SIZES:
        x = torch.randn(sizes)
        try:
            wanted = function(x.clone())
        except (RuntimeError, IndexError):
            with pytest.raises(AnyshapeError):
                model(x)
            continue
        torch.testing.assert_close(model(x.clone()), wanted)
        compared += 1
    assert compared >= 4


def test_sizes_decide_what_overlaps() -> None:
    model = ash.compile(ends_of_one_axis, (torch.randn(4, 6),), axes=AXES)
    for sizes in ((5, 2), (0, 3), (9, 1)):
        x = torch.randn(sizes)
        torch.testing.assert_close(model(x.clone()), ends_of_one_axis(x.clone()))
    with pytest.raises(RuntimeError, match="single memory location"):
        ends_of_one_axis(torch.randn(3, 2))
    with pytest.raises(FactViolationError, match=r"'min\(b, 2\) <= max\(0, b - 2\)' does not hold"):
        model(torch.randn(3, 2))


def test_windows_that_overlap_are_refused() -> None:
    def windows(x: Any) -> Any:
        x.unfold(1, 3, 1).add_(1)
        return x

    with pytest.raises(AnyshapeError, match="unfold"):
        ash.compile(windows, (torch.randn(4, 6),))
    with pytest.raises(AnyshapeError):
        ash.compile(windows, (torch.randn(4, 6),), axes=AXES)


def test_windows_side_by_side_are_written() -> None:
    def windows(x: Any) -> Any:
        x.unfold(1, 2, 2).mul_(torch.tensor([2.0, 3.0]))
        return x

    x = torch.randn(4, 6)
    model = ash.compile(windows, (x.clone(),))
    torch.testing.assert_close(model(x.clone()), windows(x.clone()))
