"""What the native runtime refuses, in the words of the model.

The runtime knows inputs by number and sizes as integers. The binding plan knows axes, facts and
where they come from: it makes the same checks again, in Python, and its error is the one raised.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from anyshape.base.errors import AnyshapeError, DimError, DTypeError, InputError, OperandError
from anyshape.execute.notes import GraphNotes
from anyshape.execute.tensors import is_torch, shape_of
from anyshape.ir.types import DTYPES
from anyshape.runtime.failures import (
    CheckFailedError,
    ImpossibleSizeError,
    InputCountError,
    InputDtypeError,
    InputKindError,
    InputRankError,
    RuntimeFailure,
)
from anyshape.sym import BindingPlan


def in_words_of_model(
    failure: RuntimeFailure, notes: GraphNotes, arrays: Sequence[object]
) -> AnyshapeError:
    """The error to raise instead of `failure`, which a call with `arrays` met."""
    match failure:
        case InputCountError():
            return _count(failure, notes)
        case InputKindError():
            return _kind(failure, arrays[failure.input])
        case InputDtypeError():
            return _dtype(failure, arrays[failure.input])
        case InputRankError() | CheckFailedError() | ImpossibleSizeError():
            return _sizes(failure, notes.bindings, arrays)
        case _:
            return failure


SMALLER = "pass smaller sizes"


def too_large(failure: RuntimeFailure, given: str) -> AnyshapeError:
    """For sizes that break no fact: what is computed from them fits no integer, or no memory."""
    match failure:
        case CheckFailedError():
            return DimError(given, "sizes computed from these do not fit 64 bits", SMALLER)
        case ImpossibleSizeError(subject=subject, value=value):
            return DimError(given, f"impossible {subject}: {value}", SMALLER)
        case _:
            return failure


def _count(failure: InputCountError, notes: GraphNotes) -> OperandError:
    signature = f"{notes.name}({', '.join(name for name, _ in notes.inputs)})"
    problem = f"got {failure.found} arrays, expected {failure.expected}"
    return OperandError(f"graph '{notes.name}'", problem, signature)


def _kind(failure: InputKindError, array: object) -> InputError:
    fix = f"pass a NumPy array: np.asarray({failure.name})"
    if is_torch(array):
        fix = f"pass {failure.name}.to_dense()"
    problem = f"is a {failure.found} that is not dense memory of this machine"
    return InputError(failure.name, problem, fix)


def _dtype(failure: InputDtypeError, array: object) -> DTypeError:
    fix = f"pass {failure.name}.astype('{failure.expected}')"
    if is_torch(array):
        fix = f"pass {failure.name}.to(torch.{failure.expected})"
    expected, found = _short(failure.expected), _short(failure.found)
    return DTypeError(f"input '{failure.name}'", expected, found, fix)


def _short(name: str) -> str:
    """`f32` for `float32`; types that graphs have not keep their names."""
    kind: Any = getattr(ml_dtypes, name, name)
    by_numpy = {dtype.numpy: str(dtype) for dtype in DTYPES.values()}
    try:
        return by_numpy.get(np.dtype(kind), name)
    except TypeError:
        return name


def _sizes(failure: RuntimeFailure, plan: BindingPlan, arrays: Sequence[object]) -> AnyshapeError:
    shapes = [shape_of(array) for array in arrays]
    try:
        plan.solve(shapes)
    except AnyshapeError as error:
        return error
    # Python's integers do not overflow, the shape program's do: only that is left.
    given = ", ".join(
        f"{name} of {list(shape)}" for (name, _), shape in zip(plan.inputs, shapes, strict=True)
    )
    return too_large(failure, given)
