"""What is over when a step starts, and the greedy order, against their plain definitions."""

import random

import pytest
from tests.unit.plan.random_plans import random_graph

from anyshape.ir.graph import Graph
from anyshape.ir.node import Node
from anyshape.plan import schedule_order as order
from anyshape.plan.lifetimes import StepOrder, lifetimes_of
from anyshape.plan.step_buffers import StepBuffers


def random_waits(seed: int, count: int = 40) -> list[list[int]]:
    rng = random.Random(seed)
    return [sorted(rng.sample(range(step), min(step, rng.randrange(3)))) for step in range(count)]


def steps_before(waits: list[list[int]], window: int) -> list[set[int]]:
    """All that are a window before, what is waited for, and what those waited for."""
    before: list[set[int]] = []
    for step, its_waits in enumerate(waits):
        done = set(range(max(0, step - window + 1)))
        before.append(done.union(its_waits, *(before[wait] for wait in its_waits)))
    return before


@pytest.mark.parametrize("window", [1, 2, 3, 5, 17, 100])
@pytest.mark.parametrize("seed", range(5))
def test_steps_that_are_over(seed: int, window: int) -> None:
    waits = random_waits(seed)
    found, before = StepOrder.of(waits, window), steps_before(waits, window)
    for step in range(len(waits)):
        over = {other for other in range(len(waits)) if found.is_over(other, step)}
        assert over == before[step]


def test_uses_that_are_over() -> None:
    steps = [
        StepBuffers(*buffers) for buffers in (((), (7,)), ((7, 7), ()), ((), (8,)), ((), (9,)))
    ]
    order = StepOrder.of([[], [0], [], [2], [1]], 3)
    lives = lifetimes_of(steps, order, {7: 0, 8: 2, 9: 3})
    assert lives.users == {7: (0, 1), 8: (2,), 9: (3,)}
    assert not lives.is_over(7, 8)  # a window of 3: step 1 may still run when 2 starts
    assert lives.is_over(8, 9)
    assert lives.are_over(7, 1, but=(1,))
    joined = lives.joined({9: 7})
    assert joined.first_and_last(7) == (0, 3)
    assert lives.first_and_last(7) == (0, 1)


def naive_greedy(graph: Graph) -> list[Node]:
    """Looks at all steps that are ready, each time."""
    waiting = [node for node in graph.nodes() if node.op.name == "kernel"]
    uses = order._Uses.of(graph, waiting)
    sizes = order._sizes(uses, order.typical_bindings(graph)[0])
    left, done = dict(uses.readers), list[Node]()
    while waiting:
        ready = [step for step in waiting if uses.needed[step] <= set(done)]
        step = min(ready, key=lambda step: order._growth(step, uses, sizes, left))
        waiting.remove(step)
        done.append(step)
        for value in uses.read[step]:
            left[value] -= 1
    return done


@pytest.mark.parametrize("seed", range(30))
def test_the_greedy_order(seed: int) -> None:
    graph = random_graph(seed)
    steps = [node for node in graph.nodes() if node.op.name == "kernel"]
    uses = order._Uses.of(graph, steps)
    sizes = order._sizes(uses, order.typical_bindings(graph)[0])
    assert list(order._greedy(steps, uses, sizes)) == naive_greedy(graph)
