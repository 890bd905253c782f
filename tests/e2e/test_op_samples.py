"""torch's samples of its ops: `docs/ops.md` says what comes of each. A few are tried here, all
by `make ops`."""

from __future__ import annotations

import pytest
import torch
from tests.e2e.op_samples.core import UNDER_OTHER_NAMES, core_op
from tests.e2e.op_samples.outcome import (
    HOST,
    NATIVE,
    REFUSED,
    WRONG,
    Outcome,
    Tried,
    is_nearer,
    outcome_of,
)
from tests.e2e.op_samples.samples import all_ops
from tests.e2e.op_samples.table import DOCUMENT, is_core, recorded_rows, result_of, row, sums

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's own, and that torch computes some ops

SAMPLE = (
    "remainder", "le", "max.reduction_with_dim", "scatter_reduce.mean", "slice_scatter",
    "masked_scatter", "native_layer_norm", "nn.functional.max_pool2d",
    "nn.functional.adaptive_avg_pool2d", "baddbmm", "fft.rfft", "index_add",
)  # fmt: skip


@pytest.mark.parametrize("name", SAMPLE)
def test_the_row_is_true(name: str) -> None:
    outcome = outcome_of(name)
    assert outcome.count >= 2
    recorded = recorded_rows(DOCUMENT.read_text())[name]
    assert row(outcome) == recorded, "`make ops` writes it again"


def test_nothing_is_wrong_and_the_core_set_comes_through() -> None:
    rows = recorded_rows(DOCUMENT.read_text())
    core = [result_of(line) for line in rows.values() if is_core(line)]
    assert WRONG not in map(result_of, rows.values())
    assert len(core) >= 150
    assert sum(result in (NATIVE, HOST) for result in core) >= 0.9 * len(core)
    assert sums(rows) in DOCUMENT.read_text()


def test_every_core_op_under_another_name_is_one() -> None:
    assert all(core_op(all_ops()[name]) == op for name, op in UNDER_OTHER_NAMES.items())


def test_an_op_is_as_its_worst_sample() -> None:
    one, other = Tried(NATIVE, 2), Tried(HOST, host=frozenset({"aten.x.default"}))
    assert Outcome("add", (one,)).result == NATIVE
    assert Outcome("add", (one, other)).result == HOST
    assert Outcome("add", (one, other, Tried(REFUSED, why="no"))).result == REFUSED
    assert Outcome("add", (Tried(WRONG, why="other values"), one)).result == WRONG
    assert "3 of 4" in row(Outcome("add", (one, other, Tried(REFUSED, why="no"))))


def test_samples_of_other_dtypes_are_held_against_f64_where_torch_rounds_more() -> None:
    counts = {torch.float16: 2, torch.bfloat16: 2, torch.float64: 1}
    for name in ("addr", "nn.functional.interpolate.trilinear", "copysign", "ldexp"):
        outcome = outcome_of(name, counts, "reference")
        assert outcome.count >= 4
        assert outcome.result in (NATIVE, HOST), outcome.reasons


def test_what_is_nearer_to_the_exact_result() -> None:
    exact = torch.tensor([1.0, 1.0, 1e6], dtype=torch.float64)
    theirs = torch.tensor([1.02, 1.0, float("inf")], dtype=torch.float16)
    assert is_nearer(torch.tensor([0.99, 1.0, float("inf")]).half(), theirs, exact)
    assert not is_nearer(torch.tensor([1.03, 1.0, float("inf")]).half(), theirs, exact)
    assert not is_nearer(torch.tensor([1.0, 1.0, 65504]).half(), theirs, exact)
    assert not is_nearer(torch.tensor([1.0, float("nan"), float("inf")]).half(), theirs, exact)
