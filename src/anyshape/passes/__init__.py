"""Passes: one per file.

`PIPELINE` is the part that simplifies a graph, whoever runs it; each position has its reason. The
whole order, with what comes before and what makes kernels of the result, is `PASSES` in
`execute/compile.py`.
"""

from anyshape.passes.canonicalize import Canonicalize
from anyshape.passes.dce import EliminateDead
from anyshape.passes.fold import Fold
from anyshape.passes.infra import Pass, PassContext, Passed, PassReport, run_passes

PIPELINE: tuple[Pass, ...] = (
    Canonicalize(),  # first: sizes become dims, so that later passes see static shapes
    Fold(),  # then: constants are explicit and meet few ops
    Canonicalize(),  # folded constants enable more laws (a neutral element, a known branch)
    EliminateDead(),  # last: what the others have stopped using is dropped once
)

__all__ = [
    "PIPELINE",
    "Canonicalize",
    "EliminateDead",
    "Fold",
    "Pass",
    "PassContext",
    "PassReport",
    "Passed",
    "run_passes",
]
