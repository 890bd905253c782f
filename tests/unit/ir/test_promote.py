"""Promotion agrees with torch wherever torch has an answer."""

import itertools

import pytest
import torch

from anyshape.base.errors import DTypeError
from anyshape.ir.promote import promote, promote_scalar
from anyshape.ir.types import (
    ALL_DTYPES,
    DType,
    bf16,
    bool_,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
)

TORCH = {
    f64: torch.float64, f32: torch.float32, f16: torch.float16, bf16: torch.bfloat16,
    i64: torch.int64, i32: torch.int32, i16: torch.int16, i8: torch.int8, u8: torch.uint8,
    bool_: torch.bool,
}  # fmt: skip
"""torch has u16, u32 and u64 for storage only: it refuses to promote them with most others."""

BACK = {there: here for here, there in TORCH.items()}


@pytest.mark.parametrize(("left", "right"), list(itertools.product(TORCH, TORCH)))
def test_as_torch_promotes(left: DType, right: DType) -> None:
    assert promote(left, right) == BACK[torch.promote_types(TORCH[left], TORCH[right])]


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        (u16, u8, u16), (u64, u32, u64), (u16, i8, i32), (u32, i8, i64), (u32, i64, i64),
        (u16, i16, i32), (u64, f16, f16), (u32, f32, f32), (u64, bool_, u64), (u16, bf16, bf16),
    ],
)  # fmt: skip
def test_wide_unsigned_integers(left: DType, right: DType, result: DType) -> None:
    assert promote(left, right) == promote(right, left) == result


@pytest.mark.parametrize("signed", [i8, i16, i32, i64])
def test_u64_with_a_signed_integer_has_no_common_type(signed: DType) -> None:
    with pytest.raises(DTypeError, match="types with a common type"):
        promote(u64, signed)
    with pytest.raises(DTypeError, match="types with a common type"):
        promote(signed, u64)


def _promoted(left: DType, right: DType) -> DType | None:
    try:
        return promote(left, right)
    except DTypeError:
        return None


def test_a_lattice() -> None:
    for one, two in itertools.product(ALL_DTYPES, ALL_DTYPES):
        assert promote(one, one) is one
        assert _promoted(one, two) == _promoted(two, one)
        joined = _promoted(one, two)
        if joined is not None:
            assert promote(one, joined) is joined


@pytest.mark.parametrize("dtype", list(TORCH))
@pytest.mark.parametrize("scalar", [True, 2, 2.5])
def test_scalars_are_weak_as_in_torch(dtype: DType, scalar: float) -> None:
    expected = torch.result_type(torch.zeros(1, dtype=TORCH[dtype]), scalar)
    assert promote_scalar(dtype, scalar) == BACK[expected]
