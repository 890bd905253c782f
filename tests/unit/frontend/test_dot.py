"""Products against NumPy: vectors, matrices, batches that broadcast, einsum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.frontend.tracing import check, floats, integers, run

import anyshape as ash
from anyshape.base.errors import OperandError

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
