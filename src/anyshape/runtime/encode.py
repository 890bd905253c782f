"""Descriptions of programs as the tuples of numbers that the native library reads."""

from __future__ import annotations

from typing import Any, Final, assert_never

import ml_dtypes
import numpy as np

from anyshape.runtime import _native
from anyshape.runtime.description import (
    Address,
    AliasBuffer,
    ArenaBuffer,
    Buffer,
    Constant,
    Input,
    InputBuffer,
    Output,
    OutputBuffer,
    Source,
    Step,
    WeightBuffer,
    Word,
)

_BUFFER_KINDS: Final = {"input": 0, "output": 1, "weight": 2, "arena": 3, "alias": 4}
_SOURCE_KINDS: Final = {"word": 0, "constant": 1, "address": 2}


def encode_input(given: Input) -> _native.InputTuple:
    return (given.name, given.dtype, *dlpack_type(given.dtype), given.rank, list(given.order))


def encode_output(output: Output) -> _native.OutputTuple:
    dims, order = list(output.dims), list(output.order)
    type_ = dlpack_type(output.dtype)
    return (output.dtype, *type_, dims, output.buffer, order, output.start)


def encode_buffer(buffer: Buffer) -> _native.BufferTuple:
    match buffer:
        case InputBuffer(number, size):
            return (_BUFFER_KINDS["input"], number, size, None, False, False, [], 0, 0)
        case OutputBuffer(number, size):
            return (_BUFFER_KINDS["output"], number, size, None, False, False, [], 0, 0)
        case WeightBuffer(address, size):
            return (_BUFFER_KINDS["weight"], address, size, None, False, False, [], 0, 0)
        case ArenaBuffer(size, first, last, conflicts, per_worker):
            kind = _BUFFER_KINDS["arena"]
            return (kind, 0, size, None, per_worker, False, list(conflicts), first, last)
        case AliasBuffer(of, offset, size, in_place):
            return (_BUFFER_KINDS["alias"], of, size, offset, False, in_place, [], 0, 0)
        case _:
            assert_never(buffer)


def _encode_source(source: Source) -> _native.SourceTuple:
    match source:
        case Word(index):
            return (_SOURCE_KINDS["word"], index, None)
        case Constant(value):
            return (_SOURCE_KINDS["constant"], value, None)
        case Address(buffer, offset):
            return (_SOURCE_KINDS["address"], buffer, offset)
        case _:
            assert_never(source)


def encode_step(step: Step) -> _native.StepTuple:
    block = [_encode_source(source) for source in step.block]
    starts = step.starts or (0,) * len(step.variants)
    variants = list(zip(step.variants, starts, strict=True))
    waits = list(step.waits)
    return (step.name, variants, step.variant, step.tasks, step.cost, block, waits)


_KIND_CODES: Final = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_NAMED_CODES: Final = {
    np.dtype(ml_dtypes.bfloat16): 4,
    np.dtype(ml_dtypes.float8_e3m4): 7,
    np.dtype(ml_dtypes.float8_e4m3): 8,
    np.dtype(ml_dtypes.float8_e4m3b11fnuz): 9,
    np.dtype(ml_dtypes.float8_e4m3fn): 10,
    np.dtype(ml_dtypes.float8_e4m3fnuz): 11,
    np.dtype(ml_dtypes.float8_e5m2): 12,
    np.dtype(ml_dtypes.float8_e5m2fnuz): 13,
    np.dtype(ml_dtypes.int4): 0,
    np.dtype(ml_dtypes.uint4): 1,
}


def dlpack_type(dtype: np.dtype[Any]) -> tuple[int, int]:
    """DLPack's code and number of bits. Types of less than a byte have a byte each, as in NumPy."""
    code = _NAMED_CODES.get(dtype)
    if code is None:
        code = _KIND_CODES[dtype.kind]
    return code, 8 * dtype.itemsize
