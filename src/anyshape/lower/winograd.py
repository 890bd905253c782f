"""Winograd's schemes: 3 x 3 convolutions of stride 1 with fewer multiplications.

A *tile* of m x m neighbouring results meets a *patch* of n x n places of the input, n = m + 2. Both
the patch and the taps are polynomials; their product is known from its values at n *points* (one of
them infinity), so that it takes n * n multiplications instead of 9 * m * m:

    patch at the points  = B^T d B      per input channel
    weights at the points = G g G^T     once
    tile                 = A^T (sum over channels of their products) A

Points decide how much rounding errors grow (docs/design/0075). Those here are fractions of few
bits: every coefficient that a kernel multiplies by is exact in f32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import prod

import numpy as np

from anyshape.ir.types import Array

TAPS = 3
"""Along each axis."""

Rows = tuple[tuple[Fraction, ...], ...]

POINTS = {
    2: (Fraction(1),),
    4: (Fraction(11, 16), Fraction(23, 16)),
}
"""For each size of a tile the finite points beside 0: each stands for itself and its negative."""


@dataclass(frozen=True, slots=True)
class Scheme:
    """The matrices for one axis. Points are 0, then each with its negative, and infinity."""

    results: Rows  # A^T: a row for each result of a tile
    weights: Rows  # G: a row for each point
    patch: Rows  # B^T: a row for each point

    @property
    def tile(self) -> int:
        """Results along an axis."""
        return len(self.results)

    @property
    def size(self) -> int:
        """Points along an axis, and places of a patch."""
        return len(self.patch)

    @property
    def points(self) -> int:
        """Of both axes: as many products make a tile."""
        return self.size**2

    @property
    def pairs(self) -> range:
        """Which points are followed by their negative."""
        return range(1, self.size - 1, 2)


@cache
def scheme(tile: int) -> Scheme:
    """That of tiles with so many results along each axis."""
    finite = [Fraction(0), *(sign * point for point in POINTS[tile] for sign in (1, -1))]
    last, places = len(finite), tile + TAPS - 1
    results = [
        (*(point**power for point in finite), Fraction(power == tile - 1)) for power in range(tile)
    ]
    weights = [
        tuple(point**power / _distance(finite, point) for power in range(TAPS)) for point in finite
    ]
    weights.append((Fraction(0),) * (TAPS - 1) + (Fraction(1),))
    patch = [_polynomial([*finite[:i], *finite[i + 1 :]]) for i in range(last + 1)]
    filled = [(*row, *[Fraction(0)] * (places - len(row))) for row in patch]
    return Scheme(tuple(results), tuple(weights), tuple(filled))


def _distance(points: Sequence[Fraction], point: Fraction) -> Fraction:
    return prod((point - other for other in points if other != point), start=Fraction(1))


def _polynomial(roots: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """Coefficients of the product of `x - root`, that of 1 first."""
    found = [Fraction(1)]
    for root in roots:
        moved, kept = [Fraction(0), *found], [*(root * c for c in found), Fraction(0)]
        found = [a - b for a, b in zip(moved, kept, strict=True)]
    return tuple(found)


def weights_at_points(weights: Array, tile: int) -> Array:
    """[1, 3, 3, in, out] -> [points, in, out], rounded once."""
    rows = np.array(scheme(tile).weights, np.float64)
    with np.errstate(all="ignore"):  # what is not finite stays so, and is seen in results
        half = np.einsum("jb,abco->ajco", rows, weights[0].astype(np.float64))
        found = np.einsum("ia,ajco->ijco", rows, half)
        return found.reshape(-1, *weights.shape[-2:]).astype(weights.dtype)
