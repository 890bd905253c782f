"""Every question that a model's Python code asks about sizes while torch traces it.

torch answers with the sizes of the example, and what it records depends on the answer:

    if seq % 2:            truth of seq % 2 != 0
    int(seq * 0.5)         the number that trunc(seq * 0.5) is
    f"{seq}"               the number that seq is

torch keeps some of them as guards, not all: what ranges or earlier guards decide it does not, nor
what it prints. So they are noted here, where they are asked, with the line. Truths that ops ask for
themselves do not count (see `askers`).

A size of torch is a positive symbol, for which torch takes `n == 0` as False without asking. While
questions are recorded, sizes may be 0.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from threading import get_ident
from typing import Any
from unittest.mock import patch

import sympy as typed_sympy  # pyright: ignore[reportMissingTypeStubs]  torch brings it
import torch
from torch.fx.experimental import symbolic_shapes

from anyshape.base.location import Location
from anyshape.frontend.torch_export.askers import (
    asking_frame,
    location_in_model,
    taking_frame,
    writes_result,
)
from anyshape.frontend.torch_export.data_assertions import asserted
from anyshape.frontend.torch_export.fixing_ops import FixingOp, fixing_op
from anyshape.frontend.torch_export.guards import Guard
from anyshape.frontend.torch_export.idle_answers import (
    asks_whether_to_copy,
    is_false_anyway,
    size_or_zero,
)
from anyshape.frontend.torch_export.number_types import number_classes
from anyshape.frontend.torch_export.size_intervals import holds_at


class SizeTakenError(Exception):
    """A size itself is taken as a number, where it must stay one for all numbers."""

    def __init__(self, size: int, location: Location) -> None:
        super().__init__(size, location)
        self.size = size
        self.location = location


sympy: Any = typed_sympy
DUCK, DYNAMIC = symbolic_shapes.DimDynamic.DUCK, symbolic_shapes.DimDynamic.DYNAMIC


@dataclass(frozen=True)
class Questions:
    """What was asked, and where a size turned out to be one number."""

    asked: dict[str, Guard] = field(default_factory=dict[str, Guard])  # by the text of the answer
    fixed_at: dict[str, FixingOp] = field(default_factory=dict[str, FixingOp])  # by symbol
    chosen: set[str] = field(default_factory=set[str])  # of these, by a truth that the model asked
    taken: list[SizeTakenError] = field(default_factory=lambda: [])
    sizes: dict[str, int] = field(default_factory=dict[str, int])  # the example's, by symbol

    def fixed_in(self, symbol: str) -> Location | None:
        """The line that made a symbol a number."""
        op = self.fixed_at.get(symbol)
        return None if op is None else op.location

    @property
    def guards(self) -> list[Guard]:
        return list(self.asked.values())

    def forget_all_but(self, asked: Mapping[str, Guard]) -> None:
        """As if no more had been asked."""
        for text in self.asked.keys() - asked.keys():
            del self.asked[text]


@contextmanager
def recorded_questions(
    questions: Questions,
    *,
    named: bool,
    shared: bool = False,
    empty: bool = True,
    as_at_one: str | None = None,
) -> Generator[Questions]:
    """Within, notes what is asked in this thread. It is an error to take the size of a `named` axis
    as a number. Equal sizes are one axis if they are `shared`. Sizes may be 0 unless not `empty`:
    then that is one of the conditions. Who compares the symbol `as_at_one`
    with a number gets the answer for size 1."""
    with ExitStack() as stack:
        replacements = [
            _answers(questions, named, as_at_one),
            _symbols(questions, empty),
            *_texts(),
            *number_classes(),
        ]
        for replacement in (*replacements, *([_shared_symbols()] if shared else [])):
            stack.enter_context(replacement)
        yield questions
        if questions.taken:  # the model's code may have caught it
            raise questions.taken[0]


def _answers(questions: Questions, named: bool, as_at_one: str | None) -> Any:
    environment: Any = symbolic_shapes.ShapeEnv
    own, thread = environment.evaluate_sym_node, get_ident()

    def evaluate(self: Any, node: Any, *args: Any, **kwargs: Any) -> Any:
        if get_ident() != thread or not node._expr.free_symbols:
            return own(self, node, *args, **kwargs)
        known, expression = len(self.replacements), node.expr
        try:
            answer = own(self, node, *args, **kwargs)
        except Exception as error:
            claimed = asserted(error, node, asking_frame())
            if claimed is None:
                raise
            return claimed
        frame = asking_frame() if node.pytype is bool else taking_frame(expression)
        if len(self.replacements) != known:
            chooses = frame is not None and node.pytype is bool
            _note_fixed(questions, self.replacements, chooses=chooses)
            if named and node.pytype is int and node._expr.is_Symbol:
                questions.taken.append(SizeTakenError(int(answer), _asked_at()))
                raise questions.taken[-1]
        if frame is None or is_false_anyway(frame) or asks_whether_to_copy(frame):
            return answer
        guard = _guard(node, answer, frame)
        questions.asked.setdefault(str(guard.expression), guard)
        _note_sizes(questions, node._expr.free_symbols, self.backed_var_to_val)
        if as_at_one is None or not guard.compares(as_at_one) or node.pytype is not bool:
            return answer
        return holds_at(node._expr, dict.fromkeys(node._expr.free_symbols, 1))

    return patch.object(environment, "evaluate_sym_node", evaluate)


def _asked_at() -> Location:
    return location_in_model(sys._getframe(2))  # pyright: ignore[reportPrivateUsage]


def _note_sizes(questions: Questions, symbols: Any, known: Mapping[Any, Any]) -> None:
    for symbol in symbols:
        if symbol.name not in questions.sizes and symbol in known:
            questions.sizes[symbol.name] = int(known[symbol])


def _note_fixed(questions: Questions, replacements: Mapping[Any, Any], *, chooses: bool) -> None:
    fixed = [symbol.name for symbol, value in replacements.items() if value.is_number]
    new = [name for name in fixed if name not in questions.fixed_at]
    if new:
        questions.fixed_at.update(dict.fromkeys(new, fixing_op()))
        questions.chosen.update(new if chooses else ())


def _guard(node: Any, answer: Any, frame: Any) -> Guard:
    """What held when it was asked. That there is nothing at all is no case of its own where only
    the size is wanted: it is rare, and most models ask."""
    expression, location = node._expr, location_in_model(frame)
    size = size_or_zero(frame)
    if size is not None and isinstance(expression, sympy.Eq) and expression.rhs == 0:
        return Guard(_unless_zero(expression, size), location, str(expression))
    if node.pytype is not bool:
        held = sympy.Eq(expression, answer, evaluate=False)
        return Guard(held, location, str(expression))
    held = expression if bool(answer) else sympy.Not(expression)
    return Guard(held, location, str(expression), chooses=True)


def _unless_zero(expression: Any, size: Any) -> Any:
    """`a * b == 0` does not hold where b may be 0: a is not."""
    rest = expression.lhs / size
    return sympy.Not(expression) if size in rest.free_symbols else sympy.Ne(rest, 0)


def _symbols(questions: Questions, empty: bool) -> Any:
    """Sizes that may be 0, or of which it is noted that they may not."""
    functions: Any = symbolic_shapes
    own = functions.make_symbol

    def make_symbol(prefix: Any, number: int, **assumptions: Any) -> Any:
        is_size = assumptions.get("positive") and assumptions.get("integer")
        if is_size and empty:
            assumptions = {**assumptions, "positive": None, "nonnegative": True}
        symbol = own(prefix, number, **assumptions)
        if is_size and not empty:
            condition = sympy.Ge(symbol, 1, evaluate=False)
            questions.asked[str(condition)] = Guard(condition, None, str(condition))
        return symbol

    return patch.object(functions, "make_symbol", make_symbol)


def _shared_symbols() -> Any:
    """One symbol for equal sizes: the example has the same size only where an axis is the same."""
    environment: Any = symbolic_shapes.ShapeEnv
    own = environment.create_symbol

    def create_symbol(self: Any, size: Any, source: Any, *rest: Any, **others: Any) -> Any:
        kinds = [DUCK if item is DYNAMIC else item for item in rest]
        constrained = len(kinds) > 1 and kinds[1] is not None
        return own(self, size, source, *(rest if constrained else kinds), **others)

    return patch.object(environment, "create_symbol", create_symbol)


def _texts() -> list[Any]:
    """Sizes as text are numbers, as in eager mode, where the model's code writes them."""
    return [_text(kind, name) for kind in (torch.SymInt, torch.SymFloat) for name in _TEXTS]


_TEXTS = ("__repr__", "__str__", "__format__")


def _text(kind: Any, name: str) -> Any:
    own, thread = getattr(kind, name), get_ident()

    def text(self: Any, *spec: Any) -> str:
        asker = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        if get_ident() != thread or not writes_result(asker):
            return own(self, *spec)
        number = int(self) if kind is torch.SymInt else float(self)
        return getattr(number, name)(*spec)

    # torch looks for the frame that asks outside of its own file, which defines these methods.
    text.__code__ = text.__code__.replace(co_filename=str(torch.__file__))
    return patch.object(kind, name, text, create=True)
