"""Every op with each of its axes padded, the worst in the padding: results stay what they were."""

from __future__ import annotations

import pytest
from tests.compliance.case import Case
from tests.compliance.cases import CASES
from tests.compliance.inputs import elements, layouts, legal_sizes, operands
from tests.compliance.padded import Padded, PaddedNative, padded_symbols
from tests.compliance.test_ops import check_values

from anyshape.ir import lookup
from anyshape.ir.opdef import Trait

DYNAMIC = [case for case in CASES if case.expect is not None and padded_symbols(case.graph())]
LAST_OF_OP = list({case.op: case for case in DYNAMIC}.values())

PADDED = [
    case for case in DYNAMIC if case in LAST_OF_OP or not lookup(case.op).has(Trait.ELEMENTWISE)
]
"""Elementwise ops are masked by what all of them have in common: one case of each."""

MOST_ELEMENTS = 4000


def test_no_op_is_left_out() -> None:
    """But for those that have no size that callers choose, or no results to compare."""
    without = {case.op for case in CASES} - {case.op for case in PADDED}
    assert without <= {
        "constant", "token", "random_bits", "random_normal", "random_uniform", "torch_effect",
        "entropy", "torch_call",
    }  # fmt: skip


@pytest.mark.parametrize("case", PADDED, ids=lambda case: case.id)
def test_padding_changes_nothing(case: Case) -> None:
    """Each axis by itself, and all of them together."""
    graph = case.graph()
    symbols = padded_symbols(graph)
    choices = [[symbol] for symbol in symbols]
    choices += [symbols] if len(symbols) > 1 else []
    for number, chosen in enumerate(choices):
        evaluator = Padded(graph, chosen, case.seed + number)
        for sizes, layout in zip(legal_sizes(case, graph), layouts(), strict=False):
            if elements(graph, sizes) <= MOST_ELEMENTS:
                given = operands(case, graph, sizes, layout)
                check_values(case, graph, evaluator, sizes, given)


@pytest.mark.parametrize("case", LAST_OF_OP, ids=lambda case: case.id)
def test_padding_changes_nothing_in_native_code(case: Case) -> None:
    graph = case.graph()
    evaluator = PaddedNative(graph, padded_symbols(graph), case.seed)
    for sizes, layout in zip(legal_sizes(case, graph), layouts(), strict=False):
        if elements(graph, sizes) <= MOST_ELEMENTS:
            check_values(case, graph, evaluator, sizes, operands(case, graph, sizes, layout))
