"""Attribute records: the field types are the schema."""

from dataclasses import dataclass
from typing import Literal

import pytest

from anyshape.base.errors import AttributeValueError
from anyshape.ir.attrs import (
    NO_ATTRS,
    Attrs,
    attr_dims,
    check_attrs,
    items,
    make_attrs,
    map_dims,
    non_default_items,
    schema,
)
from anyshape.ir.types import DType, f32
from anyshape.sym import Dim, Symbol


@dataclass(frozen=True)
class Sample(Attrs):
    shape: tuple[Dim, ...]
    pair: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    mode: Literal["none", "tanh"] = "none"
    eps: float = 0.5
    scale: float | None = None
    dtype: DType = f32
    keep: bool = False
    count: int = 0


def make(**values: object) -> Sample:
    return make_attrs("sample", Sample, values)


def test_the_schema_is_the_fields_in_order() -> None:
    assert list(schema(Sample)) == [
        "shape", "pair", "mode", "eps", "scale", "dtype", "keep", "count",
    ]  # fmt: skip
    assert schema(Attrs) == {}


def test_loose_values_are_fitted() -> None:
    made = make(shape=[2, "seq//2", Symbol("n"), Dim.of("m")], pair=([0, 1], (2,)), eps=1, count=3)
    assert made.shape == (Dim.of(2), Dim.of("seq//2"), Dim.of("n"), Dim.of("m"))
    assert all(isinstance(dim, Dim) for dim in made.shape)
    assert made.pair == ((0, 1), (2,))
    assert isinstance(made.eps, float)
    assert made.scale is None
    assert make(shape=(), scale=2).scale == 2.0
    assert make(shape=(), count=Dim.of(7)).count == 7


def test_an_unknown_attribute() -> None:
    with pytest.raises(AttributeValueError, match="sample: attribute 'axis' is unknown"):
        make(shape=(), axis=1)


def test_a_missing_attribute() -> None:
    with pytest.raises(AttributeValueError, match="sample: attribute 'shape' is missing"):
        make()


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"shape": 3}, r"must be tuple\[Dim, \.\.\.\], got 3"),
        ({"shape": (1.5,)}, r"must be tuple\[Dim, \.\.\.\], got \(1\.5,\)"),
        ({"shape": (True,)}, r"must be tuple\[Dim, \.\.\.\]"),
        ({"pair": ((0,),)}, r"must be tuple\[tuple\[int, \.\.\.\], tuple\[int, \.\.\.\]\]"),
        ({"mode": "relu"}, "must be none or tanh, got 'relu'"),
        ({"eps": "big"}, "must be float, got 'big'"),
        ({"eps": True}, "must be float, got True"),
        ({"scale": "big"}, r"must be float \| None, got 'big'"),
        ({"dtype": "f32"}, "must be DType, got 'f32'"),
        ({"keep": 1}, "must be bool, got 1"),
        ({"count": True}, "must be int, got True"),
        ({"count": 1.0}, "must be int, got 1.0"),
        ({"count": Dim.of("n")}, r"must be int, got Dim\('n'\)"),
    ],
)
def test_a_wrong_type(values: dict[str, object], problem: str) -> None:
    with pytest.raises(AttributeValueError, match=problem):
        make(**({"shape": ()} | values))


def test_a_record_made_by_hand_is_checked_too() -> None:
    check_attrs("sample", make(shape=(2, "n")))
    check_attrs("sample", make(shape=(), eps=float("nan")))
    with pytest.raises(AttributeValueError, match="'shape' must be"):
        check_attrs("sample", Sample(shape=(2,)))  # type: ignore[arg-type]
    with pytest.raises(AttributeValueError, match="'pair' must be"):
        check_attrs("sample", Sample(shape=(), pair=([], [])))  # type: ignore[arg-type]


def test_what_is_printed_is_what_differs_from_the_default() -> None:
    made = make(shape=(3,), eps=0.25)
    assert dict(non_default_items(made)) == {"shape": (Dim.of(3),), "eps": 0.25}
    assert dict(items(made))["mode"] == "none"
    assert dict(items(NO_ATTRS)) == {}


def test_dims_inside_are_found_and_replaced() -> None:
    made = make(shape=("n", "m + 1"))
    assert list(attr_dims(made)) == [Dim.of("n"), Dim.of("m + 1")]
    changed = map_dims(made, lambda dim: dim.substitute({Symbol("n"): Dim.of(4)}))
    assert changed == make(shape=(4, "m + 1"))
    assert map_dims(made, lambda dim: dim) is made
