"""What moves of graphs in primitives have in common."""

from __future__ import annotations

import math

import numpy as np
from tests.fuzz.generate import Generator, NotApplicableError

from anyshape.ir.types import DType
from anyshape.ops.compose import Expr
from anyshape.sym import Dim


def picked(g: Generator, min_rank: int = 1) -> Expr:
    return Expr(g.builder, g.float_tensor(min_rank))


def keep(g: Generator, x: Expr) -> None:
    g.pool.append(x.value)


def weights(g: Generator, *shape: int, dtype: DType) -> Expr:
    """A constant, small so that sums stay so."""
    rng = np.random.default_rng(g.rng.getrandbits(32))
    array = rng.normal(size=shape) / math.sqrt(max(1, shape[0]))
    return Expr(g.builder, g.builder.constant(array.astype(dtype.numpy)))


def width_of(x: Expr) -> int:
    width = x.shape[-1].constant
    if width is None:
        raise NotApplicableError
    return width


def projected(x: Expr, w: Expr) -> Expr:
    return x.apply("dot", w, contract=((x.rank - 1,), (0,)), batch=((), ()))


def split(x: Expr, parts: int) -> list[Expr]:
    size = width_of(x) // parts
    zeros, ones = (Dim.of(0),) * (x.rank - 1), (Dim.of(1),) * x.rank
    return [
        x.apply(
            "slice",
            starts=(*zeros, Dim.of(part * size)),
            stops=(*x.shape[:-1], Dim.of((part + 1) * size)),
            steps=tuple(int(one) for one in ones),
        )
        for part in range(parts)
    ]


def heads_of(x: Expr, heads: int) -> Expr:
    """[…, seq, heads * width] to […, heads, seq, width]."""
    whole = x.reshape(*x.shape[:-1], Dim.of(heads), Dim.of(width_of(x) // heads))
    rank = whole.rank
    return whole.apply("transpose", perm=(*range(rank - 3), rank - 2, rank - 3, rank - 1))
