"""Element types and tensor types."""

import pickle

import ml_dtypes
import numpy as np
import pytest

from anyshape.base.errors import DTypeError
from anyshape.ir.types import (
    ALL_DTYPES,
    DTYPES,
    TOKEN,
    TensorType,
    bf16,
    bool_,
    dtype_of,
    f16,
    f32,
    i8,
    i64,
    u8,
)
from anyshape.sym import HOLE, Dim, Symbol


def test_a_dtype_indexed_by_sizes_is_a_tensor_type() -> None:
    type_ = f32["batch", 512, "seq//2 + 1", None]
    assert isinstance(type_, TensorType)
    assert type_.dtype is f32
    assert type_.shape == (Dim.of("batch"), Dim.of(512), Dim.of("seq//2 + 1"), HOLE)


def test_one_size_needs_no_tuple_and_none_is_a_scalar() -> None:
    assert f32["batch"] == f32[("batch",)]
    assert f32[()].rank == 0
    assert i64[3] == i64[(3,)]


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (f32["batch", 512], "f32[batch, 512]"),
        (bf16["2*seq + 1"], "bf16[2*seq + 1]"),
        (bool_[()], "bool[]"),
        (i8[None], "i8[?]"),
        (TOKEN, "token"),
    ],
)
def test_text(type_: TensorType, text: str) -> None:
    assert str(type_) == repr(type_) == text


def test_dynamic_named_concrete() -> None:
    named, unnamed, fixed = f32["batch", 4], f32[None, 4], f32[2, 4]
    assert [t.is_dynamic for t in (named, unnamed, fixed)] == [True, True, False]
    assert [t.is_concrete for t in (named, unnamed, fixed)] == [False, False, True]
    assert [t.has_named_axes for t in (named, unnamed, fixed)] == [True, False, False]


def test_rank_size_and_symbols() -> None:
    type_ = f32["batch", "seq", 4]
    assert type_.rank == 3
    assert type_.size == Dim.of("4*batch*seq")
    assert type_.symbols == {Symbol("batch"), Symbol("seq")}
    assert f32[()].size == 1
    assert f32[0, "batch"].size == 0


def test_resolve_puts_in_what_is_bound() -> None:
    type_ = f32["batch", "seq//2 + 1"]
    assert type_.resolve({"batch": 8, "seq": 131}) == f32[8, 66]
    assert type_.resolve({"seq": 131}) == f32["batch", 66]
    assert type_.resolve({}) is not None
    assert type_.resolve({"other": 3}) == type_


def test_substitute_and_with() -> None:
    type_ = f32["batch", 4]
    assert type_.substitute({Symbol("batch"): Dim.of("2*n")}) == f32["2*n", 4]
    assert type_.with_dtype(f16) == f16["batch", 4]
    assert type_.with_shape((Dim.of(3),)) == f32[3]
    assert TOKEN.substitute({Symbol("batch"): Dim.of(1)}) is TOKEN
    assert TOKEN.symbols == frozenset()


def test_types_are_equal_by_value() -> None:
    assert f32["batch", 4] == f32[Symbol("batch"), 4]
    assert hash(f32["batch"]) == hash(f32[Dim.of("batch")])
    assert f32["batch"] != f16["batch"]
    assert f32["batch"] != f32["seq"]


@pytest.mark.parametrize("size", [1.5, True, object()])
def test_what_is_no_size_is_refused(size: object) -> None:
    with pytest.raises(TypeError, match="a dim is an integer, a name or an expression"):
        f32[size]  # type: ignore[index]


def test_kinds_and_widths() -> None:
    assert [(d.name, d.kind, d.bits) for d in (f32, bf16, i64, u8, bool_)] == [
        ("f32", "float", 32), ("bf16", "float", 16), ("i64", "int", 64), ("u8", "uint", 8),
        ("bool", "bool", 1),
    ]  # fmt: skip
    assert (f16.is_float, f16.is_integer, u8.is_integer, bool_.is_integer) == (
        True, False, True, False,
    )  # fmt: skip
    assert [d.itemsize for d in (f32, f16, i64, bool_)] == [4, 2, 8, 1]


def test_every_dtype_is_found_by_name_and_by_array() -> None:
    assert len(DTYPES) == len(ALL_DTYPES) == 13
    for dtype in ALL_DTYPES:
        assert DTYPES[str(dtype)] is dtype
        assert dtype_of(np.zeros(1, dtype.numpy)) is dtype
    assert dtype_of(np.zeros(1, ml_dtypes.bfloat16)) is bf16


def test_a_dtype_that_was_sent_to_another_process_is_the_same_object() -> None:
    for dtype in ALL_DTYPES:
        assert pickle.loads(pickle.dumps(dtype)) is dtype


def test_an_array_of_another_dtype_is_refused() -> None:
    with pytest.raises(DTypeError, match=r"input 'z': expected one of f64, .* got complex64"):
        dtype_of(np.zeros(1, np.complex64), "input 'z'")
