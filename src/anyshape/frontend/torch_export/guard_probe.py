"""Conditions that make no difference.

A model's code may ask whether a size is 1 and do the same either way (`causal = seq > 1 and mask
is None and ...`: a single token has no future). The captured program then seems to hold for one
side only. So where a condition leaves out size 1, the model is captured a second time with that
condition answered the other way: if the two are the same graph at size 1, the condition is none.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from threading import get_ident
from typing import Any

import sympy  # pyright: ignore[reportMissingTypeStubs]  torch brings it
import torch

from anyshape.frontend.aten.torch_paths import TORCH_FOLDER
from anyshape.frontend.torch_export.guards import Guard


def leaving_out_one(guards: Sequence[Guard]) -> dict[str, Guard]:
    """By symbol, a condition on it alone that its size 1 does not meet, if there is only one."""
    by_symbol: dict[str, dict[str, Guard]] = {}
    for guard in guards:
        symbols = list(guard.expression.free_symbols)
        if len(symbols) == 1 and guard.expression.subs(symbols[0], 1) == sympy.false:
            by_symbol.setdefault(symbols[0].name, {})[str(guard.expression)] = guard
    return {name: next(iter(each.values())) for name, each in by_symbol.items() if len(each) == 1}


@contextmanager
def answered_otherwise(guard: Guard) -> Generator[None]:
    """Within, whoever asks this condition in this thread and is not torch itself gets the other
    answer. Threads take turns: see `capture`."""
    symbolic: Any = torch.SymBool
    own = symbolic.__bool__
    thread = get_ident()

    def answer(condition: Any) -> bool:
        asker = sys._getframe(1).f_code.co_filename  # pyright: ignore[reportPrivateUsage]
        of_model = get_ident() == thread and not asker.startswith(TORCH_FOLDER)
        return own(condition) != (of_model and _is_same(condition.node.expr, guard))

    # torch notes who asked and looks past its own file, in which the method it replaces stands.
    answer.__code__ = answer.__code__.replace(co_filename=str(torch.__file__))
    symbolic.__bool__ = answer
    try:
        yield
    finally:
        symbolic.__bool__ = own


def _is_same(condition: Any, guard: Guard) -> bool:
    """torch records the condition or, if it did not hold, the opposite."""
    texts = {str(condition), str(sympy.Not(condition))}
    return not texts.isdisjoint((guard.met_as, str(guard.expression)))


def adds_none(guards: Sequence[Guard], otherwise: Sequence[Guard]) -> bool:
    """Whether the other answer leads to no conditions but those that are known."""
    known = {str(guard.expression) for guard in guards}
    return all(str(guard.expression) in known for guard in otherwise)


def without(guards: Sequence[Guard], gone: Guard) -> list[Guard]:
    return [guard for guard in guards if str(guard.expression) != str(gone.expression)]
