"""Matching a pattern against a value.

The answer is a `Match`, or a `Refusal` that says why not. Matching keeps a list of goals (pattern,
value) and tries the alternatives of the first: a commutative op has two. When one leads nowhere,
captures made on the way are forgotten with it, because states are values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import assert_never, cast

import numpy as np

from anyshape.ir.attrs import AttrValue, items
from anyshape.ir.literal import TensorLiteral, WeightRef, WeightStore
from anyshape.ir.node import Node, Value
from anyshape.ir.opdef import Trait
from anyshape.ir.rewrite.decision import Refusal
from anyshape.ir.rewrite.pattern import AttrCapture, Bound, Const, OpPattern, Pattern, Var
from anyshape.ir.types import Array, TensorType
from anyshape.ir.verify import provably_same
from anyshape.sym import Answer, Dim, FactScope, Predicate


@dataclass(frozen=True)
class Match:
    """Where a pattern was found, what it captured, and the facts that hold there."""

    root: Value
    values: Mapping[str, Value]
    attrs: Mapping[str, AttrValue]
    scope: FactScope
    weights: WeightStore

    def __getitem__(self, name: str) -> Value:
        return self.values[name]

    def ints(self, name: str) -> tuple[int, ...]:
        """A captured attribute that is a list of integers."""
        return cast(tuple[int, ...], self.attrs[name])

    def dims(self, name: str) -> tuple[Dim, ...]:
        """A captured attribute that is a list of dims."""
        return cast(tuple[Dim, ...], self.attrs[name])

    def proves(self, predicate: Predicate) -> bool:
        return self.scope.proves(predicate) is Answer.TRUE

    def same_type(self, left: Value, right: Value) -> bool:
        """Whether the facts prove both types to mean the same."""
        return provably_same(self.scope, [left.type], [right.type])


def match(
    pattern: Pattern, value: Value, scope: FactScope, weights: WeightStore
) -> Match | Refusal:
    """Captures that make `pattern` describe `value`, or why there are none."""
    solved = _solve(_State({}, {}, ((pattern, value),)), weights)
    if isinstance(solved, Refusal):
        return solved
    return Match(value, solved.values, solved.attrs, scope, weights)


def may_match(pattern: OpPattern, value: Value) -> bool:
    """A look at the ops next to the root, before a search: most rules match nowhere."""
    if pattern.operands is None:
        return True
    operands = value.node.operands
    if value.node.op.has(Trait.COMMUTATIVE) and not pattern.ordered:
        return all(any(_may_be(part, x) for x in operands) for part in pattern.operands)
    return all(_may_be(part, x) for part, x in zip(pattern.operands, operands, strict=False))


def _may_be(pattern: Pattern, value: Value) -> bool:
    op = value.node.op.name
    match pattern:
        case OpPattern():
            return op == pattern.op
        case Const():
            return op == "constant" or op in _REARRANGING
        case Bound():
            return _may_be(pattern.pattern, value)
        case Var():
            return True
        case _:
            assert_never(pattern)


# --- the search -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _State:
    values: Mapping[str, Value]
    attrs: Mapping[str, AttrValue]
    goals: tuple[tuple[Pattern, Value], ...]

    def captured(self, name: str, value: Value) -> _State | Refusal:
        """With `name` standing for `value`, unless it stands for another one."""
        if self.values.get(name, value) != value:
            return Refusal(f"'{name}' would be two different values")
        return _State({**self.values, name: value}, self.attrs, self.goals)


def _solve(state: _State, weights: WeightStore) -> _State | Refusal:
    """Depth first; the reason of the first alternative is the one reported."""
    if not state.goals:
        return state
    (pattern, value), *rest = state.goals
    refusal: Refusal | None = None
    others = _State(state.values, state.attrs, tuple(rest))
    for option in _alternatives(pattern, value, others, weights):
        solved = option if isinstance(option, Refusal) else _solve(option, weights)
        if not isinstance(solved, Refusal):
            return solved
        refusal = refusal or solved
    assert refusal is not None, "every goal has an alternative"
    return refusal


def _alternatives(
    pattern: Pattern, value: Value, state: _State, weights: WeightStore
) -> Iterator[_State | Refusal]:
    match pattern:
        case Var():
            yield _match_var(pattern, value, state)
        case Const():
            found = is_splat(value, pattern.number, weights)
            # Not the node's types: most patterns refuse, and few of their words are ever read.
            yield state if found else Refusal(f"{value.node.op.name} is not a constant {pattern}")
        case Bound():
            captured = state.captured(pattern.name, value)
            yield captured if isinstance(captured, Refusal) else _push(captured, pattern, value)
        case OpPattern():
            yield from _match_op(pattern, value, state)
        case _:
            assert_never(pattern)


def _push(state: _State, bound: Bound, value: Value) -> _State:
    return _State(state.values, state.attrs, ((bound.pattern, value), *state.goals))


def _match_var(pattern: Var, value: Value, state: _State) -> _State | Refusal:
    if pattern.dtypes:
        dtype = value.type.dtype if isinstance(value.type, TensorType) else None
        if dtype not in pattern.dtypes:
            return Refusal(
                f"'{pattern}' is {value.type}, not {' or '.join(map(str, pattern.dtypes))}"
            )
    if pattern.where is not None and not pattern.where(value):
        return Refusal(f"'{pattern}' does not satisfy {pattern.where.__name__}")
    return state.captured(pattern.name, value)


def _match_op(pattern: OpPattern, value: Value, state: _State) -> Iterator[_State | Refusal]:
    node = value.node
    if node.op.name != pattern.op:
        yield Refusal(f"{node.op.name} is not {pattern.op}")
    elif pattern.index not in (None, value.index):
        yield Refusal(f"it is result {value.index} of {pattern.op}, not {pattern.index}")
    elif pattern.operands is not None and len(pattern.operands) != len(node.operands):
        yield Refusal(
            f"{pattern.op} has {len(node.operands)} operands, not {len(pattern.operands)}"
        )
    else:
        attrs = _match_attrs(pattern, node, state)
        if isinstance(attrs, Refusal):
            yield attrs
        else:
            yield from _operand_orders(pattern, node, _State(state.values, attrs, state.goals))


def _match_attrs(
    pattern: OpPattern, node: Node, state: _State
) -> Mapping[str, AttrValue] | Refusal:
    captured = dict(state.attrs)
    actual = dict(items(node.attrs))
    for name, wanted in pattern.attrs:
        found = actual[name]
        expected = captured.get(wanted.name, found) if isinstance(wanted, AttrCapture) else wanted
        if found != expected:
            return Refusal(f"{name} of {pattern.op} is {found}, not {expected}")
        if isinstance(wanted, AttrCapture):
            captured[wanted.name] = found
    return captured


def _operand_orders(pattern: OpPattern, node: Node, state: _State) -> Iterator[_State]:
    if pattern.operands is None:
        yield state
        return
    orders = [node.operands]
    if node.op.has(Trait.COMMUTATIVE) and not pattern.ordered:
        orders.append(node.operands[::-1])
    for operands in orders:
        goals = tuple(zip(pattern.operands, operands, strict=True))
        yield _State(state.values, state.attrs, (*goals, *state.goals))


# --- constants ------------------------------------------------------------------------------------

_REARRANGING = frozenset({"broadcast", "reshape"})
"""Ops that leave a constant with equal elements a constant with those elements."""


def constant_array(value: Value, weights: WeightStore) -> Array | None:
    """The content of a constant; None for anything else."""
    content = getattr(value.node.attrs, "value", None)
    if isinstance(content, TensorLiteral):
        return content.array
    return weights.array(content) if isinstance(content, WeightRef) else None


def is_splat(value: Value, number: float, weights: WeightStore) -> bool:
    """Whether all elements are `number`, bit for bit; an empty constant is nothing's splat."""
    while value.node.op.name in _REARRANGING:
        (value,) = value.node.operands
    array = constant_array(value, weights)
    if array is None or array.size == 0:
        return False
    # The first element decides almost always, so large weights are seldom read whole.
    bits = array.reshape(-1).view(f"u{array.dtype.itemsize}")
    return _is_number(array.reshape(-1)[:1], number) and bool((bits == bits[0]).all())


def _is_number(element: Array, number: float) -> bool:
    if element.dtype.kind in "iub":
        return bool(element[0] == number)
    return np.array([number]).astype(element.dtype).tobytes() == element.tobytes()
