"""BindingPlan against the sizes that the shapes were made from."""

import random

import pytest

from anyshape.base.errors import AnyshapeError, ShapeError, UnboundAxisError
from anyshape.sym import BindingPlan, Dim, Facts, Symbol

SYMBOLS = tuple(map(Symbol, "abc"))


def draw_dim(rng: random.Random) -> Dim:
    kind = rng.random()
    if kind < 0.4:
        return Dim.of(rng.choice(SYMBOLS))
    if kind < 0.5:
        return Dim.of(rng.randint(0, 5))
    one, other = (Dim.of(rng.choice(SYMBOLS)) for _ in range(2))
    return rng.choice(
        (rng.randint(1, 3) * one + rng.randint(0, 3), one + other, one * other, one // 2 + other)
    )


def test_solved_sizes_explain_the_shapes() -> None:
    rng = random.Random(1)
    solved = 0
    for _ in range(600):
        inputs = [
            (f"input '{i}'", tuple(draw_dim(rng) for _ in range(rng.randint(0, 3))))
            for i in range(3)
        ]
        try:
            plan = BindingPlan.make(inputs, Facts(), frozenset())
        except UnboundAxisError:
            continue
        sizes = {symbol: rng.choice((0, 1, 2, 5, 8)) for symbol in SYMBOLS}
        shapes = [tuple(dim.evaluate(sizes) for dim in dims) for _, dims in inputs]
        binding = plan.solve(shapes)
        assert all(sizes[symbol] == size for symbol, size in binding.items())
        solved += 1
        _check_changed(rng, plan, inputs, shapes)
    assert solved > 200


def _check_changed(
    rng: random.Random,
    plan: BindingPlan,
    inputs: list[tuple[str, tuple[Dim, ...]]],
    shapes: list[tuple[int, ...]],
) -> None:
    """A changed size is either explained by other sizes of the axes, or refused by name."""
    changed = [tuple(size + rng.choice((0, 0, 1, 3)) for size in shape) for shape in shapes]
    try:
        binding = plan.solve(changed)
    except ShapeError:
        return
    assert changed == [tuple(dim.evaluate(binding) for dim in dims) for _, dims in inputs]


def test_wrong_ranks_are_refused() -> None:
    plan = BindingPlan.make([("input 'x'", (Dim.of("a"),))], Facts(), frozenset())
    for shape in ((), (1, 2)):
        with pytest.raises(AnyshapeError, match="expected rank 1"):
            plan.solve([shape])
