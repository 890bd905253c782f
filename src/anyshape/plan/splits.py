"""Axes along which calls may be run in parts, if they have less memory than they would take.

Level 1 proves that it can be done (`analysis/separate_parts.py`); whether it is, and in how many
parts, is a question of numbers, which level 2 answers (csrc/core/economy.h). A part is a size of
the axis like any other: what is declared of it holds for parts, too, and an axis is not divided if
a part might break a fact.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Final

from anyshape.analysis.separate_parts import kernels_of_the_whole
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node
from anyshape.ir.opdef import PARAM
from anyshape.ir.rewrite import Decision, Refusal
from anyshape.ir.types import TensorType
from anyshape.passes.donation import Donation
from anyshape.sym import (
    Answer,
    Axis,
    Dim,
    Facts,
    FactScope,
    LessEqual,
    NotEqual,
    Predicate,
    Symbol,
    minimum,
)

PARTS: Final = "parts"

MOST_AXES: Final = 2
"""Axes that are looked at: the first ones of inputs. Few inputs have more than one batch."""


@dataclass(frozen=True, slots=True)
class PlannedSplit:
    """An axis, the least size of a part, and the kernels that are run once, on all of it."""

    axis: Axis
    least: int
    once: frozenset[Node]


def splits_of(
    graph: Graph, donation: Donation
) -> tuple[tuple[PlannedSplit, ...], tuple[Decision, ...]]:
    """The axes, and what was decided about them."""
    splits: list[PlannedSplit] = []
    decisions: list[Decision] = []
    for symbol, param in islice(_first_axes(graph).items(), MOST_AXES):
        split = _split(graph, symbol, donation)
        taken = isinstance(split, PlannedSplit)
        if taken:
            splits.append(split)
        reason = "calls within a memory limit may be run in parts" if taken else str(split)
        decisions.append(Decision(PARTS, taken, f"axis '{symbol}': {reason}", param))
    return tuple(splits), tuple(decisions)


def _first_axes(graph: Graph) -> dict[Symbol, Node]:
    """The first axes of inputs, each with the first input that has it."""
    axes: dict[Symbol, Node] = {}
    for node in graph.nodes():
        type_ = node.types[0] if node.op is PARAM else None
        symbol = type_.shape[0].symbol if isinstance(type_, TensorType) and type_.shape else None
        if symbol is not None:
            axes.setdefault(symbol, node)
    return axes


def _split(graph: Graph, symbol: Symbol, donation: Donation) -> PlannedSplit | Refusal:
    if donation.inputs:
        return Refusal("inputs are donated, and results written over them")
    least = _least(graph.facts, symbol)
    if isinstance(least, Refusal):
        return least
    once = kernels_of_the_whole(graph, symbol)
    if isinstance(once, Refusal):
        return once
    return PlannedSplit(graph.facts.axis(symbol), least, once)


def _least(facts: Facts, symbol: Symbol) -> int | Refusal:
    """The size from which on a part is as declared: kernels may rely on that."""
    axis = facts.axis(symbol)
    if len(axis.ranges) > 1:
        return Refusal("it has several ranges")
    scope, least = FactScope.of(facts), max(1, axis.min)
    for fact in facts.facts:
        if symbol in fact.predicate.symbols:
            needed = _least_for(fact.predicate, symbol, scope)
            if needed is None:
                return Refusal(f"a part may break the fact {fact.predicate}")
            least = max(least, needed)
    return least


def _least_for(predicate: Predicate, symbol: Symbol, scope: FactScope) -> int | None:
    """The size of a part from which on it holds, if it holds of the whole; None if unknown."""
    if isinstance(predicate, NotEqual) and predicate.lhs.symbol is symbol:
        avoided = predicate.rhs.constant
        return None if avoided is None else avoided + 1
    if isinstance(predicate, LessEqual) and predicate.rhs.symbol is symbol:
        return predicate.lhs.constant
    return 1 if _holds_of_parts(predicate, symbol, scope) else None


def _holds_of_parts(predicate: Predicate, symbol: Symbol, scope: FactScope) -> bool:
    """Of every size from 1 on, if it holds of a larger one: a product with the size is not 0, or is
    at most what does not depend on it, or only an empty axis makes a difference."""
    if not isinstance(predicate, NotEqual | LessEqual) or symbol in predicate.rhs.symbols:
        return False
    rest = predicate.lhs.substitute({symbol: Dim.of(1)})
    if predicate.lhs == rest * minimum(symbol, 1):  # says whether there is anything, as of a part
        return True
    if predicate.lhs != rest * Dim.of(symbol):
        return False
    if isinstance(predicate, NotEqual):
        return predicate.rhs == 0
    return scope.proves(LessEqual(Dim.of(0), rest)) is Answer.TRUE
