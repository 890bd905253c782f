"""The order of steps: any that respects operands is right, some need less memory.

Two orders are tried. The *greedy* one takes, of the steps that could come next, the one that leaves
the fewest bytes alive. The *neediest first* one computes for each step first the operand that needs
the most memory while little else is there; for trees that is the best there is.

Sizes are symbolic, so orders are compared at the sizes that the axes call likely, or at a moderate
size where they call none. The graph's own order stays unless another one has a lower peak at one of
these bindings and a higher one at none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import accumulate

from anyshape.base.errors import DimError
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Value, topological
from anyshape.ir.opdef import Trait
from anyshape.ops.known import APPEND, KERNEL
from anyshape.sym import Axis, Symbol

MODERATE = 96
"""A size for axes of which nothing is known: beyond a tile, and no power of two."""

Binding = Mapping[Symbol, int]


def ordered_nodes(graph: Graph) -> list[Node]:
    """The nodes of a graph, sources first, in an order that keeps little memory alive."""
    steps = [node for node in graph.nodes() if node.op is KERNEL]
    uses = _Uses.of(graph, steps)
    bindings = typical_bindings(graph)
    sizes = _sizes(uses, bindings[0])
    for order in (list(_greedy(steps, uses, sizes)), _neediest_first(steps, uses, sizes)):
        if _is_better(order, steps, uses, bindings):
            steps = order
    return _with_the_rest(graph, steps)


# --- what an order costs --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Uses:
    """The values that steps make and read, aliases seen through. What is returned never dies."""

    made: Mapping[Node, tuple[Value, ...]]
    read: Mapping[Node, tuple[Value, ...]]
    readers: Mapping[Value, int]
    needed: Mapping[Node, frozenset[Node]]  # the steps that make what a step reads

    @staticmethod
    def of(graph: Graph, steps: Sequence[Node]) -> _Uses:
        results = set(graph.results)
        made = {step: tuple(v for v in step.results if v not in results) for step in steps}
        temporary = {value for values in made.values() for value in values}
        read = {
            step: tuple(dict.fromkeys(r for v in step.operands if (r := _root(v)) in temporary))
            for step in steps
        }
        readers = dict.fromkeys(temporary, 0)
        for values in read.values():
            for value in values:
                readers[value] += 1
        sources = {step: {_root(value).node for value in step.operands} for step in steps}
        needed = {step: frozenset(nodes & made.keys()) for step, nodes in sources.items()}
        return _Uses(made, read, readers, needed)


def _root(value: Value) -> Value:
    """What a step computed; of an `append`, only what is new."""
    while value.node.op.has(Trait.ALIAS) or value.node.op is APPEND:
        value = value.node.operands[-1]
    return value


def _sizes(uses: _Uses, binding: Binding) -> dict[Value, int]:
    return {value: _bytes(value, binding) for value in uses.readers}


def _bytes(value: Value, binding: Binding) -> int:
    tensor = value.tensor
    complete = {**dict.fromkeys(tensor.size.symbols, MODERATE), **binding}
    try:
        return max(0, tensor.size.evaluate(complete)) * tensor.dtype.itemsize
    except DimError:  # what is typical of each axis need not go together
        return 0


def peak(order: Sequence[Node], uses: _Uses, sizes: Mapping[Value, int]) -> int:
    """The most bytes that live at one step."""
    left = dict(uses.readers)
    live = most = 0
    for step in order:
        live += sum(sizes[value] for value in uses.made[step])
        most = max(most, live)
        live -= _freed(step, uses, sizes, left)
        for value in uses.read[step]:
            left[value] -= 1
    return most


def _freed(step: Node, uses: _Uses, sizes: Mapping[Value, int], left: Mapping[Value, int]) -> int:
    """Bytes that nobody needs after the step, those of unused results included."""
    last = sum(sizes[value] for value in uses.read[step] if left[value] == 1)
    return last + sum(sizes[value] for value in uses.made[step] if not uses.readers[value])


def _is_better(
    order: Sequence[Node], given: Sequence[Node], uses: _Uses, bindings: Sequence[Binding]
) -> bool:
    pairs = [
        (peak(order, uses, sizes), peak(given, uses, sizes))
        for sizes in (_sizes(uses, binding) for binding in bindings)
    ]
    return all(new <= old for new, old in pairs) and any(new < old for new, old in pairs)


def typical_bindings(graph: Graph) -> list[Binding]:
    """Bindings at which orders are compared, the most likely one first."""
    axes = graph.facts.axes
    count = max((len(axis.likely) for axis in axes), default=0)
    return [{axis.symbol: _size(axis, number) for axis in axes} for number in range(max(1, count))]


def _size(axis: Axis, number: int) -> int:
    if axis.likely:
        return axis.likely[min(number, len(axis.likely) - 1)]
    size = max(axis.min, MODERATE)
    return size if axis.max is None else min(size, axis.max)


# --- making an order ------------------------------------------------------------------------------


def _greedy(steps: Sequence[Node], uses: _Uses, sizes: Mapping[Value, int]) -> Iterator[Node]:
    """Of the steps that could come next, the one that adds least; of equal ones the first.

    What a step adds only ever falls, when it becomes the last reader of a value. It then stands in
    the heap a second time, in front of where it stood.
    """
    left = dict(uses.readers)
    position = {step: number for number, step in enumerate(steps)}
    missing = {step: len(uses.needed[step]) for step in steps}
    users, readers = _users(steps, uses)
    done: set[Node] = set()

    def entry(step: Node) -> tuple[int, int]:
        return _growth(step, uses, sizes, left), position[step]

    heap = [entry(step) for step in steps if not missing[step]]
    heapify(heap)
    while heap:
        step = steps[heappop(heap)[1]]
        if step in done:
            continue
        yield step
        done.add(step)
        for value in uses.read[step]:
            left[value] -= 1
        for value in uses.read[step]:
            if left[value] == 1:
                last = next(reader for reader in readers[value] if reader not in done)
                if not missing[last]:
                    heappush(heap, entry(last))
        for user in users[step]:
            missing[user] -= 1
            if not missing[user]:
                heappush(heap, entry(user))


def _users(
    steps: Sequence[Node], uses: _Uses
) -> tuple[Mapping[Node, list[Node]], Mapping[Value, list[Node]]]:
    """The steps that need a step, and those that read a value."""
    users: dict[Node, list[Node]] = {step: [] for step in steps}
    readers: dict[Value, list[Node]] = {value: [] for value in uses.readers}
    for step in steps:
        for maker in uses.needed[step]:
            users[maker].append(step)
        for value in uses.read[step]:
            readers[value].append(step)
    return users, readers


def _growth(step: Node, uses: _Uses, sizes: Mapping[Value, int], left: Mapping[Value, int]) -> int:
    """How many bytes more are alive after the step than before it."""
    return sum(sizes[value] for value in uses.made[step]) - _freed(step, uses, sizes, left)


def _neediest_first(steps: Sequence[Node], uses: _Uses, sizes: Mapping[Value, int]) -> list[Node]:
    """Depth first; of the steps that make operands, the one comes first whose peak is furthest
    above what it leaves behind."""
    kept = {step: sum(sizes[value] for value in uses.made[step]) for step in steps}
    place = {step: number for number, step in enumerate(steps)}
    needs: dict[Node, int] = {}
    makers: dict[Node, list[Node]] = {}
    for step in steps:
        own = sorted(uses.needed[step], key=lambda node: (kept[node] - needs[node], place[node]))
        live = accumulate((kept[maker] for maker in own), initial=0)
        peaks = [needs[maker] + before for maker, before in zip(own, live, strict=False)]
        needs[step] = max([*peaks, kept[step] + sum(kept[maker] for maker in own)])
        makers[step] = own
    needed = frozenset[Node]().union(*uses.needed.values())
    return _depth_first([step for step in steps if step not in needed], makers)


def _depth_first(last: Sequence[Node], makers: Mapping[Node, Sequence[Node]]) -> list[Node]:
    """Everything that the last steps need, in the order of `makers`, and then they themselves."""
    return topological(last, lambda step: iter(makers[step]))


def _with_the_rest(graph: Graph, steps: Sequence[Node]) -> list[Node]:
    """All nodes: each before the first step that needs it, the rest at the end."""
    nodes = graph.nodes()
    return topological((*(node for node in nodes if not node.operands), *steps, *nodes))
