"""Passes: one per file. Their order, with a reason for each position, is `passes/pipeline.py`."""

from anyshape.passes.canonicalize import Canonicalize
from anyshape.passes.dce import EliminateDead
from anyshape.passes.fold import Fold
from anyshape.passes.infra import Pass, PassContext, Passed, PassReport, run_passes
from anyshape.passes.pipeline import PASSES, SIMPLIFY, pipeline

__all__ = [
    "PASSES",
    "SIMPLIFY",
    "Canonicalize",
    "EliminateDead",
    "Fold",
    "Pass",
    "PassContext",
    "PassReport",
    "Passed",
    "pipeline",
    "run_passes",
]
