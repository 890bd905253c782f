"""Plain text tables and amounts."""

import pytest

from anyshape.observe.table import amount, byte_text, table, time_text


def test_columns_of_numbers_are_right_aligned() -> None:
    assert table(("name", "n"), [("a", "1"), ("long", "1,234")]) == [
        "  name      n",
        "  a         1",
        "  long  1,234",
    ]


def test_a_table_without_rows_has_its_head() -> None:
    assert table(("a", "b"), []) == ["  a  b"]


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (9_999, "9,999 B"),
        (12_288, "12.0 KiB"),
        (5 << 20, "5.0 MiB"),
        (3 << 30, "3.0 GiB"),
    ],
)
def test_bytes(count: int, text: str) -> None:
    assert byte_text(count) == text


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (None, "-"),
        (0, "0 ns"),
        (999, "999 ns"),
        (1200, "1.2 µs"),
        (3.4e7, "34.0 ms"),
        (2e9, "2.0 s"),
    ],
)
def test_times(nanoseconds: float | None, text: str) -> None:
    assert time_text(nanoseconds) == text


def test_amounts() -> None:
    assert [amount(n, "step") for n in (0, 1, 2)] == ["0 steps", "1 step", "2 steps"]
