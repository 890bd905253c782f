"""Likely sizes: those that calls have had, and a graph whose axes say so.

What calls have had is read from the bindings whose specializations are kept. So a call does nothing
for it, and it is bounded as these are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from anyshape.base.errors import OptionError
from anyshape.ir.graph import Graph
from anyshape.ir.inputs import tensor_inputs
from anyshape.sym import Axis

MOST = 8
"""So many sizes of an axis are called likely."""


def likely_sizes(bindings: Sequence[Mapping[str, int]]) -> dict[str, tuple[int, ...]]:
    """For each axis the sizes that most of the bindings have; of equally many, the earlier ones."""
    counts: dict[str, Counter[int]] = {}
    for binding in bindings:
        for axis, size in binding.items():
            counts.setdefault(axis, Counter())[size] += 1
    return {axis: tuple(s for s, _ in sizes.most_common(MOST)) for axis, sizes in counts.items()}


def with_likely(graph: Graph, likely: Mapping[str, Sequence[int]]) -> Graph:
    """The graph with other likely sizes; an axis that no input has is refused."""
    if not likely:
        return graph
    facts = graph.facts
    symbols = {s for _, type_ in tensor_inputs(graph) for s in type_.symbols}
    known = {axis.name: axis for axis in facts.axes}
    known.update((s.name, Axis(s.name)) for s in symbols if s.name not in known)
    for name in likely:
        if name not in known:
            axes = ", ".join(sorted(known)) or "it has none"
            raise OptionError("likely", name, f"an axis of '{graph.name}': {axes}")
    new = (_liked(axis, likely[name]) if name in likely else axis for name, axis in known.items())
    return graph.with_body(replace(graph.body, facts=replace(facts, axes=tuple(new))))


def _liked(axis: Axis, sizes: Sequence[int]) -> Axis:
    return Axis(
        axis.name,
        multiple_of=axis.multiple_of,
        likely=tuple(sizes),
        ranges=axis.ranges,
        broadcasts=axis.broadcasts,
    )
