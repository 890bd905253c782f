"""Probes guards that may make no difference.

A model's code may ask whether a size is 1 and compute the same either way (`causal = seq > 1 and
mask is None and ...`: a single token has no future). The recorded guard then excludes size 1 for
no reason. The exporter captures such a model again with the opposite answer to that guard: if both
programs are the same graph at size 1, it drops the guard.
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


def guards_against_one(guards: Sequence[Guard]) -> dict[str, Guard]:
    """By symbol, the guard on it alone that excludes its size 1, if there is exactly one."""
    by_symbol: dict[str, dict[str, Guard]] = {}
    for guard in guards:
        symbols = list(guard.expression.free_symbols)
        if len(symbols) == 1 and guard.expression.subs(symbols[0], 1) == sympy.false:
            by_symbol.setdefault(symbols[0].name, {})[str(guard.expression)] = guard
    return {name: next(iter(each.values())) for name, each in by_symbol.items() if len(each) == 1}


@contextmanager
def opposite_answer(guard: Guard) -> Generator[None]:
    """Within, the model's code gets the opposite answer to this guard; torch's own code and other
    threads get the true one. Threads take turns: see `frontend.capturing`."""
    symbolic: Any = torch.SymBool
    own = symbolic.__bool__
    thread = get_ident()

    def answer(condition: Any) -> bool:
        asker = sys._getframe(1).f_code.co_filename  # pyright: ignore[reportPrivateUsage]
        of_model = get_ident() == thread and not asker.startswith(TORCH_FOLDER)
        return own(condition) != (of_model and _is_same(condition.node.expr, guard))

    # torch records who asked and skips frames of its own file, which defines the replaced method.
    answer.__code__ = answer.__code__.replace(co_filename=str(torch.__file__))
    symbolic.__bool__ = answer
    try:
        yield
    finally:
        symbolic.__bool__ = own


def _is_same(condition: Any, guard: Guard) -> bool:
    """torch records the condition, or its negation if it did not hold."""
    texts = {str(condition), str(sympy.Not(condition))}
    return not texts.isdisjoint((guard.met_as, str(guard.expression)))


def adds_no_guard(guards: Sequence[Guard], probed: Sequence[Guard]) -> bool:
    """Whether the opposite answer leads to no guard that is new."""
    known = {str(guard.expression) for guard in guards}
    return all(str(guard.expression) in known for guard in probed)


def without_guard(guards: Sequence[Guard], dropped: Guard) -> list[Guard]:
    return [guard for guard in guards if str(guard.expression) != str(dropped.expression)]
