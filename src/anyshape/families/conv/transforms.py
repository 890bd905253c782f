"""Code for Winograd's transforms: sums of few values with constant coefficients."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from anyshape.ir.types import DType
from anyshape.loop import Apply, Let, Literal, Local, Scalar, Statement
from anyshape.lower.winograd import Scheme

Term = tuple[Fraction, Scalar]
ONE = Fraction(1)


@dataclass
class Straight:
    """Straight-line code under construction."""

    dtype: DType
    prefix: str
    body: list[Statement] = field(default_factory=list[Statement])

    def let(self, value: Scalar) -> Local:
        local = Local(f"{self.prefix}{len(self.body)}", self.dtype)
        self.body.append(Let(local, value))
        return local

    def sum(self, terms: Iterable[Term]) -> Scalar:
        """What needs no multiplication comes first."""
        found: Scalar | None = None
        for coefficient, value in sorted(
            (term for term in terms if term[0]), key=lambda term: abs(term[0]) != 1
        ):
            found = self._added(found, coefficient, value)
        assert found is not None, "a sum has a term"
        return found

    def _added(self, total: Scalar | None, coefficient: Fraction, value: Scalar) -> Scalar:
        if total is None:
            return value if coefficient == 1 else self._times(coefficient, value)
        if abs(coefficient) == 1:
            return self.let(Apply("add" if coefficient > 0 else "sub", (total, value), self.dtype))
        return self.let(Apply("add", (total, self._times(coefficient, value)), self.dtype))

    def _times(self, coefficient: Fraction, value: Scalar) -> Scalar:
        factor = Literal.of(float(coefficient), self.dtype)
        return Apply("mul", (value, factor), self.dtype)


def at_points(code: Straight, scheme: Scheme, values: Sequence[Scalar]) -> list[Scalar]:
    """A line of a patch at all points. A point and its negative share their even and odd parts."""
    found = [code.sum(zip(row, values, strict=True)) for row in (scheme.patch[0], scheme.patch[-1])]
    for point in scheme.pairs:
        row = list(zip(scheme.patch[point], values, strict=True))
        even, odd = code.sum(row[::2]), [term for term in row[1::2] if term[0]]
        lead = odd[-1][0]
        rest = code.sum((coefficient / lead, value) for coefficient, value in odd)
        found[-1:-1] = [code.sum(((ONE, even), (sign * lead, rest))) for sign in (1, -1)]
    return found


def from_points(code: Straight, scheme: Scheme, values: Sequence[Scalar]) -> list[Scalar]:
    """A line of a tile. Values at a point and its negative are added for even powers, and
    subtracted for odd ones."""
    both = {
        point: [
            code.sum(((ONE, values[point]), (sign * ONE, values[point + 1]))) for sign in (1, -1)
        ]
        for point in scheme.pairs
    }
    found: list[Scalar] = []
    for power, row in enumerate(scheme.results):
        ends = (row[0], values[0]), (row[-1], values[-1])
        found.append(code.sum((*ends, *((row[p], both[p][power % 2]) for p in scheme.pairs))))
    return found
