"""Results written into arrays of the caller: `executable.run(arrays, out=(y, None))`.

An executor writes into the arrays that it can write as they are; what it computed elsewhere is
copied here. Either way the caller gets back the objects that were passed. What can be seen without
running is checked before: number, kind, element type, rank, and memory that two results would both
be written to. Sizes are checked when they are known, which is before the run where there is a plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from sys import modules
from typing import Any, cast

import numpy as np

from anyshape.base.errors import OperandError, OptionError, OutputError
from anyshape.execute.executor import Out
from anyshape.execute.tensors import is_masked, is_torch
from anyshape.ir.types import DTYPES, Array, TensorType, bf16
from anyshape.runtime.failures import OutputUnfitError

_OVERLAP_WORK: Any = 10_000
"""How long to look for a common element of two arrays with gaps before calling them overlapping."""


def destinations(out: Sequence[object], graph: str, types: Sequence[TensorType]) -> Out:
    """Arrays on the memory of one object or None for each result; the unfit are refused."""
    given: object = out
    if not isinstance(given, (tuple, list)):
        raise OptionError("out", type(given).__name__, "a tuple with an array or None per result")
    if len(out) != len(types):
        problem = f"got {len(out)} arrays in out, expected {len(types)}"
        fix = "pass None for results that need no array"
        raise OperandError(f"graph '{graph}'", problem, fix)
    arrays = [_writeable(thing, number, types[number]) for number, thing in enumerate(out)]
    if len(arrays) > 1:
        _refuse_overlaps(arrays)
    return arrays


def filled(out: Sequence[Any], arrays: Out, results: Sequence[Any]) -> tuple[Any, ...]:
    """The results in their places: those that are elsewhere are copied."""
    found = list(results)
    for number, array in enumerate(arrays):
        if array is not None:
            if found[number] is not array:
                _copy(number, array, found[number])
            found[number] = out[number]
    return tuple(found)


def unfit(failure: OutputUnfitError, outputs: Sequence[int]) -> OutputError:
    """The error to raise for an array that the runtime refused; `outputs` are those of results."""
    expected = _shown(np.dtype(failure.dtype), failure.shape)
    found = _shown(np.dtype(failure.found_dtype), failure.found_shape)
    return _error(outputs.index(failure.output), expected, found)


# --- before the run -------------------------------------------------------------------------------


def _writeable(thing: object, number: int, type_: TensorType) -> Array | None:
    """An array on the memory of `thing`."""
    if thing is None:
        return None
    array = _array_on(thing, number, type_)
    if array.dtype != type_.dtype.numpy or array.ndim != type_.rank:
        raise _error(number, str(type_), _shown(array.dtype, array.shape))
    flags = array.flags
    if not flags.writeable:
        raise _error(number, f"a writeable {type_}", "an array that is read-only")
    if not flags.c_contiguous and _overlaps_itself(array):
        raise _error(number, str(type_), "an array whose elements share memory")
    return array


def _array_on(thing: object, number: int, type_: TensorType) -> Array:
    if is_masked(thing):
        raise _error(number, str(type_), "a masked array, whose mask would stay as it is")
    if isinstance(thing, np.ndarray):
        return cast(Array, thing)
    tensor = cast(Any, thing)
    if is_torch(thing):
        if not tensor.is_cpu or tensor.requires_grad or tensor.is_neg():
            problem = f"a tensor on '{tensor.device}' that no one else computes"
            raise _error(number, f"{type_} in this machine's memory", problem)
        if tensor.dtype == modules["torch"].bfloat16:
            return cast(Array, tensor.view(modules["torch"].int16).numpy().view(bf16.numpy))
        return cast(Array, tensor.numpy())
    if hasattr(type(thing), "__dlpack__"):
        return cast(Array, np.from_dlpack(tensor))
    raise _error(number, str(type_), f"a {type(thing).__name__}, no array")


def _overlaps_itself(array: Array) -> bool:
    """Whether elements may share memory: each axis must step over all that lies within it."""
    reach = array.itemsize
    steps = zip(array.strides, array.shape, strict=True)
    for stride, size in sorted((abs(stride), size) for stride, size in steps if size > 1):
        if stride < reach and array.size > 0:
            return True
        reach += stride * (size - 1)
    return False


def _refuse_overlaps(arrays: Sequence[Array | None]) -> None:
    used = [(number, array) for number, array in enumerate(arrays) if array is not None]
    for (first, one), (second, other) in combinations(used, 2):
        if np.may_share_memory(one, other) and _share_elements(one, other):
            expected = f"memory of its own, not that of result {first}"
            raise _error(second, expected, "an array that overlaps it")


def _share_elements(one: Array, other: Array) -> bool:
    try:
        return np.shares_memory(one, other, max_work=_OVERLAP_WORK)
    except np.exceptions.TooHardError:
        return True


# --- after it -------------------------------------------------------------------------------------


def _copy(number: int, array: Array, result: Array) -> None:
    if result.shape != array.shape:
        shown = (_shown(each.dtype, each.shape) for each in (result, array))
        raise _error(number, *shown)
    np.copyto(array, result)


def _error(number: int, expected: str, found: str) -> OutputError:
    return OutputError(f"result {number}", expected, found)


def _shown(dtype: np.dtype[Any], shape: Sequence[int]) -> str:
    """`f32[2, 3]`, as types of graphs are shown."""
    names = {known.numpy: str(known) for known in DTYPES.values()}
    return f"{names.get(dtype, dtype)}{list(shape)}"
