"""The cases: one file per file of src/anyshape/ops/."""

from __future__ import annotations

from types import ModuleType

from tests.compliance.case import Case
from tests.compliance.cases import (
    attention,
    checks,
    compact,
    compound,
    control,
    conv,
    cumulative,
    dot,
    elementwise,
    fourier,
    indexing,
    kernel,
    late,
    movement,
    nms,
    parts,
    ragged,
    random,
    reduce,
    scatter,
    search,
    sort,
    source,
    torch_call,
    windows,
    worklist,
)

FAMILIES: tuple[ModuleType, ...] = (
    elementwise, movement, reduce, cumulative, dot, source, late, control, random, compound,
    attention, kernel, indexing, scatter, sort, parts, checks, compact, nms, torch_call, worklist,
    conv, windows, fourier, search, ragged,
)  # fmt: skip

CASES: list[Case] = [case for family in FAMILIES for case in family.CASES.cases]
