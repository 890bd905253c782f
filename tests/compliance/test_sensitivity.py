"""The suite notices: an evaluator that is slightly wrong fails on every op."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tests.compliance.case import Case
from tests.compliance.cases import CASES
from tests.compliance.evaluators import Interpreter
from tests.compliance.inputs import contiguous, legal_sizes, operands
from tests.compliance.test_ops import check_values
from tests.compliance.tolerance import ELEMENTWISE, assert_close

from anyshape.ir import Graph
from anyshape.ir.types import bf16, f16, f32, f64


class Wrong(Interpreter):
    """Changes one element of the last result."""

    name = "wrong"

    def run(self, graph: Graph, arrays: Sequence[Any]) -> tuple[Any, ...]:
        *others, last = super().run(graph, arrays)
        changed = np.array(last, order="C")  # so that what is changed is no copy
        if changed.size:
            flat = changed.reshape(-1)
            old = flat[-1]
            flat[-1] = not old if changed.dtype == np.bool_ else _other(old)
        return (*others, changed)


def _other(number: Any) -> Any:
    with np.errstate(all="ignore"):
        if number.dtype.kind in "iu":
            return number + number.dtype.type(1)
        return number * number.dtype.type(1.125) + number.dtype.type(0.0625)


def one_case_per_op() -> list[Case]:
    first: dict[str, Case] = {}
    for case in CASES:
        if case.check is None:
            first.setdefault(case.op, case)
    return list(first.values())


@pytest.mark.parametrize("case", one_case_per_op(), ids=lambda case: case.op)
def test_a_wrong_element_is_noticed(case: Case) -> None:
    graph = case.graph()
    noticed = 0
    for sizes in legal_sizes(case, graph):
        arrays = operands(case, graph, sizes, contiguous)
        try:
            check_values(case, graph, Wrong(), sizes, arrays)
        except AssertionError:
            noticed += 1
    assert noticed > 0


@pytest.mark.parametrize(
    ("dtype", "found", "wanted", "close"),
    [
        (f32, 1 + 2**-23, 1.0, True),
        (f32, 1 + 2**-19, 1.0, False),
        (f64, 1 + 2**-52, 1.0, True),
        (f64, 1 + 2**-48, 1.0, False),
        (f16, 1.0, 1 + 2**-11, True),  # half a unit: rounded
        (f16, 1 + 2**-10, 1.0, False),  # one unit: rounded twice, or wrong
        (bf16, 1 + 2**-7, 1.0, False),
        (f32, np.nan, 1.0, False),
        (f32, 1.0, np.nan, False),
        (f32, np.nan, np.nan, True),
        (f32, np.inf, 1e300, True),  # beyond the largest f32
        (f32, np.inf, -1e300, False),
        (f32, np.inf, 1e30, False),
        (f32, -0.0, 0.0, False),
        (f32, 1e-45, 1.2e-45, True),
        (f32, 0.0, 1e-60, True),
    ],
)
def test_tolerances_are_tight(dtype: Any, found: float, wanted: float, close: bool) -> None:
    with np.errstate(all="ignore"):
        result = np.array([found]).astype(dtype.numpy)
    if close:
        assert_close(result, np.array([wanted]), dtype, ELEMENTWISE, "it")
    else:
        with pytest.raises(AssertionError):
            assert_close(result, np.array([wanted]), dtype, ELEMENTWISE, "it")
