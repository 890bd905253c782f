"""Traits are promises that rewrites rely on: each is checked on random and special values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.compliance.evaluators import EVALUATORS, Evaluator
from tests.compliance.inputs import values
from tests.compliance.tolerance import same_bits

from anyshape.ir import Builder, DType, OpDef, Value, all_ops
from anyshape.ir.opdef import Trait
from anyshape.ir.types import dtype_of, f32
from anyshape.ops.rules import FixedDType, SameDType

Op = OpDef[Any]

SIZE = 97


def with_trait(trait: Trait) -> list[Any]:
    """Each op that has the trait, with each dtype that it takes."""
    return [
        pytest.param(op, dtype, id=f"{op.name}-{dtype}")
        for op in all_ops()
        if op.has(trait)
        for dtype in dtypes(op)
    ]


def dtypes(op: Op) -> Iterator[DType]:
    """What all operands may be; ops with a dtype rule of their own are left out."""
    if isinstance(op.dtype_rule, SameDType | FixedDType):
        yield from op.dtype_rule.allowed


def compute(evaluator: Evaluator, build: Any, *arrays: Any) -> Any:
    """Runs what `build(builder, *values)` makes, on vectors."""
    b = Builder.at_entry()
    params: list[Value] = []
    for array in arrays:
        params.append(b.param(dtype_of(array)["n" if array.ndim else ()]))
    names = [f"x{index}" for index in range(len(arrays))]
    return evaluator.run(b.graph("g", names, [build(b, *params)]), arrays)[0]


def operands(dtype: DType, count: int) -> list[Any]:
    rng = np.random.default_rng(count)
    return [values(rng, (SIZE,), dtype, special=True) for _ in range(count)]


def assert_equal(found: Any, wanted: Any, op: Op) -> None:
    """Equal as numbers: NaN equals NaN, and the zeros are one."""
    left, right = (array + np.zeros((), array.dtype) for array in (found, wanted))
    assert same_bits(left, right), op.name


every_evaluator = pytest.mark.parametrize("evaluator", EVALUATORS, ids=lambda e: e.name)


@every_evaluator
@pytest.mark.parametrize(("op", "dtype"), with_trait(Trait.COMMUTATIVE))
def test_commutative(op: Op, dtype: DType, evaluator: Evaluator) -> None:
    x, y = operands(dtype, 2)
    one = compute(evaluator, lambda b, x, y: b.emit(op.name, x, y), x, y)
    other = compute(evaluator, lambda b, x, y: b.emit(op.name, y, x), x, y)
    assert_equal(one, other, op)


@every_evaluator
@pytest.mark.parametrize(
    ("op", "dtype"),
    [p for p in with_trait(Trait.ASSOCIATIVE) if not p.values[1].is_float or "im" in p.id],
)
def test_associative(op: Op, dtype: DType, evaluator: Evaluator) -> None:
    """Exact for integers, for bools, and for minima and maxima."""
    x, y, z = operands(dtype, 3)

    def emit(b: Builder, left: Value, right: Value) -> Value:
        return b.emit(op.name, left, right)

    one = compute(evaluator, lambda b, x, y, z: emit(b, emit(b, x, y), z), x, y, z)
    other = compute(evaluator, lambda b, x, y, z: emit(b, x, emit(b, y, z)), x, y, z)
    assert_equal(one, other, op)


@every_evaluator
@pytest.mark.parametrize(("op", "dtype"), with_trait(Trait.IDEMPOTENT))
def test_idempotent(op: Op, dtype: DType, evaluator: Evaluator) -> None:
    """f(f(x)) = f(x) for one operand, f(x, x) = x for two."""
    (x,) = operands(dtype, 1)
    if len(op.signature.names) == 2:
        found = compute(evaluator, lambda b, x: b.emit(op.name, x, x), x)
        assert_equal(found, x, op)
        return
    once = compute(evaluator, lambda b, x: b.emit(op.name, x), x)
    twice = compute(evaluator, lambda b, x: b.emit(op.name, b.emit(op.name, x)), x)
    assert_equal(twice, once, op)


@every_evaluator
@pytest.mark.parametrize(("op", "dtype"), with_trait(Trait.INVOLUTION))
def test_involution(op: Op, dtype: DType, evaluator: Evaluator) -> None:
    (x,) = operands(dtype, 1)
    assert_equal(compute(evaluator, lambda b, x: b.emit(op.name, b.emit(op.name, x)), x), x, op)


NEUTRAL = [
    pytest.param(op, dtype, id=f"{op.name}-{dtype}")
    for op in all_ops()
    if op.neutral is not None
    for dtype in dtypes(op)
]


@every_evaluator
@pytest.mark.parametrize(("op", "dtype"), NEUTRAL)
def test_neutral(op: Op, dtype: DType, evaluator: Evaluator) -> None:
    (x,) = operands(dtype, 1)
    neutral = np.array(op.neutral_in(dtype), dtype.numpy)
    found = compute(evaluator, lambda b, x, n: b.emit(op.name, x, n), x, neutral)
    assert_equal(found, x, op)


@every_evaluator
@pytest.mark.parametrize(("op", "dtype"), with_trait(Trait.ELEMENTWISE))
def test_elementwise(op: Op, dtype: DType, evaluator: Evaluator) -> None:
    """An element of the result depends on the operands' elements at its place only."""
    arrays = operands(dtype, len(op.signature.names))
    if op.name in ("floordiv", "mod") and dtype.is_integer:
        arrays[1] = np.where(arrays[1] == 0, np.array(1, dtype.numpy), arrays[1])

    def build(b: Builder, *values: Value) -> Value:
        return b.emit(op.name, *values)

    whole = compute(evaluator, build, *arrays)
    order = np.random.default_rng(0).permutation(SIZE)
    assert_equal(compute(evaluator, build, *(a[order] for a in arrays)), whole[order], op)


@every_evaluator
@pytest.mark.parametrize("op", [op for op in all_ops() if op.has(Trait.ALIAS)], ids=str)
def test_alias(op: Op, evaluator: Evaluator) -> None:
    """The same elements in the same order."""
    assert op.name == "reshape", "a new aliasing op needs attributes here"
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    b = Builder.at_entry()
    p = b.param(f32["n", 6])
    result = b.emit("reshape", p, shape=("n", 2, 3))
    (found,) = evaluator.run(b.graph("g", ["x"], [result]), [x])
    assert found.reshape(-1).tolist() == x.reshape(-1).tolist()


def test_effects_take_and_give_a_token() -> None:
    for op in all_ops():
        if op.has(Trait.EFFECT):
            assert "token" in op.signature.names
            assert not op.is_compound


def test_only_functions_of_elements_have_a_reference_beside_a_decomposition() -> None:
    """Their cases hold both to one independent result."""
    both = [op for op in all_ops() if op.is_compound and op.reference is not None]
    assert all(op.has(Trait.ELEMENTWISE) and op.public for op in both)
