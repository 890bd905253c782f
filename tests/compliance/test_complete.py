"""The suite covers every op; and would say so if it did not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from tests.compliance.case import Case, emit
from tests.compliance.cases import CASES, FAMILIES
from tests.compliance.completeness import gaps, op_file
from tests.compliance.tolerance import ELEMENTWISE

from anyshape.ir import OpDef, all_ops, lookup, opdef
from anyshape.ir.attrs import Attrs
from anyshape.ir.opdef import Signature, register
from anyshape.ir.types import f32, f64
from anyshape.ops.rules import SameDType, same_shape


def test_every_op_is_covered() -> None:
    assert gaps(all_ops(), CASES) == []


def test_every_case_is_of_an_op() -> None:
    assert {case.op for case in CASES} == {op.name for op in all_ops()}


def test_case_files_mirror_op_files() -> None:
    for family in FAMILIES:
        files = {op_file(lookup(case.op)) for case in family.CASES.cases}
        assert files == {family.__name__.rpartition(".")[2]}


@pytest.fixture
def doubled() -> Iterator[OpDef[Attrs]]:
    """An op in the registry for the length of one test."""
    op = register(
        OpDef(
            "doubled",
            Signature(("x",)),
            Attrs,
            SameDType((f32, f64)),
            same_shape,
            reference=lambda call: call.args[0] * 2,
        )
    )
    yield op
    del opdef._REGISTRY["doubled"]


DOUBLED = Case(
    "doubled", "f32", ("f32[batch]",), emit("doubled"), ("f32[batch]",), lambda x: x * 2,
    tolerance=ELEMENTWISE,
)  # fmt: skip
DOUBLED_F64 = replace(
    DOUBLED, label="f64", inputs=("f64[4]",), types=("f64[4]",), expect=lambda x: np.add(x, x)
)


def test_a_new_op_without_a_case_is_named(doubled: OpDef[Attrs]) -> None:
    found = gaps(all_ops(), CASES)
    assert found == ["doubled: has no case in tests/compliance/cases/test_complete.py"]
    assert op_file(doubled) == "test_complete"


def test_a_new_op_with_cases_is_complete(doubled: OpDef[Attrs]) -> None:
    assert gaps([doubled], [DOUBLED, DOUBLED_F64]) == []


@pytest.mark.parametrize(
    ("change", "gap"),
    [
        ({"types": ()}, "doubled: case 'f32' states no result types"),
        ({"expect": None}, "doubled: case 'f32' has no independent reference"),
        ({"inputs": ("f32[4]",), "types": ("f32[4]",)}, "doubled: no case has a symbolic size"),
    ],
)
def test_what_is_missing_is_said(
    doubled: OpDef[Attrs], change: dict[str, object], gap: str
) -> None:
    assert gaps([doubled], [replace(DOUBLED, **change), DOUBLED_F64]) == [gap]


def test_a_missing_dtype_is_said(doubled: OpDef[Attrs]) -> None:
    assert gaps([doubled], [DOUBLED]) == ["doubled: no case for f64"]
