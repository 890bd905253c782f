"""Dot products: torch.einsum in f64, Python integers for integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from tests.compliance.case import Collection, Rng, emit
from tests.compliance.expect import as_torch, wrapped
from tests.compliance.tolerance import accumulated

from anyshape.ir.types import NUMERIC, DType, f32

CASES = Collection()

# Summands are products of numbers of order two; up to some hundred of them.
TOLERANCE = accumulated(1024)

Pairs = tuple[tuple[int, ...], tuple[int, ...]]


def by_einsum(formula: str) -> Callable[..., Any]:
    def expect(lhs: Any, rhs: Any) -> Any:
        if lhs.dtype.kind in "iu":
            return wrapped(_einsum_of_integers(formula, lhs, rhs), lhs.dtype)
        return torch.einsum(formula, as_torch(lhs), as_torch(rhs)).numpy()

    return expect


def _einsum_of_integers(formula: str, lhs: Any, rhs: Any) -> Any:
    """Values are small, so f64 holds every sum exactly."""
    wide = (as_torch(array.astype("float64")) for array in (lhs, rhs))
    return torch.einsum(formula, *wide).numpy().astype(object)


def dot(
    label: str, inputs: tuple[str, str], result: str, formula: str, contract: Pairs,
    batch: Pairs = ((), ()), facts: tuple[str, ...] = (), **options: Any,
) -> None:  # fmt: skip
    for dtype in NUMERIC if label == "matrices" else [f32]:
        CASES.add(
            "dot", f"{label} {dtype}", tuple(f"{dtype}{shape}" for shape in inputs),
            emit("dot", contract=contract, batch=batch), (f"{dtype}{result}",),
            by_einsum(formula), facts, tolerance=TOLERANCE, **options,
        )  # fmt: skip


dot("matrices", ("[batch, seq]", "[seq, n]"), "[batch, n]", "bs,sn->bn", ((1,), (0,)))
dot("vectors", ("[seq//2 + 1]", "[seq//2 + 1]"), "[]", "s,s->", ((0,), (0,)))
dot("outer", ("[n]", "[m]"), "[n, m]", "n,m->nm", ((), ()))
dot("by a scalar", ("[batch, seq]", "[]"), "[batch, seq]", "bs,->bs", ((), ()))
dot("transposed", ("[seq, batch]", "[n, seq]"), "[batch, n]", "sb,ns->bn", ((0,), (1,)))
dot(
    "batched", ("[batch, heads, seq, 8]", "[batch, heads, kv, 8]"), "[batch, heads, seq, kv]",
    "bhsd,bhtd->bhst", ((3,), (3,)), ((0, 1), (0, 1)),
)  # fmt: skip
dot(
    "batch axes in the middle", ("[seq, batch, 3]", "[3, n, batch]"), "[batch, seq, n]",
    "sbk,knb->bsn", ((2,), (0,)), ((1,), (2,)),
)  # fmt: skip
dot(
    "two contracted axes", ("[batch, seq, 3]", "[3, seq, n]"), "[batch, n]", "bsk,ksn->bn",
    ((2, 1), (0, 1)),
)  # fmt: skip
dot("all batch", ("[batch, seq]", "[seq, batch]"), "[batch, seq]", "bs,sb->bs", ((), ()),
    ((0, 1), (1, 0)))  # fmt: skip
dot("a fresh dim adopts a name", ("[batch, ?]", "[seq, n]"), "[batch, n]", "bs,sn->bn",
    ((1,), (0,)))  # fmt: skip
dot("a name meets a number", ("[batch, seq]", "[8, n]"), "[batch, n]", "bs,sn->bn", ((1,), (0,)),
    facts=("seq == 8",), sizes=tuple({"batch": n, "seq": 8, "n": 5} for n in (0, 3)))  # fmt: skip


# --- grouped --------------------------------------------------------------------------------------


def _in_groups(rng: Rng, shapes: list[tuple[int, ...]], dtypes: list[DType]) -> list[Any]:
    """Small numbers, and offsets that ascend; some rows may come after the last group."""
    numbers = [
        rng.integers(0 if dtype.kind == "uint" else -3, 4, shape).astype(dtype.numpy)
        for shape, dtype in zip(shapes[:2], dtypes[:2], strict=True)
    ]
    ends = np.sort(rng.integers(0, shapes[0][0] + 1, shapes[2])).astype(dtypes[2].numpy)
    return [*numbers, ends]


def _row_by_row(x: Any, weights: Any, ends: Any) -> Any:
    """Each row with the matrix of the first group that ends after it."""
    wide = x.astype(np.float64), weights.astype(np.float64)
    rows = [np.zeros((0, weights.shape[2]))]
    for number, row in enumerate(wide[0]):
        group = int(np.searchsorted(ends.astype(np.int64), number, side="right"))
        inside = group < len(ends)
        made = (row[:, None] * wide[1][group]).sum(axis=0) if inside else np.zeros(rows[0].shape[1])
        rows.append(made[None])
    made = np.concatenate(rows)
    return wrapped(made.astype(object), x.dtype) if x.dtype.kind in "iu" else made


for _dtype in NUMERIC:
    for _ends in ("i32", "i64") if _dtype is f32 else ("i64",):
        CASES.add(
            "grouped_dot", f"{_dtype} {_ends}",
            (f"{_dtype}[seq, k]", f"{_dtype}[n, k, m]", f"{_ends}[n]"), emit("grouped_dot"),
            (f"{_dtype}[seq, m]",), _row_by_row, fill=_in_groups, tolerance=TOLERANCE,
            sizes=({"seq": 100, "k": 7, "n": 3, "m": 70}, {"seq": 4, "k": 2, "n": 0, "m": 3}),
        )  # fmt: skip
CASES.add(
    "grouped_dot", "a number of matrices meets a name", ("f32[seq, 8]", "f32[4, k, m]", "i64[n]"),
    emit("grouped_dot"), ("f32[seq, m]",), _row_by_row, facts=("8 == k", "n == 4"),
    fill=_in_groups, tolerance=TOLERANCE,
    sizes=tuple({"seq": t, "k": 8, "n": 4, "m": 5} for t in (0, 9)),
)  # fmt: skip
