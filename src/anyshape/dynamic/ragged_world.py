"""The world of tokens: how sizes and values of a padded graph are expressed in the ragged one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anyshape.base.errors import RaggedModelError
from anyshape.base.location import Location
from anyshape.dynamic.ragged_places import Count, Free, Place, Rows, Tokens
from anyshape.frontend.builder.checks import check_values
from anyshape.frontend.builder.convert import asarray, cast_to
from anyshape.frontend.builder.ragged import segment_positions
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import Tracer
from anyshape.ir.attrs import map_dims
from anyshape.ir.build import Builder
from anyshape.ir.checks import ValueCheck
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Value
from anyshape.ir.types import Shape
from anyshape.sym import Axis, Dim, FactScope, Origin, Symbol, minimum


class World:
    """The ragged graph as far as it is made, and what its rules share."""

    def __init__(self, graph: Graph, seq: Symbol, over: Symbol, mask: str) -> None:
        self.graph, self.seq, self.over, self.mask = graph, seq, over, mask
        self.total = Dim.of(seq)  # of the ragged graph: all tokens
        self.location: Location | None = None
        self.places: dict[Value, Place] = {}
        scope = self._scope()
        builder = Builder(scope, graph.weights)
        names = frozenset(axis.name for axis in graph.axes)
        self.tracer = Tracer(graph.name, builder, Tensor, axes=names, locate=lambda: self.location)
        self.checked: set[Dim] = set()  # no sequence is longer than each of these
        self.known_offsets: Tensor | None = None

    def _scope(self) -> FactScope:
        """What was known of other axes; the packed one is new, whatever its name."""
        scope = FactScope()
        for axis in self.graph.axes:
            scope.declare(Axis(axis.name) if axis.symbol == self.seq else axis)
        for fact in self.graph.facts.facts:
            if self.seq not in fact.predicate.symbols:
                scope.assume_fact(fact)
            elif fact.origin is Origin.USER:
                raise self.refusal(
                    f"'{fact.predicate}' speaks of the padded length", "leave it out of `where`"
                )
        return scope

    def refusal(self, problem: str, fix: str = "compile it without ragged=") -> RaggedModelError:
        return RaggedModelError(self.graph.name, problem, fix, self.location)

    def _unknown(self, node: Node) -> RaggedModelError:
        return self.refusal(f"no rule says that {node.op.name} leaves tokens what they are")

    def _depends(self, dims: Sequence[Dim]) -> bool:
        return any({self.seq, self.over} & dim.symbols for dim in dims)

    def _is_length(self, dim: Dim) -> bool:
        """The padded length, or as much of it as a table has."""
        if dim.symbol == self.seq:
            return True
        return any(dim == minimum(Dim.of(self.seq), most) for most in self.checked)

    def _packed(self, dim: Dim) -> Dim:
        """A size of the padded graph in the world of tokens."""
        if self._is_length(dim):
            return self.total
        if dim.symbol == self.over:
            return Dim.of(1)
        if self._depends((dim,)):
            raise self.refusal(f"the size {dim} depends on the padded length")
        return dim

    def _axes_of(self, shape: Shape) -> tuple[list[int], list[int]]:
        """Which axes are the batch, and which the padded length."""
        batch = [i for i, dim in enumerate(shape) if dim.symbol == self.over]
        return batch, [i for i, dim in enumerate(shape) if self._is_length(dim)]

    @property
    def offsets(self) -> Tensor:
        assert self.known_offsets is not None, "inputs come first"
        return self.known_offsets

    @property
    def positions(self) -> Tensor:
        return segment_positions(self.offsets, self.total)

    def _check_length(self, most: Dim, op: str) -> None:
        """No sequence is longer than a table that it is read by."""
        check = ValueCheck("index", op, self.location, (self.total,))
        check_values(self.positions, most, check, Dim.of(1))
        self.checked.add(most)

    def _as_tensor(self, place: Place) -> Free | Tokens | Rows:
        """A count of positions as the position of each token."""
        if isinstance(place, Free | Tokens | Rows):
            return place
        if isinstance(place, Count) and place.of_batch == 0 and place.seq is not None:
            shape = [self.total if axis == place.seq else 1 for axis in range(place.rank)]
            number = self.positions * asarray(np.int64(int(place.of_seq)))
            return Tokens(cast_to(number, place.dtype).reshape(*shape), place.batch, place.seq)
        raise self.refusal("a size of the padded batch is used as a number")

    def _values(self, places: Sequence[Place]) -> list[Value]:
        return [self.tracer.value(self._as_tensor(place).tensor) for place in places]

    def _same(self, node: Node, given: Sequence[Place]) -> Tensor:
        """The node in the world of tokens."""
        attrs = map_dims(node.attrs, self._packed)
        return self.tracer.node(node.op.name, self._values(given), attrs)[0]

    def _kept(self, node: Node, given: Sequence[Place]) -> Tensor:
        """The node as it is, for what has nothing to do with tokens."""
        return self.tracer.node(node.op.name, self._values(given), node.attrs)[0]


def only(axes: Sequence[int]) -> int | None:
    return axes[0] if axes else None
