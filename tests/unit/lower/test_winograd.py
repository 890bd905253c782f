"""Winograd's schemes: identities between polynomials, in exact arithmetic."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from anyshape.lower.winograd import POINTS, TAPS, scheme, weights_at_points

every_tile = pytest.mark.parametrize("tile", POINTS)


def by(row: tuple[Fraction, ...], values: list[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(row, values, strict=True)), Fraction(0))


def unit(place: int, size: int) -> list[Fraction]:
    return [Fraction(place == other) for other in range(size)]


@every_tile
def test_a_line_of_results_is_exact(tile: int) -> None:
    """Of every place of a patch with every tap, and so of all sums of them."""
    made = scheme(tile)
    assert (made.tile, made.size, made.points) == (tile, tile + 2, (tile + 2) ** 2)
    for place, tap in product(range(made.size), range(TAPS)):
        patch = [by(row, unit(place, made.size)) for row in made.patch]
        weights = [by(row, unit(tap, TAPS)) for row in made.weights]
        products = [a * b for a, b in zip(patch, weights, strict=True)]
        results = [by(row, products) for row in made.results]
        assert results == [Fraction(place == result + tap) for result in range(tile)]


@every_tile
def test_points_come_with_their_negatives(tile: int) -> None:
    made = scheme(tile)
    for point in made.pairs:
        one, other = made.patch[point : point + 2]
        assert other == tuple(c if power % 2 == 0 else -c for power, c in enumerate(one))


@every_tile
def test_what_kernels_multiply_by_is_exact(tile: int) -> None:
    made = scheme(tile)
    for row in (*made.patch, *made.results):
        assert all(Fraction(float(np.float32(float(number)))) == number for number in row)


@every_tile
def test_weights_are_rounded_once(tile: int) -> None:
    weights = np.random.default_rng(0).standard_normal((1, 3, 3, 2, 5)).astype(np.float32)
    found, rows = weights_at_points(weights, tile), scheme(tile).weights
    assert found.dtype == np.float32
    assert found.shape == (scheme(tile).points, 2, 5)
    for i, j, c, o in product(range(tile + 2), range(tile + 2), range(2), range(5)):
        taps = product(range(TAPS), range(TAPS))
        terms = (rows[i][a] * rows[j][b] * Fraction(float(weights[0, a, b, c, o])) for a, b in taps)
        exact = float(sum(terms, Fraction(0)))
        assert abs(found[i * (tile + 2) + j, c, o] - exact) <= 2.0**-23 * abs(exact)


@every_tile
def test_weights_that_are_not_finite_are_seen(tile: int) -> None:
    weights = np.ones((1, 3, 3, 2, 2), np.float32)
    weights[0, 1, 1, 0, 0] = np.inf
    found = weights_at_points(weights, tile)
    assert not np.isfinite(found[:, 0, 0]).all()
    assert np.isfinite(found[:, 1]).all()
    assert np.isfinite(found[:, :, 1]).all()
