"""Every canonicalization law, evaluated before and after on data that breaks false laws."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.passes.instances import FAMILIES, INSTANCES, NAMED, Instance, with_number
from tests.unit.passes.sampling import Draw, same_bits

from anyshape.ir.interpret import evaluate
from anyshape.ir.rewrite import DecisionLog, Rule, RuleSet, Var, rewrite
from anyshape.ir.types import FLOATS
from anyshape.ir.verify import verify
from anyshape.passes.rules import CANONICAL

x = Var("x")

BY_NAME = {rule.name: rule for rule in CANONICAL}


def test_every_rule_has_an_instance():
    missing = [name for name, instance in INSTANCES.items() if instance is None]
    assert not missing, f"write a generator in instances.py for {missing}"


def test_every_instance_has_a_rule():
    assert set(NAMED) <= set(BY_NAME)
    assert all(any(name.endswith(suffix) for name in BY_NAME) for suffix in FAMILIES)


def test_names_are_unique():
    assert len(BY_NAME) == len(CANONICAL)


@pytest.mark.parametrize("name", sorted(BY_NAME))
@settings(max_examples=25, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32))
def test_law_holds_bit_for_bit(name: str, seed: int):
    instance = INSTANCES[name]
    assert instance is not None
    assert holds(BY_NAME[name], seed, instance)


FALSE_LAWS = [
    (Rule("sub-zero", "x + 0.0 -> x", x + 0, x), "add", 0.0),
    (Rule("mul-zero", "x * 0.0 -> x - x", x * 0, x - x), "mul", 0.0),
    (Rule("sub-negative-zero", "x - -0.0 -> x", x - -0.0, x), "sub", -0.0),
]


@pytest.mark.parametrize(("rule", "name", "number"), FALSE_LAWS, ids=lambda item: str(item)[:20])
def test_the_data_breaks_false_laws(rule: Rule, name: str, number: float):
    """What these tests are worth: laws that fail on -0.0 or NaN only are found out."""
    instance = partial(with_number, name, number, FLOATS)
    assert not all(holds(rule, seed, instance) for seed in range(50))


def holds(rule: Rule, seed: int, instance: Instance) -> bool:
    """Whether the results before and after are the same; the rule must have been applied."""
    draw = Draw(seed)
    before = verify(draw.graph(instance(draw)))
    log = DecisionLog()
    after = verify(rewrite(before, RuleSet.of([rule]), log))
    assert any(decision.taken for decision in log.take()), f"{rule} did not fire on\n{before}"
    inputs = draw.inputs(before)
    pairs = zip(evaluate(before, *inputs), evaluate(after, *inputs), strict=True)
    return all(same_bits(old, new) for old, new in pairs)
