"""Products against NumPy: vectors, matrices, batches that broadcast, einsum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.frontend.tracing import Array, check, floats, integers, run

import anyshape as ash
from anyshape.base.errors import DTypeError, OperandError

PAIRS = [
    ((3, 4), (4, 5)), ((4,), (4,)), ((4,), (4, 5)), ((3, 4), (4,)), ((2, 3, 4), (4, 5)),
    ((2, 3, 4), (2, 4, 5)), ((2, 3, 4), (4,)), ((4,), (2, 4, 5)), ((3, 4), (2, 4, 5)),
    ((2, 1, 3, 4), (6, 4, 5)), ((1, 3, 4), (2, 4, 5)), ((0, 4), (4, 2)), ((3, 0), (0, 2)),
    ((2, 5, 3, 4), (2, 5, 4, 1)),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right"), PAIRS, ids=str)
def test_matmul(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    check(lambda x, y: x @ y, lambda x, y: x @ y, floats(*left), floats(*right, seed=1))


def test_matmul_of_integers_and_mixed_types() -> None:
    check(ash.matmul, np.matmul, integers(2, 3), integers(3, 4))
    check(ash.matmul, lambda x, y: x @ y.astype(np.float32), floats(2, 3), integers(3, 4))


def test_a_numpy_array_on_the_left() -> None:
    w = floats(3, 4, seed=2)
    check(lambda x: w @ x, lambda x: w @ x, floats(4, 5))


EQUATIONS = [
    ("ij,jk->ik", (2, 3), (3, 4)), ("bqd,bkd->bqk", (2, 3, 4), (2, 5, 4)), ("i,j->ij", (2,), (3,)),
    ("ij,jk", (2, 3), (3, 4)), ("bhqk,bhkd->bqhd", (2, 3, 4, 5), (2, 3, 5, 6)),
    ("i,i->", (3,), (3,)),
    ("ij,ij->ij", (2, 3), (2, 3)), ("ij,k->jk", (2, 3), (4,)), ("ab,bc->ca", (2, 3), (3, 4)),
]  # fmt: skip


@pytest.mark.parametrize(("equation", "left", "right"), EQUATIONS, ids=str)
def test_einsum_of_two(equation: str, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    check(
        lambda x, y: ash.einsum(equation, x, y),
        lambda x, y: np.einsum(equation, x, y),
        floats(*left),
        floats(*right, seed=1),
    )


@pytest.mark.parametrize("equation", ["ij->ji", "ij->i", "ij->", "ij", "ba"])
def test_einsum_of_one(equation: str) -> None:
    ours, theirs = (lambda x, m=m: m.einsum(equation, x) for m in (ash, np))
    check(ours, theirs, floats(2, 3))


def test_einsum_of_three() -> None:
    arrays = floats(2, 3), floats(3, 4, seed=1), floats(4, 2, seed=2)
    for equation in ("ij,jk,kl->il", "ij,jk,ki->i", "ij,jk,kl->lji"):
        ours, theirs = (lambda *xs, m=m: m.einsum(equation, *xs) for m in (ash, np))  # noqa: B023
        check(ours, theirs, *arrays)


def test_dot_general_vecdot_outer() -> None:
    x, y = floats(2, 3, 4), floats(4, 2, seed=1)
    ours = lambda x, y: ash.dot_general(x, y, ((-1,), (0,)), ((0,), (1,)))  # noqa: E731
    check(ours, lambda x, y: np.einsum("bij,jb->bi", x, y), x, y)
    check(ash.vecdot, lambda x, y: (x * y).sum(-1), floats(3, 4), floats(4))
    check(ash.outer, np.outer, floats(3), floats(4))


def test_grouped_dot() -> None:
    def by_rows(x: Any, weights: Any, ends: Any) -> Any:
        groups = np.searchsorted(ends, np.arange(len(x)), side="right")
        padded = np.concatenate([weights, np.zeros_like(weights[:1])])
        return np.einsum("tk,tkn->tn", x, padded[groups])

    ends = np.array([2, 2, 6])
    check(ash.grouped_dot, by_rows, floats(7, 4), floats(3, 4, 5, seed=1), ends)


def test_grouped_dot_of_other_ranks() -> None:
    operands = floats(7, 4), floats(4, 5), np.array([2, 7])
    with pytest.raises(OperandError, match=r"have ranks \(2, 2, 1\), expected \(2, 3, 1\)"):
        run(ash.grouped_dot, *operands, static=True)


# --- worklists ------------------------------------------------------------------------------------


def test_worklist_of_rows_and_back() -> None:
    def ours(x: Any, weights: Any, keys: Any) -> Any:
        order, ends, position, _ = ash.worklist(keys, 3)
        return ash.grouped_dot(x[order], weights, ends)[position]

    def theirs(x: Any, weights: Any, keys: Any) -> Any:
        return np.stack([row @ weights[key] for row, key in zip(x, keys, strict=True)])

    keys = np.array([2, 0, 2, 1, 0, 0, 2])
    check(ours, theirs, floats(7, 4), floats(3, 4, 5, seed=1), keys)


def test_worklist_with_a_capacity_leaves_the_last_rows_out() -> None:
    def ours(x: Any, weights: Any, keys: Any) -> Any:
        order, ends, position, _ = ash.worklist(keys, 3, capacity=2)
        return ash.grouped_dot(x[order], weights, ends)[position]

    def theirs(x: Any, weights: Any, keys: Any) -> Any:
        products = np.stack([row @ weights[key] for row, key in zip(x, keys, strict=True)])
        products[[5, 6]] = 0  # the third rows of groups 0 and 2
        return products

    keys = np.array([2, 0, 2, 1, 0, 0, 2])
    check(ours, theirs, floats(7, 4), floats(3, 4, 5, seed=1), keys)


def test_worklist_of_several_choices() -> None:
    def ours(x: Any, weights: Any, keys: Any) -> Any:
        _, ends, position, source = ash.worklist(keys, 3)
        return ash.grouped_dot(x[source], weights, ends)[position]

    def theirs(x: Any, weights: Any, keys: Any) -> Any:
        return np.einsum("tk,tckn->tcn", x, weights[keys])

    keys = np.array([[2, 0], [2, 1], [0, 0], [2, 1]])
    check(ours, theirs, floats(4, 4), floats(3, 4, 5, seed=1), keys)


def test_worklist_of_other_ranks() -> None:
    with pytest.raises(OperandError, match=r"keys have rank 0, expected 1 or 2"):
        run(lambda keys: ash.worklist(keys, 3).order, np.array(2), static=True)


def test_worklist_of_floats() -> None:
    with pytest.raises(DTypeError, match=r"worklist \(keys\)"):
        run(lambda keys: ash.worklist(keys, 3).order, floats(4), static=True)


# --- einsum by its definition ---------------------------------------------------------------------


def defined(equation: str, left: Array, right: Array) -> Array:
    """All products first, then one sum. NumPy's own einsum sums before it multiplies, sometimes."""
    terms, result = equation.split("->")
    letters = result + "".join(sorted(set(terms) - set(result) - {","}))
    wide = [
        np.einsum(f"{term}->{''.join(c for c in letters if c in term)}", x).reshape(
            [x.shape[term.index(c)] if c in term else 1 for c in letters]
        )
        for term, x in zip(terms.split(","), (left, right), strict=True)
    ]
    products = wide[0] * wide[1]
    summed = tuple(range(len(result), len(letters)))
    return products.sum(axis=summed, dtype=products.dtype)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("executor", ["native", "reference"])
