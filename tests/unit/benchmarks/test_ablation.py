"""Both spellings of a workload compute the same, and ratios of turns are what they say."""

import numpy as np
import pytest
from benchmarks.ablation import Ratio, in_turns, ratio_of
from benchmarks.workloads.in_primitives import IN_PRIMITIVES, InPrimitives

SPELLED_TWICE = [workload for workload in IN_PRIMITIVES if workload.compound is not None]


@pytest.mark.parametrize("workload", SPELLED_TWICE, ids=lambda workload: workload.name)
def test_spellings_agree(workload: InPrimitives) -> None:
    x = workload.inputs((2, 5) if len(workload.shapes[0]) == 2 else (5,))
    assert workload.compound is not None
    found, wanted = (workload.compiled(f)(x) for f in (workload.by_hand, workload.compound))
    np.testing.assert_allclose(found, wanted, 1e-3, 1e-4)


def test_ratios_have_an_interval_of_ranks() -> None:
    turns = [(1.0, 1 + i / 100) for i in range(100)]
    assert ratio_of(turns) == Ratio(1.4, 1.495, 1.6)


def test_a_loss_is_clear() -> None:
    assert ratio_of([(1.0, 0.9)] * 9).is_loss
    assert not ratio_of([(1.0, 0.9), (1.0, 1.1)] * 9).is_loss


def test_turns_take_both() -> None:
    called: list[str] = []
    now = iter(range(10_000))
    pairs = in_turns(
        lambda: called.append("own"), lambda: called.append("other"), 2, lambda: float(next(now))
    )
    assert [*pairs] == [(1.0, 1.0)] * 2
    assert called[-8:] == ["other", "other", "own", "own", "own", "own", "other", "other"]
