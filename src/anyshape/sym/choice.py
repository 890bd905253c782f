"""Rules that simplify `min`, `max` and `bcast`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import TYPE_CHECKING

from anyshape.base.errors import DimError
from anyshape.sym.factor import Bcast, Max, Min
from anyshape.sym.monomial import ONE

if TYPE_CHECKING:
    from anyshape.sym.dim import Dim


def minimum_of(dims: Iterable[Dim]) -> Dim:
    return _extreme(Min, min, dims)


def maximum_of(dims: Iterable[Dim]) -> Dim:
    return _extreme(Max, max, dims)


def broadcast_of(dims: Iterable[Dim]) -> Dim:
    """The common size of dims that are all equal or 1; whoever asks has required that they are.

    Hence a constant other than 1 is the answer whatever the symbols are: bcast(a, 512) -> 512.
    """
    args = _flatten(Bcast, dims)
    sizes = sorted({arg.constant for arg in args if arg.constant not in (None, 1)})
    if len(sizes) > 1:
        text = f"bcast({', '.join(map(str, args))})"
        problem = f"sizes {sizes[0]} and {sizes[1]} do not broadcast"
        raise DimError(text, problem, "make them equal, or one of them 1")
    if sizes:
        return args[0].of(sizes[0])
    return _build(Bcast, [arg for arg in args if arg.constant != 1] or args[:1])


def _extreme(
    kind: type[Min] | type[Max], pick: Callable[[int, int], int], dims: Iterable[Dim]
) -> Dim:
    """Of several dims that differ by a constant, the one that can win stays."""
    best: dict[Dim, int] = {}
    for arg in chain.from_iterable(_moved_inside(kind, dim) for dim in _flatten(kind, dims)):
        offset = arg.coefficient(ONE)
        varying = arg - offset
        best[varying] = pick(best.get(varying, offset), offset)
    return _build(kind, [varying + offset for varying, offset in best.items()])


def _flatten(kind: type[Min] | type[Max] | type[Bcast], dims: Iterable[Dim]) -> list[Dim]:
    flat: list[Dim] = []
    for dim in dims:
        factor = dim.factor
        flat.extend(factor.args if isinstance(factor, kind) else (dim,))
    if not flat:
        raise TypeError(f"{kind.__name__.lower()} needs at least one dim")
    return flat


def _moved_inside(kind: type[Min] | type[Max], dim: Dim) -> tuple[Dim, ...]:
    """The arguments of `max(a, b) + 2` as `a + 2` and `b + 2`, so that they meet others."""
    offset = dim.coefficient(ONE)
    factor = (dim - offset).factor if offset else None
    return tuple(arg + offset for arg in factor.args) if isinstance(factor, kind) else (dim,)


def _build(kind: type[Min] | type[Max] | type[Bcast], args: list[Dim]) -> Dim:
    distinct = sorted(set(args), key=lambda arg: arg.sort_key)
    return distinct[0] if len(distinct) == 1 else args[0].of_factor(kind(*distinct))
