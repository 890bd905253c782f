"""The order of nodes, and what makes a graph none: cycles, undefined names."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from onnx import AttributeProto

from anyshape.base.errors import InvalidModelError


def nodes_within(nodes: Sequence[Any]) -> Iterator[Any]:
    """The nodes, and those of the bodies inside them."""
    stack = [*reversed(nodes)]
    while stack:
        node = stack.pop()
        yield node
        for graph in _bodies(node):
            stack.extend(reversed(graph.node))


def _bodies(node: Any) -> Iterator[Any]:
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.g
        yield from attribute.graphs


def in_order(nodes: Sequence[Any], known: set[str], model: str) -> Iterator[Any]:
    """The nodes, each after those that it reads from; usually they come so."""
    made = set(known)
    makers = {name: number for number, node in enumerate(nodes) for name in node.output if name}
    if _is_ordered(nodes, made):
        yield from nodes
        return
    yield from _sorted(nodes, makers, known, model)


def _is_ordered(nodes: Sequence[Any], made: set[str]) -> bool:
    for node in nodes:
        if not reads_of(node) <= made:
            return False
        made.update(node.output)
    return True


def reads_of(node: Any) -> set[str]:
    """The names that a node reads, by itself or in its bodies."""
    names = {name for name in node.input if name}
    for graph in _bodies(node):
        names |= _read_outside(graph)
    return names


def _read_outside(graph: Any) -> set[str]:
    own = {each.name for each in (*graph.input, *graph.initializer)}
    own.update(name for node in graph.node for name in node.output)
    read = {each.name for each in graph.output}
    for node in graph.node:
        read |= reads_of(node)
    return read - own


def _sorted(
    nodes: Sequence[Any], makers: dict[str, int], known: set[str], model: str
) -> Iterator[Any]:
    needs: list[set[int]] = []
    readers: dict[int, list[int]] = {}
    for number, node in enumerate(nodes):
        names = reads_of(node) - known
        if missing := sorted(names - makers.keys()):
            problem = f"node {number} ({node.op_type}) reads '{missing[0]}', which nothing gives"
            raise InvalidModelError(model, problem, "export the model again")
        needs.append({makers[name] for name in names})
        for maker in needs[-1]:
            readers.setdefault(maker, []).append(number)
    ready = deque(number for number, makers_ in enumerate(needs) if not makers_)
    done = 0
    while ready:
        number = ready.popleft()
        done += 1
        yield nodes[number]
        for reader in readers.get(number, ()):
            needs[reader].discard(number)
            if not needs[reader]:
                ready.append(reader)
    if done < len(nodes):
        raise InvalidModelError(model, "has a cycle of nodes", "export the model again")
