"""Scratch that tasks share: what the verifier asks of it, and when machine code fills it."""

import numpy as np
import pytest
from tests.unit.codegen.emit.harness import at, buffer, each, interpreted, kernel, op, put, run

from anyshape.base.errors import VerifyError
from anyshape.ir.types import f32
from anyshape.loop import Bind, Kernel, Literal, Number, Prepare, Statement
from anyshape.loop.printer import kernel_text
from anyshape.loop.verify import verify_kernel
from anyshape.sym import Dim, Symbol

X = buffer("x", f32, ["n0", "n1"])
OUT = buffer("out", f32, ["n0", "2", "n1"], written=True)
ROW = buffer("row", f32, ["n1"])
B, C = Symbol("b"), Symbol("c")
PARTS = Bind(B, Number(Dim.of("t//2")), Dim.of("n0")), Bind(C, Number(Dim.of("t % 2")), Dim.of(2))
NEGATED = each(put(ROW, ["j"], op("neg", at(X, "b", "j"))))
USE = each(put(OUT, ["b", "c", "j"], at(ROW, "j")))


def of_pairs(*body: Statement) -> Kernel:
    """Two tasks for each row of x."""
    return kernel([X, OUT], *PARTS, *body, tasks="2*n0", scratch=(ROW,))


def test_what_tasks_share_is_computed() -> None:
    made = of_pairs(Prepare((B,), (NEGATED,)), USE)
    assert verify_kernel(made) == []
    x = np.arange(15, dtype=np.float32)
    arrays = [x, np.zeros(30, np.float32)]
    expected = np.repeat(-x.reshape(3, 1, 5), 2, axis=1).reshape(-1)
    for runner in (run, interpreted):
        np.testing.assert_array_equal(runner(made, arrays, [3, 5])[-1], expected)


def test_machine_code_leaves_out_what_the_task_before_prepared() -> None:
    """A preparation that reads a result breaks its promise, and so can count how often it runs."""
    count = buffer("count", f32, ["n0"], written=True)
    more = put(ROW, ["0"], op("add", at(count, 0), Literal.of(1, f32)))
    store = put(count, ["0"], at(ROW, 0))
    for keys, times in ((B,), 3), ((C,), 6), ((B, C), 6):
        made = kernel([count], *PARTS, Prepare(keys, (more,)), store, tasks="2*n0", scratch=(ROW,))
        (found,) = run(made, [np.zeros(3, np.float32)], [3, 1])
        assert found[0] == times


def test_text() -> None:
    text = kernel_text(of_pairs(Prepare((B, C), (NEGATED,)), USE))
    assert "  prepare for b, c {\n    for j < n1 vector {\n      row[j] = f32 neg(x[b, j])" in text


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (
            [each(Prepare((B,), (put(ROW, ["0"], at(X, "b", 0)),)), USE, vector=False)],
            "preparation for b: is inside a loop",
        ),
        (
            [Prepare((B,), (NEGATED,)), NEGATED, USE],
            "preparation for b: writes 'row', which is no scratch of its own",
        ),
        (
            [Prepare((B,), (each(put(OUT, ["b", "0", "j"], at(X, "b", "j"))),))],
            "preparation for b: writes 'out', which is no scratch of its own",
        ),
        (
            [Prepare((C,), (NEGATED,)), USE],
            "preparation for c: uses 'b', which its keys do not decide",
        ),
    ],
)
def test_refusals(body: list[Statement], why: str) -> None:
    with pytest.raises(VerifyError, match=why):
        verify_kernel(of_pairs(*body))
