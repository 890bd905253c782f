"""A call whose sizes break what a model needs is told the rule of one axis, not algebra."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from tests.errors.messages import line_marked, message_of

import anyshape as ash
from anyshape.base.errors import AxisRule, FactViolationError
from anyshape.sym import Symbol, axis_rule, parse_predicate

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns of its own parts


line = partial(line_marked, __file__)


class Blocks(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return x.reshape(x.shape[0], x.shape[1] // 8, 8).sum(-1)  # blocks


class Positions(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Parameter(torch.ones(16, 4))

    def forward(self, x: Any) -> Any:
        return x + self.table[: x.shape[1]]  # positions


@pytest.mark.parametrize("executor", ["native", "reference"])
def test_a_size_that_must_be_a_multiple(executor: Any) -> None:
    axes = {"x": ("b", "s")}
    model = ash.compile(Blocks(), (torch.ones(2, 16),), axes=axes, executor=executor)
    assert message_of(FactViolationError, lambda: model(torch.ones(2, 20))) == (
        "axis 's' must be a multiple of 8, which 20 is not: 'b*s == 8*b*(s//8)' does not hold for "
        "b=2, s=20\n"
        "  it comes from op: reshape: [b, s] and [b, s//8, 8] must have the same size @ "
        f"{line('blocks')}\n"
        "  input 'x' has 2 (axis 0)\n"
        "  input 'x' has 20 (axis 1)\n"
        "fix: pad to 24 or cut to 16, and declare Axis('s', multiple_of=8) to say so in advance"
    )


def test_what_the_fix_declares_is_enough() -> None:
    axes = {"x": ("b", ash.Axis("s", multiple_of=8))}
    model = ash.compile(Blocks(), (torch.ones(2, 16),), axes=axes)
    assert model.executable.source.facts.facts == ()
    assert torch.equal(model(torch.ones(3, 24)), torch.full((3, 3), 8.0))


def test_a_table_that_is_too_short() -> None:
    axes = {"x": ("b", "s", None)}
    model = ash.compile(Positions(), (torch.ones(2, 8, 4),), axes=axes)
    assert message_of(FactViolationError, lambda: model(torch.ones(2, 20, 4))) == (
        "axis 's' must be at most 16, which 20 is not: 'broadcastable(s, min(s, 16))' does not "
        "hold for s=20\n"
        f"  it comes from op: add: operands must broadcast at axis 1 @ {line('positions')}\n"
        "  input 'x' has 20 (axis 1)\n"
        "fix: cut to 16, and declare Axis('s', max=16) to say so in advance"
    )


def rule_of(predicate: str, **sizes: int) -> AxisRule | None:
    return axis_rule(parse_predicate(predicate), {Symbol(n): size for n, size in sizes.items()})


@pytest.mark.parametrize(
    ("predicate", "sizes", "allowed", "declaration"),
    [
        ("(h + 2)//4 >= 3", {"h": 5}, "at least 10", "min=10"),
        ("2*n + 1 <= 9", {"n": 7}, "at most 4", "max=4"),
        ("12*a % 8 == 0", {"a": 3}, "a multiple of 2", "multiple_of=2"),
    ],
)
def test_rules(predicate: str, sizes: dict[str, int], allowed: str, declaration: str) -> None:
    rule = rule_of(predicate, **sizes)
    assert rule is not None
    assert (rule.allowed, rule.declaration) == (allowed, declaration)


@pytest.mark.parametrize(
    ("predicate", "sizes"),
    [
        ("2 <= n", {"n": 1}),  # reads well as it is
        ("a == b + 1", {"a": 3, "b": 3}),  # no axis alone
        ("n % 2 + n // 9 == 1", {"n": 4}),  # no range, and multiples of nothing
        ("a // b <= 4", {"a": 3, "b": 0}),
        ("5*n <= 5000", {"n": 10_000_000}),  # too far for trying
    ],
)
def test_facts_without_a_rule(predicate: str, sizes: dict[str, int]) -> None:
    assert rule_of(predicate, **sizes) is None
