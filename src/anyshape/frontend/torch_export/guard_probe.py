"""Guards that may make no difference.

A model's code may ask whether a size is 1 and compute the same either way (`causal = seq > 1 and
mask is None and ...`: a single token has no future). The recorded guard then excludes size 1 for
no reason. The exporter captures such a model again with the answers for size 1: if both programs
are the same graph at that size, the guard need not exclude it; the same for size 0, if the answers
for both are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import sympy  # pyright: ignore[reportMissingTypeStubs]  torch brings it

from anyshape.frontend.torch_export.guards import Guard
from anyshape.frontend.torch_export.size_intervals import holds_at

_LARGE = 1 << 40


@dataclass(frozen=True)
class Suspect:
    """A guard that excludes size 1 of a symbol, and may be size 0, but no other."""

    guard: Guard
    symbol: Any
    excludes_zero: bool


def guards_against_one(guards: Sequence[Guard]) -> list[Suspect]:
    """The only such guard of each symbol that has one."""
    by_symbol: dict[str, list[Suspect]] = {}
    for guard in guards:
        symbols = list(guard.expression.free_symbols)
        if len(symbols) == 1 and guard.compares(symbols[0].name):
            zero, one, two, large = (
                holds_at(guard.expression, {symbols[0]: size}) for size in (0, 1, 2, _LARGE)
            )
            if two and large and not one:
                suspect = Suspect(guard, symbols[0], not zero)
                by_symbol.setdefault(symbols[0].name, []).append(suspect)
    return [suspects[0] for suspects in by_symbol.values() if len(suspects) == 1]


def adds_no_guard(guards: Sequence[Guard], probed: Sequence[Guard]) -> bool:
    """Whether the other answers lead to no guard that is new."""
    known = {str(guard.expression) for guard in guards}
    return all(str(guard.expression) in known for guard in probed)


def zero_is_as_one(guards: Sequence[Guard], symbol: Any) -> bool:
    """Whether size 0 gets the same answers as size 1."""
    own = (guard.expression for guard in guards if symbol in guard.expression.free_symbols)
    return all(
        each.free_symbols == {symbol} and holds_at(each, {symbol: 0}) == holds_at(each, {symbol: 1})
        for each in own
    )


def without_guard(guards: Sequence[Guard], suspect: Suspect, *, zero: bool) -> list[Guard]:
    """The guards without one that only excludes size 1, or 0 too: then that stays, unless `zero`
    is as good."""
    dropped = str(suspect.guard.expression)
    others = [guard for guard in guards if str(guard.expression) != dropped]
    if zero or not suspect.excludes_zero:
        return others
    return [*others, replace(suspect.guard, expression=sympy.Ge(suspect.symbol, 1))]
