"""Buckets: which axes of a graph are padded, to which sizes a call's arrays are, and what of its
results is the caller's.

    padded = padded_graph(graph, ctx)       once: masks, and the sizes of arrays as dims
    padded.call({seq: 100})                 per binding: seq = 128, seq.valid = 100

Buckets that a list of seen sizes would want are learned by `learn_buckets`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from anyshape.base.errors import AxisDeclarationError, OptionError
from anyshape.base.lazy import lazy_read_only
from anyshape.dynamic.masks import valid_size
from anyshape.dynamic.masks_forms import InsertMasks
from anyshape.ir.graph import Graph
from anyshape.ir.inputs import entry_plan, tensor_inputs
from anyshape.ir.types import TensorType
from anyshape.passes.infra import PassContext
from anyshape.sym import Axis, BindingPlan, Dim, Symbol
from anyshape.sym.buckets import POW2

Sizes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PaddedCall:
    """The sizes of one binding: of each input as the program takes it, and of each result as the
    caller does, None where it is as it comes."""

    inputs: tuple[Sizes | None, ...]
    valid: tuple[int, ...]  # of each padded axis
    results: tuple[Sizes | None, ...]
    binding: Mapping[str, int]  # of the program
    elements: int  # of padded inputs, as the caller passes them
    padded_elements: int  # the same as the program takes them
    why: str = ""  # no axis is padded


@dataclass(frozen=True)
class PaddedGraph:
    """A graph with masks, and the axes that its callers have buckets for."""

    source: Graph
    graph: Graph
    axes: tuple[Axis, ...]

    def call(self, sizes: Mapping[Symbol, int]) -> PaddedCall:
        """The call of a binding of the source. Where facts of the padded graph forbid the buckets,
        sizes stay what they are: those of the source say that these are legal."""
        wanted = {axis.symbol: self._size(axis, sizes[axis.symbol]) for axis in self.axes}
        binding = self._binding(sizes, {axis: size for axis, (size, _) in wanted.items()})
        why = "; ".join(reason for _, reason in wanted.values() if reason)
        if not self._plan.allows(binding):
            binding, why = self._binding(sizes, {}), "the model forbids sizes of that bucket"
        inputs = tuple(map(self._input_sizes, self._inputs, [binding] * len(self._inputs)))
        results = tuple(self._result_sizes(type_, binding) for type_ in self._results)
        given = [_product(dims, self._exact(binding)) for dims in self._inputs if self._long(dims)]
        taken = [_product(dims, binding) for dims in self._inputs if self._long(dims)]
        named = {symbol.name: size for symbol, size in binding.items()}
        valid = tuple(sizes[axis.symbol] for axis in self.axes)
        return PaddedCall(inputs, valid, results, named, sum(given), sum(taken), why)

    @staticmethod
    def _size(axis: Axis, size: int) -> tuple[int, str]:
        assert axis.padding is not None, "an axis without buckets is not padded"
        return axis.padding.padded(size)

    def _binding(
        self, sizes: Mapping[Symbol, int], padded: Mapping[Symbol, int]
    ) -> dict[Symbol, int]:
        valid = {valid_size(axis.symbol): sizes[axis.symbol] for axis in self.axes}
        return {**sizes, **padded, **valid}

    def _exact(self, binding: Mapping[Symbol, int]) -> dict[Symbol, int]:
        return {**binding, **{axis.symbol: binding[valid_size(axis.symbol)] for axis in self.axes}}

    def _long(self, dims: Sequence[Dim]) -> bool:
        return any(dim.symbols & self._symbols for dim in dims)

    def _input_sizes(self, dims: Sequence[Dim], binding: Mapping[Symbol, int]) -> Sizes | None:
        """None for an array that is passed on as it is."""
        sizes = tuple(dim.evaluate(binding) for dim in dims)
        exact = self._exact(binding)
        same = not self._long(dims) or sizes == tuple(dim.evaluate(exact) for dim in dims)
        return None if same else sizes

    def _result_sizes(self, type_: TensorType, binding: Mapping[Symbol, int]) -> Sizes | None:
        """A size that the graph computes is never padded: see `Masking`."""
        if not self._long(type_.shape):
            return None
        exact, late = self._exact(binding), self.graph.body.born
        return tuple(-1 if dim.symbols & late else dim.evaluate(exact) for dim in type_.shape)

    @lazy_read_only
    def _symbols(self) -> frozenset[Symbol]:
        return frozenset(axis.symbol for axis in self.axes)

    @lazy_read_only
    def _plan(self) -> BindingPlan:
        return entry_plan(self.graph)

    @lazy_read_only
    def _inputs(self) -> tuple[tuple[Dim, ...], ...]:
        count = len(tensor_inputs(self.source))
        return tuple(type_.shape for _, type_ in tensor_inputs(self.graph)[:count])

    @lazy_read_only
    def _results(self) -> tuple[TensorType, ...]:
        types = self.graph.body.result_types
        return tuple(type_ for type_ in types if isinstance(type_, TensorType))


def _product(dims: Sequence[Dim], binding: Mapping[Symbol, int]) -> int:
    count = 1
    for dim in dims:
        count *= dim.evaluate(binding)
    return count


def padded_graph(graph: Graph, ctx: PassContext, *, strict: bool = False) -> PaddedGraph | None:
    """The graph with masks for its axes with buckets; None if no input has one."""
    axes = padded_axes(graph)
    if not axes:
        return None
    masks = InsertMasks(tuple(axis.symbol for axis in axes), strict)
    padded = PaddedGraph(graph, masks.run(graph, ctx), axes)
    _check_padded_inputs(padded)
    return padded


def padded_axes(graph: Graph) -> tuple[Axis, ...]:
    """Those of its inputs that have buckets."""
    given = {symbol for _, type_ in tensor_inputs(graph) for symbol in type_.symbols}
    return tuple(axis for axis in graph.axes if axis.buckets and axis.symbol in given)


def _check_padded_inputs(padded: PaddedGraph) -> None:
    """Where sizes only fall as an axis grows, no array of a call could be padded."""
    count = len(tensor_inputs(padded.source))
    types = [type_ for _, type_ in tensor_inputs(padded.graph)[:count]]
    for axis in padded.axes:
        if not any(axis.symbol in type_.symbols for type_ in types):
            problem = (
                f"has buckets, but no size of an input of '{padded.source.name}' grows with it"
            )
            fix = f"drop the buckets, or give an input the axis '{axis.name}'"
            raise AxisDeclarationError(axis.name, problem, fix)


def mixing_ops(graph: Graph, name: str) -> dict[str, int]:
    """The ops that need a mask if an axis is padded, or to see it whole, and how many there are."""
    axes = [replace(each, buckets=(), max_padding=None) for each in graph.facts.axes]
    known = next((each for each in axes if each.name == name), Axis(name))
    others = tuple(each for each in axes if each.name != name)
    facts = replace(graph.facts, axes=(*others, replace(known, buckets=POW2, static=False)))
    ctx = PassContext()
    padded_graph(graph.with_body(replace(graph.body, facts=facts)), ctx)
    return dict(Counter(d.node.op.name for d in ctx.decisions.take() if d.taken))


# --- learned --------------------------------------------------------------------------------------


def learn_buckets(sizes: Iterable[int], count: int) -> list[int]:
    """At most `count` buckets, for which calls of these sizes are padded least in all.

    The best ones are among the sizes themselves, and the greatest is one. What the first k sizes
    need with n buckets follows from what fewer of them need with n - 1: n·k² steps at worst.
    """
    seen = Counter(sizes)
    seen.pop(0, None)
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise OptionError("count", repr(count), "a number of buckets, 1 or more")
    if not seen or min(seen) < 0:
        raise OptionError("sizes", repr(sorted(seen)), "sizes that calls have had, 1 or more")
    found = sorted(seen)
    calls = [0, *accumulate(seen[size] for size in found)]
    # best[k]: the padded elements of the k smallest sizes; chosen[k]: their buckets
    best = [0, *(calls[k] * found[k - 1] for k in range(1, len(found) + 1))]
    chosen: list[tuple[int, ...]] = [(), *((size,) for size in found)]
    for _ in range(min(count, len(found)) - 1):
        options = [_best_split(k, best, calls, found) for k in range(1, len(found) + 1)]
        chosen = [(), *((*chosen[at], found[k]) for k, (_, at) in enumerate(options))]
        best = [0, *(total for total, _ in options)]
    return list(chosen[-1])


def _best_split(
    k: int, best: Sequence[int], calls: Sequence[int], found: Sequence[int]
) -> tuple[int, int]:
    """What the k smallest sizes need if the last bucket is the k-th, and where it begins."""
    return min((best[at] + (calls[k] - calls[at]) * found[k - 1], at) for at in range(k))
