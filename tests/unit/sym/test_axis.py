"""Axis declarations: normal form, text, errors."""

import dataclasses

import pytest

from anyshape.base.errors import AxisDeclarationError, TextError
from anyshape.sym import Axis, Origin, Symbol, parse_axis

TEXTS = {
    "batch: 0..": Axis("batch"),
    "seq: 1..512 multiple_of 8 likely [128, 256]": Axis(
        "seq", min=1, max=512, multiple_of=8, likely=[128, 256]
    ),
    "tile: 1..1 | 8..64": Axis("tile", ranges=[(8, 64), (1, 1)]),
    "n: 3..": Axis("n", min=3),
    "`a.b`: 0..1": Axis("a.b", max=1),
    "?0: 2..2": Axis("?0", min=2, max=2),
    "row: 0.. no_broadcast": Axis("row", broadcasts=False),
    "past: 0.. observed [17, 511]": Axis("past", likely=[17, 511], likely_from=Origin.OBSERVED),
    "row: 0..9 likely [3] no_broadcast": Axis("row", max=9, likely=[3], broadcasts=False),
    "`likely`: 0..": Axis("likely"),
    "`no_broadcast`: 0.. no_broadcast": Axis("no_broadcast", broadcasts=False),
}


@pytest.mark.parametrize(("text", "axis"), TEXTS.items())
def test_text(text: str, axis: Axis) -> None:
    assert str(axis) == text
    assert parse_axis(text) == axis


def test_ranges_are_sorted_and_merged() -> None:
    axis = Axis("n", ranges=[(8, 9), (1, 3), (4, 5), (9, None), (20, 30)])
    assert axis.ranges == ((1, 5), (8, None))
    assert (axis.min, axis.max) == (1, None)
    assert Axis("n", ranges=[(2, 5)]) == Axis("n", min=2, max=5)


def test_values() -> None:
    axis = Axis("seq", min=1, max=64, multiple_of=8, likely=[8, 16, 8])
    assert axis.likely == (8, 16)
    assert axis.symbol is Symbol("seq")
    assert [size for size in (0, 4, 8, 64, 72) if axis.contains(size)] == [8, 64]
    assert Axis("n").contains(0)
    assert dataclasses.replace(axis, likely=()).ranges == axis.ranges
    assert len({axis, dataclasses.replace(axis)}) == 1


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"min": 5, "max": 4}, "axis 'n' has the empty range 5..4\nfix: give min <= max"),
        ({"min": -1}, "axis 'n' has the negative size -1\nfix: sizes start at 0"),
        ({"max": -2}, "axis 'n' has the negative size -2\nfix: sizes start at 0"),
        ({"multiple_of": 0}, "axis 'n' has multiple_of 0\nfix: a divisor is at least 1"),
        (
            {"min": 1, "max": 7, "multiple_of": 8},
            "axis 'n' allows no size: 1..7 has no multiple of 8\n"
            "fix: widen the range or drop multiple_of",
        ),
        (
            {"max": 7, "likely": [8]},
            "axis 'n' has the likely size 8, which n: 0..7 likely [8] forbids\nfix: drop it",
        ),
        (
            {"multiple_of": 2, "likely": [3]},
            "axis 'n' has the likely size 3, which n: 0.. multiple_of 2 likely [3] forbids\n"
            "fix: drop it",
        ),
        (
            {"min": 1, "ranges": [(2, 3)]},
            "axis 'n' has both min/max and ranges\nfix: give either min and max, or ranges",
        ),
    ],
)
def test_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(AxisDeclarationError) as error:
        Axis("n", **fields)  # pyright: ignore[reportArgumentType]
    assert str(error.value) == message
    assert isinstance(error.value, ValueError)


def test_malformed() -> None:
    with pytest.raises(TextError) as error:
        parse_axis("seq 1..5")
    assert str(error.value) == (
        "line 1, column 5: expected ':', found '1'\n"
        "  seq 1..5\n"
        "      ^\n"
        "fix: an axis is declared as 'seq: 1..512 multiple_of 8 likely [128, 256]'"
    )
