"""Likely sizes: those that calls have had, and a graph whose axes say so.

What calls have had is read from the bindings whose specializations are kept. So a call does nothing
for it, and it is bounded as these are.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from anyshape.base.errors import OptionError
from anyshape.ir.graph import Graph
from anyshape.ir.inputs import tensor_inputs
from anyshape.sym import Axis, Origin

MOST = 8
"""So many sizes of an axis are called likely."""


class ObservedSizes(dict[str, tuple[int, ...]]):
    """Sizes that calls have had, by axis, the most frequent first.

    As `likely=` of a compile they do what sizes do that a user calls likely; the graph's axes say
    where they come from. They are kept as text between processes.
    """

    def as_json(self) -> str:
        return json.dumps(self)

    @staticmethod
    def from_json(text: str) -> ObservedSizes:
        """What `as_json` gave; anything else is refused."""
        try:
            given: object = json.loads(text)
        except ValueError:
            given = None
        if not isinstance(given, dict):
            raise _no_sizes(text)
        sizes = ObservedSizes()
        for axis, listed in cast(dict[str, object], given).items():
            if not isinstance(listed, list) or not all(map(_is_size, cast(list[object], listed))):
                raise _no_sizes(text)
            sizes[axis] = tuple(cast(list[int], listed))
        return sizes


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _no_sizes(text: str) -> OptionError:
    return OptionError("observed sizes", text, 'lists of sizes by axis, {"seq": [128, 256]}')


def likely_sizes(bindings: Sequence[Mapping[str, int]]) -> ObservedSizes:
    """For each axis the sizes that most of the bindings have; of equally many, the earlier ones."""
    counts: dict[str, Counter[int]] = {}
    for binding in bindings:
        for axis, size in binding.items():
            counts.setdefault(axis, Counter())[size] += 1
    most = {axis: sizes.most_common(MOST) for axis, sizes in counts.items()}
    return ObservedSizes({axis: tuple(s for s, _ in sizes) for axis, sizes in most.items()})


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
    origin = Origin.OBSERVED if isinstance(likely, ObservedSizes) else Origin.USER
    new = (
        _liked(axis, likely[name], origin) if name in likely else axis
        for name, axis in known.items()
    )
    return graph.with_body(replace(graph.body, facts=replace(facts, axes=tuple(new))))


def _liked(axis: Axis, sizes: Sequence[int], origin: Origin) -> Axis:
    return replace(axis, likely=tuple(sizes), likely_from=origin)
