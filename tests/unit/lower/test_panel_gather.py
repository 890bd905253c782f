"""Regions that look a table up in panels compute what they computed before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from anyshape.ir import Graph, evaluate, parse
from anyshape.lower.packing import Packing, pack
from anyshape.lower.panel_gather import is_looked_up, reading_panels
from anyshape.sym import Facts

ROWS = Packing((), (1,), (0,), 4)


def graph_of(shape: tuple[int, ...], axis: int) -> Graph:
    """A look-up along an axis of a table, twice what it finds."""
    found = (*shape[:axis], "n", *shape[axis + 1 :])
    result = f"f32[{', '.join(map(str, found))}]"
    return parse(
        f"axes {{ n: 0.. }}\ngraph g(x: f32{list(shape)}, i: i64[n]) -> {result} {{\n"
        f"  %0 = gather(x, i) {{axis={axis}}} : {result}\n"
        f"  %1 = add(%0, %0) : {result}\n  return %1\n}}\n"
    )


@pytest.mark.parametrize(
    ("shape", "axis", "packing"),
    [
        ((7, 5), 0, ROWS),
        ((8, 5), 0, ROWS),
        ((5, 7), 1, Packing((), (0,), (1,), 4)),
        ((3, 9, 5), 1, Packing((0,), (2,), (1,), 4)),
        ((4, 2, 3), 0, Packing((), (1,), (2, 0), 16)),
        ((2, 3, 4, 5), 2, Packing((1,), (0, 3), (2,), 16)),
        ((9, 1), 0, ROWS),
        ((1, 1), 0, ROWS),
        ((6, 0), 0, ROWS),
    ],
    ids=str,
)
@pytest.mark.parametrize("n", [0, 1, 11])
def test_panels_hold_the_table(shape: tuple[int, ...], axis: int, packing: Packing, n: int) -> None:
    rng = np.random.default_rng(0)
    table = rng.standard_normal(shape).astype(np.float32)
    ids = rng.integers(0, shape[axis], n)
    graph = graph_of(shape, axis)
    assert is_looked_up(graph.body, 0, packing)
    changed = replace(graph, body=reading_panels(graph.body, {0: packing}, Facts()))
    (found,) = evaluate(changed, pack(table, packing), ids)
    np.testing.assert_array_equal(found, 2 * np.take(table, ids, axis))


@pytest.mark.parametrize(
    "lines",
    [
        "%0 = gather(x, i) {axis=1} : f32[9, n]",  # along the depth
        "%0 = neg(x) : f32[9, 9]",  # no look-up
        "%0 = gather(y, x) {axis=0} : f32[9, 9, 9]",  # what is looked for, not where
        "%1 = gather(x, i) {axis=0} : f32[n, 9]\n  %0 = dot(%1, y) {contract=([1], [0])} "
        ": f32[n, 9]",  # the operand of another product
        "%0 = reshape(x) {shape=[81]} : f32[81]",
    ],
)
def test_other_uses_are_no_lookups(lines: str) -> None:
    table = "i64[9, 9]" if "gather(y, x)" in lines else "f32[9, 9]"
    result = lines.rpartition(" : ")[2]
    graph = parse(
        f"axes {{ n: 0.. }}\ngraph g(x: {table}, y: f32[9, 9], i: i64[n]) -> {result} {{\n"
        f"  {lines}\n  return %0\n}}\n"
    )
    assert not is_looked_up(graph.body, 0, ROWS)


def test_a_result_is_no_lookup() -> None:
    graph = parse("graph g(x: f32[9, 9]) -> f32[9, 9] {\n  return x\n}\n")
    assert not is_looked_up(graph.body, 0, ROWS)
