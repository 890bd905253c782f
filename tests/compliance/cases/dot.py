"""The dot product: torch.einsum in f64, Python integers for integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from tests.compliance.case import Collection, emit
from tests.compliance.expect import as_torch, wrapped
from tests.compliance.tolerance import accumulated

from anyshape.ir.types import NUMERIC, f32

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
