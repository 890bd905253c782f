"""A graph: a region with names, and what travels along with it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from anyshape.ir.checks import ValueCheck
from anyshape.ir.literal import WeightStore
from anyshape.ir.node import Locations, Node, Region, Value
from anyshape.ir.text.printer import graph_text
from anyshape.ir.types import TensorType
from anyshape.sym import Axis, Facts, Predicate


@dataclass(frozen=True, slots=True)
class Declared:
    """What callers know of a graph whose sizes have been refined since: inputs with their axes, and
    facts. They are what a call is bound and checked by, and what its errors speak of.

    `implied` follows from them: predicates of the body that need no check of their own.
    """

    inputs: tuple[tuple[str, TensorType], ...]
    facts: Facts
    implied: frozenset[Predicate]


@dataclass(frozen=True, slots=True)
class Graph:
    """Named inputs and a closed body. Weights, locations, `checks` and what was `declared` before
    sizes were refined are outside identity.

    If there are checks, the last result is the offence that they found (`ir/checks.py`).
    """

    name: str
    inputs: tuple[str, ...]
    body: Region
    weights: WeightStore = field(default_factory=WeightStore, compare=False, repr=False)
    locations: Locations = field(default_factory=Locations, compare=False, repr=False)
    checks: tuple[ValueCheck, ...] = field(default=(), compare=False, repr=False)
    declared: Declared | None = field(default=None, compare=False, repr=False)

    @property
    def facts(self) -> Facts:
        return self.body.facts

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The declared axes."""
        return self.facts.axes

    @property
    def results(self) -> tuple[Value, ...]:
        return self.body.results

    def nodes(self) -> list[Node]:
        """Operands before users, parameters included."""
        return self.body.nodes()

    def with_body(self, body: Region) -> Graph:
        """The same names around another body: what a pass returns."""
        return replace(self, body=body)

    def without_checks(self) -> Graph:
        """The same graph with the results of its caller only."""
        if not self.checks:
            return self
        body = replace(self.body, results=self.body.results[:-1])
        return replace(self, body=body, checks=())

    def as_text(self) -> str:
        """Axes, facts and nodes; `anyshape.ir.parse` gives the identical graph back."""
        return graph_text(self.name, self.inputs, self.body)

    def __deepcopy__(self, memo: object) -> Graph:
        """Itself: nothing of it changes, and weights are named by their content."""
        return self

    def __str__(self) -> str:
        return self.as_text()
