"""What a broken fact asks of one axis alone, for people who do not read algebra.

    b*s == 8*b*(s//8)               's' must be a multiple of 8
    broadcastable(s, min(s, 16))    's' must be at most 16

A rule is found by trying sizes, and is told only if a prover confirms that it suffices; that it is
needed, the sizes show that were tried. Nothing but messages depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from anyshape.base.errors import AxisRule, DimError
from anyshape.sym.axis import Axis
from anyshape.sym.decide import Answer, Prover
from anyshape.sym.predicate import Predicate
from anyshape.sym.symbol import Symbol

_FEWEST, _MOST = 64, 4096
"""How many sizes are tried: twice the one that broke the fact, within these."""


def axis_rule(predicate: Predicate, binding: Mapping[Symbol, int]) -> AxisRule | None:
    """The rule of the first axis that has one, whose size in `binding` breaks the predicate."""
    if all(side.is_constant or side.symbol is not None for side in predicate.sides):
        return None  # it reads well as it is
    for symbol in sorted(predicate.symbols & binding.keys(), key=str):
        for axis in _candidates(predicate, symbol, binding):
            if Prover([axis]).proves(predicate) is Answer.TRUE:
                return _in_words(axis, binding[symbol])
    return None


def _candidates(
    predicate: Predicate, symbol: Symbol, binding: Mapping[Symbol, int]
) -> Iterator[Axis]:
    """Declarations of the axis that fit all sizes tried, and exclude the one that it has."""
    count = min(max(2 * binding[symbol] + 1, _FEWEST), _MOST)
    allowed = [n for n in range(count) if _holds(predicate, {**binding, symbol: n})]
    positive = [n for n in allowed if n > 0]
    if not positive or binding[symbol] >= count:
        return
    first, last, name = allowed[0], allowed[-1], symbol.name
    if positive[0] > 1 and allowed == list(range(0, count, positive[0])):
        yield Axis(name, multiple_of=positive[0])
    if allowed == list(range(last + 1)):
        yield Axis(name, max=last)
    if allowed == list(range(first, count)):
        yield Axis(name, min=first)


def _holds(predicate: Predicate, binding: Mapping[Symbol, int]) -> bool:
    try:
        return predicate.holds(binding)
    except DimError:  # a division by zero
        return False


def _in_words(axis: Axis, size: int) -> AxisRule:
    """`size` is what a call has."""
    unit = axis.multiple_of
    if unit > 1:
        near = f"pad to {size + -size % unit} or cut to {size - size % unit}"
        return AxisRule(axis.name, f"a multiple of {unit}", size, near, f"multiple_of={unit}")
    (low, high), *_ = axis.ranges
    if high is not None:
        return AxisRule(axis.name, f"at most {high}", size, f"cut to {high}", f"max={high}")
    return AxisRule(axis.name, f"at least {low}", size, f"pad to {low}", f"min={low}")
