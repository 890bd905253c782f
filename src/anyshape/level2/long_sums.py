"""Long sums from the sums that they contain.

The size of a concatenation is a sum of as many terms as it has parts, and so are its bytes and its
cost. Each on its own would be a function of thousands of lines. Such sums are taken apart: into a
number, a factor and a sum that is a word, so that what differs in these alone is computed once; and
that sum into others that are words already, so that the size of a concatenation of concatenations
takes as many additions as it has operands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import gcd
from typing import Final

from anyshape.level2.words import Cheapest, Estimate, Formula, OfCheapest, Words
from anyshape.sym import Dim, Symbol, total
from anyshape.sym.monomial import ONE, Monomial
from anyshape.sym.terms import factors_of

FEW: Final = 3
"""Terms of a sum that is written down as it is, however long they are."""

LONG: Final = 24
"""And parts of one with more terms."""

MOST_PARTS: Final = 64
"""Of one sum; more are words in between."""

_CANDIDATES: Final = 8
"""Of the sums that contain a term, the newest are tried."""


def is_long(dim: Dim) -> bool:
    return len(dim.terms) > FEW and dim.length > LONG


def taken_apart(dim: Dim) -> tuple[Dim, int, int]:
    """A sum without a common factor, a factor and a number: `dim` is `sum * factor + number`."""
    coefficients = dict(dim.terms)
    number = coefficients.pop(ONE, 0)
    factor = gcd(*coefficients.values())
    if not number and factor == 1:
        return dim, 1, 0
    return Dim.of_terms({m: c // factor for m, c in coefficients.items()}), factor, number


@dataclass(slots=True)
class SumNames:
    """Symbols that stand for long sums where these would be written many times over: the cost of a
    step has its size in six places."""

    meaning: dict[Symbol, Dim] = field(default_factory=dict[Symbol, Dim])
    _names: dict[Dim, Dim] = field(default_factory=dict[Dim, Dim])

    def short(self, dim: Dim) -> Dim:
        """An equal dim, in which a long sum is a symbol."""
        if not is_long(dim):
            return dim
        whole, factor, number = taken_apart(dim)
        if whole not in self._names:
            symbol = Symbol(f"?sum{len(self.meaning)}")
            self.meaning[symbol], self._names[whole] = whole, Dim.of(symbol)
        return self._names[whole] * factor + number


@dataclass(slots=True)
class Sums:
    """Dims that words hold, by the terms that they have in them, with how often they have them."""

    words: dict[Dim, int] = field(default_factory=dict[Dim, int])
    _with_term: dict[Monomial, list[tuple[Dim, int]]] = field(
        default_factory=dict[Monomial, list[tuple[Dim, int]]]
    )

    def add(self, dim: Dim, word: int) -> None:
        if dim not in self.words and not dim.is_constant:
            self.words[dim] = word
            for monomial, coefficient in dim.terms:
                self._with_term.setdefault(monomial, []).append((dim, coefficient))

    def parts(self, dim: Dim) -> list[tuple[Dim, int]]:
        """Dims whose multiples are `dim` together: those that words hold, and single terms."""
        left = dict(dim.terms)
        return [self._part(term, left) for term in dim.terms if term[0] in left]

    def _part(self, term: tuple[Monomial, int], left: dict[Monomial, int]) -> tuple[Dim, int]:
        """The longest sum that is known to contain a term, and that is left in full."""
        monomial, coefficient = term
        known = self._with_term.get(monomial, [])[-_CANDIDATES:]
        inside = ((part, _multiple(part, left[monomial] // once, left)) for part, once in known)
        found = [(part, multiple) for part, multiple in inside if multiple]
        own = Dim.of_terms({monomial: 1}), coefficient
        best = max(found, key=lambda item: len(item[0].terms), default=own)
        for taken, _ in best[0].terms:
            del left[taken]
        return best


def _multiple(part: Dim, times: int, left: Mapping[Monomial, int]) -> int:
    """`times` if `part` is contained so often, with nothing left of its terms; 0 if it is not."""
    return times if all(left.get(m) == c * times for m, c in part.terms) else 0


@dataclass(frozen=True, slots=True)
class HeldSums:
    """Sums that words hold, and what symbols mean that stand for sums.

    An estimate may be made of exact numbers, not the reverse: what does not fit 64 bits is refused
    there.
    """

    meaning: Mapping[Symbol, Dim] = field(default_factory=dict[Symbol, Dim])
    exact: Sums = field(default_factory=Sums)
    estimates: Sums = field(default_factory=Sums)

    def add(self, number: Formula, word: int) -> None:
        if isinstance(number, Dim):
            self.exact.add(number, word)
        dim = number.dim if isinstance(number, Estimate) else number
        if isinstance(dim, Dim):
            self.estimates.add(dim, word)


Numbered = tuple[Formula, int]
"""A number and its word."""


def numbers_in_order(numbers: Iterable[Numbered], words: Words) -> list[Numbered]:
    """Numbers, with those that long sums among them are made of, which get words of their own: each
    comes after what it contains."""
    given = list(numbers)
    both = [*given, *_sums_beside(given, words)]
    return sorted(both, key=lambda item: _rank(item[0], words.meaning))


Meaning = Mapping[Symbol, Dim]


def _rank(number: Formula, meaning: Meaning) -> tuple[int, int]:
    """Dims without long sums stay in their order, those with follow by their length; choices come
    last."""
    match number:
        case Dim():
            return 0, _length(number, meaning)
        case Estimate(dim):
            return 1, _length(dim, meaning)
        case Cheapest() | OfCheapest():
            return 2, 0


def _length(dim: Dim, meaning: Meaning) -> int:
    """Greater than that of every long sum in a dim; 0 if there is none."""
    named = max((meaning[s].length for s in dim.symbols & meaning.keys()), default=0)
    if not named and not any(True for _ in _sums_in(dim)):
        return 0
    is_sum = is_long(dim) and taken_apart(dim)[0] is dim
    return 2 * (dim.length + named) - is_sum  # before its multiples


def _sums_beside(given: Sequence[Numbered], words: Words) -> list[Numbered]:
    """The long sums in numbers, and what these are made of."""
    held = HeldSums()
    for number, word in given:
        if isinstance(number, Dim) and not _length(number, words.meaning):
            held.add(number, word)
    named = (Estimate(whole) for whole in words.meaning.values())
    inside = (found for number, _ in given for found in _sums_of(number))
    wanted = sorted(dict.fromkeys(chain(inside, named)), key=lambda sum_: _rank(sum_, {}))
    made = dict.fromkeys(new for found in wanted for new in _made_of(found, held, words))
    known = {number for number, _ in given}
    return [(number, words.word(number)) for number in made if number not in known]


def _made_of(found: Dim | Estimate, held: HeldSums, words: Words) -> Iterator[Dim | Estimate]:
    """A sum that no word holds yet, after others that it is made of."""
    dim = found if isinstance(found, Dim) else found.dim
    sums = held.exact if dim is found else held.estimates
    if dim in sums.words:
        return
    parts = sums.parts(dim)
    while len(parts) > MOST_PARTS:
        wholes = [_sum(parts[at : at + MOST_PARTS]) for at in range(0, len(parts), MOST_PARTS)]
        for whole in wholes:
            between = whole if dim is found else Estimate(whole)
            held.add(between, words.word(between))
            yield between
        parts = [(whole, 1) for whole in wholes]
    held.add(found, words.word(found))
    yield found


def _sum(parts: Sequence[tuple[Dim, int]]) -> Dim:
    return total(part * times for part, times in parts)


def _sums_of(number: Formula) -> Iterator[Dim | Estimate]:
    """The long sums in a number, without factors and numbers of theirs."""
    match number:
        case Dim():
            yield from _sums_in(number)
        case Estimate(dim):
            yield from map(Estimate, _sums_in(dim))
        case Cheapest(costs):
            yield from (Estimate(found) for cost in costs for found in _sums_in(cost))
        case OfCheapest(costs, values):
            for inner in (Cheapest(costs), *values):
                yield from _sums_of(inner)


def _sums_in(dim: Dim) -> Iterator[Dim]:
    if dim.length <= LONG:
        return
    if is_long(dim):
        yield taken_apart(dim)[0]
    for factor in factors_of(dim.terms):
        if not isinstance(factor, Symbol):
            for arg in factor.args:
                yield from _sums_in(arg)
