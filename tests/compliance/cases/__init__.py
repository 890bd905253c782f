"""The cases: one file per file of src/anyshape/ops/."""

from __future__ import annotations

from types import ModuleType

from tests.compliance.case import Case
from tests.compliance.cases import (
    attention,
    compound,
    control,
    dot,
    elementwise,
    indexing,
    kernel,
    late,
    movement,
    random,
    reduce,
    source,
)

FAMILIES: tuple[ModuleType, ...] = (
    elementwise, movement, reduce, dot, source, late, control, random, compound, attention, kernel,
    indexing,
)  # fmt: skip

CASES: list[Case] = [case for family in FAMILIES for case in family.CASES.cases]
