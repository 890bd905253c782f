"""Offsets that a reshape took apart come together again."""

import pytest

from anyshape.loop.merge import recombined
from anyshape.sym import Dim

CASES = [
    ("n*(k//n) + k % n", "k"),
    ("4*(k//4) + k % 4 + 1", "k + 1"),
    ("n*m*((k//m)//n) + m*((k//m) % n) + k % m", "k"),
    ("n*m*(k//n) + m*(k % n) + j", "m*k + j"),
    ("t*n*m + m*(k//m) + k % m", "t*n*m + k"),
    ("64*(k//64) + 8*((k//8) % 8) + k % 8", "k"),  # of numbers, (k//8)//8 is k//64
    ("12*(k//12) + 4*((k//4) % 3) + k % 4 + j", "k + j"),
    ("8*n*(k//8) + n*(k % 8) + j", "n*k + j"),
    # what does not fit stays
    ("64*(k//64) + 8*((k//8) % 4) + k % 8", "64*(k//64) + 8*((k//8) % 4) + k % 8"),
    ("64*(k//64) + 8*((k//4) % 8) + k % 8", "64*(k//64) + 8*((k//4) % 8) + k % 8"),
    ("n*(k//m) + k % m", "n*(k//m) + k % m"),
    ("4*(k//4) + k % 8", "4*(k//4) + k % 8"),
    ("k % m", "k % m"),
    ("m*(k//m)", "m*(k//m)"),
    ("2*m*(k//m) + k % m", "2*m*(k//m) + k % m"),
]


@pytest.mark.parametrize(("offset", "expected"), CASES)
def test_recombined(offset: str, expected: str) -> None:
    assert recombined(Dim.of(offset)) == Dim.of(expected)


@pytest.mark.parametrize("offset", [offset for offset, _ in CASES])
def test_the_number_is_the_same(offset: str) -> None:
    before = Dim.of(offset)
    after = recombined(before)
    for k in range(50):
        sizes = {s: 3 + i for i, s in enumerate(sorted(before.symbols, key=str))}
        sizes = {symbol: k if symbol.name == "k" else size for symbol, size in sizes.items()}
        assert after.evaluate(sizes) == before.evaluate(sizes)
