"""What efforts count: above all, how many bytes of each operand are read."""

from __future__ import annotations

import pytest

from anyshape.ir import parse
from anyshape.lower.effort import LINE_ALONE, region_effort
from anyshape.sym import Symbol

N = 17


def bytes_of(line: str, packed: tuple[int, ...] = (), n: int = N) -> int:
    """Of a graph on a table of 1000 rows, indices and a number of rows."""
    result = line.rpartition(" : ")[2]
    graph = parse(
        f"axes {{ n: 0.. }}\ngraph g(x: f32[1000, 8], i: i64[n], y: f32[n, 8]) -> {result} {{\n"
        f"  %0 = {line}\n  return %0\n}}\n"
    )
    return region_effort(graph.body, packed).bytes.evaluate({Symbol("n"): n})


TABLE, INDICES, ROWS = 1000 * 8 * 4, N * 8, N * 8 * 4


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("gather(x, i) {axis=0} : f32[n, 8]", ROWS + INDICES),
        ("slice(x) {starts=[0, 0], stops=[n, 8], steps=[1, 1]} : f32[n, 8]", ROWS),
        ("gather(y, i) {axis=0} : f32[n, 8]", ROWS + INDICES),
        ("exp(y) : f32[n, 8]", ROWS),
    ],
)
def test_selecting_ops_read_what_they_select(line: str, read: int) -> None:
    assert bytes_of(line) == read + ROWS


def test_no_more_is_read_than_there_is() -> None:
    line = "gather(x, i) {axis=0} : f32[n, 8]"
    n = 5000
    assert bytes_of(line, n=n) == TABLE + n * 8 + n * 8 * 4


@pytest.mark.parametrize("n", [N, 5000])
def test_a_table_in_panels_costs_a_line_for_each_element(n: int) -> None:
    line = "gather(x, i) {axis=0} : f32[n, 8]"
    assert bytes_of(line, packed=(0,), n=n) == n * 8 * LINE_ALONE + n * 8 + n * 8 * 4


def test_what_is_read_as_a_whole_counts_as_a_whole() -> None:
    graph = parse(
        "axes { n: 0.. }\ngraph g(x: f32[1000, 8], i: i64[n]) -> (f32[n, 8], f32[1000, 8]) {\n"
        "  %0 = gather(x, i) {axis=0} : f32[n, 8]\n  %1 = exp(x) : f32[1000, 8]\n"
        "  return %0, %1\n}\n"
    )
    found = region_effort(graph.body).bytes.evaluate({Symbol("n"): N})
    assert found == TABLE + INDICES + ROWS + TABLE
    copied = parse("graph g(x: f32[1000, 8]) -> f32[1000, 8] {\n  return x\n}\n")
    assert region_effort(copied.body).bytes == 2 * TABLE