@pytest.mark.parametrize("equation", ["ab,c->bc", "ab,ac->c", "a,b->", "ab,cd->", "abc,cd->d"])
def test_einsum_of_infinities_and_of_nothing(executor: Any, equation: str) -> None:
    def product(xs: Any) -> Any:
        return ash.einsum(equation, *xs)

    first, second = equation.partition("->")[0].split(",")
    product.__annotations__["xs"] = (ash.f32[tuple(first)], ash.f32[tuple(second)])
    compiled = ash.jit(executor=executor)(product)
    rng = np.random.default_rng(0)
    for empty in (*first, ""):
        sizes = {"a": 3, "b": 4, "c": 5, "d": 2} | {empty: 0}
        for odd in (np.inf, -np.inf, np.nan):
            arrays = [floats(*(sizes[c] for c in term)) for term in (first, second)]
            for array in arrays:
                array[rng.random(array.shape) < 0.1] = odd
            found = compiled(tuple(arrays))
            wanted = defined(equation, *arrays)
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_einsum_has_the_dtype_of_its_operands() -> None:
    left, right = np.full((3, 2), 100, np.int8), np.full(4, 3, np.int8)
    for equation in ("ab,c->bc", "ab,c->", "ab,c->abc"):
        found = run(lambda x, y, e=equation: ash.einsum(e, x, y), left, right)
        wanted = np.einsum(equation, left, right)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)
    assert run(lambda x: ash.einsum("ab->b", x), left).tolist() == [44, 44]


def test_einsum_does_not_sum_what_it_multiplies_with_zero() -> None:
    large, zeros = np.full((2, 3), 3e38, np.float32), np.zeros(4, np.float32)
    assert not run(lambda x, y: ash.einsum("ab,c->bc", x, y), large, zeros).any()
