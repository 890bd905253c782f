"""How inputs of a call lie in memory, for models whose results depend on it.

`as_strided` reads memory by strides that the model's code computes. Arrays lie row by row here, so
that such a model is right for inputs that do so, too, and begin where their memory does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from anyshape.base.errors import InputError
from anyshape.execute.tensors import is_torch


def refuse_layouts(paths: Sequence[str], leaves: Sequence[Any], reader: str) -> None:
    """Refuses inputs that lie otherwise; `reader` is what the model reads memory with."""
    for path, leaf in zip(paths, leaves, strict=True):
        if not _is_dense(leaf):
            problem = (
                "does not lie row by row from the beginning of its memory, which the model reads"
                f" by strides of its own ({reader})"
            )
            raise InputError(path, problem, "pass a copy of it that is contiguous")


def _is_dense(leaf: Any) -> bool:
    if is_torch(leaf):
        return leaf.is_contiguous() and leaf.storage_offset() == 0
    return not isinstance(leaf, np.ndarray) or leaf.flags.c_contiguous
