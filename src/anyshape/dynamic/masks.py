"""Masks: a graph that computes the same although some axes are longer than they should be.

    graph f(x: f32[seq, 8]) { return sum(x, axes=[0]) }

    graph f(x: f32[seq, 8], size: bool[seq.valid, 0]) {
      %0 = select(iota[seq] < seq.valid, x, 0)
      return sum(%0, axes=[0])
    }

Such an axis has two sizes: `seq`, that of the arrays, and `seq.valid`, that of the call. A dim that
speaks of `seq` is *padded*: its first elements, as many as the same dim has with `seq.valid` in the
place of `seq`, are those of the graph as it was, and the others may be anything, NaN included. One
that speaks of `seq.valid` alone is *exact*. Every dim of the new graph is the old one, or that.

What an op makes of padding stands in its own entry (`ir/mixing.py`, `OpDef.links`). Where elements
are each for themselves, nothing is done. Where they are combined, padding is *selected* away: no
number that it might hold is ever computed with. Whatever else an op does along an axis, it does
on operands that are cut to what is valid, and its results are exact; where they meet padded ones
again, they are lengthened. So no op is wrong or missing: at worst it is computed without padding.

`fills` knows where padding holds one number already, so that nothing is selected twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from anyshape.base.errors import AnyshapeError
from anyshape.ir.attrs import Attrs, attr_dims, map_dims
from anyshape.ir.build import Builder, decomposition
from anyshape.ir.graph import Graph
from anyshape.ir.literal import TensorLiteral
from anyshape.ir.mixing import Link, Sees, fill_in
from anyshape.ir.node import Node, Value
from anyshape.ir.opdef import PARAM, Call, Trait, param_index
from anyshape.ir.rewrite import Decision
from anyshape.ir.substitute import substitute_region
from anyshape.ir.types import Array, TensorType, Type, bool_, i64
from anyshape.ops.known import CONSTANT
from anyshape.ops.source import ConstantAttrs
from anyshape.passes.infra import PassContext
from anyshape.sym import Answer, Axis, Dim, Fact, Facts, FactScope, LessEqual, Origin, Symbol
from anyshape.sym.rebuild import Substitution

Number = float | int | bool

NO_MASK: Final = "no mask is needed"

Form = Callable[["Masking", Node, Sequence[Value]], Sequence[Value] | None]
"""How an op is masked whose attributes speak of sizes, or that is masked in another way than by
filling operands; None where it is not."""


def valid_size(axis: Symbol) -> Symbol:
    """The symbol of how much of an axis is no padding."""
    return Symbol(f"{axis.name}.valid")


class Masking:
    """One graph while it is made: builds nodes, and knows what their padding holds."""

    def __init__(
        self,
        graph: Graph,
        axes: Sequence[Symbol],
        ctx: PassContext,
        name: str,
        forms: Mapping[str, Form],
    ) -> None:
        self._forms = forms
        self._stated = graph.facts
        self.symbols = frozenset(axes)
        self.unmasked: dict[tuple[str, str], None] = {}
        self._valid = Substitution({axis: Dim.of(valid_size(axis)) for axis in axes})
        self._ctx = ctx
        self._name = name
        self._values: dict[Value, Value] = {}
        self._fills: dict[tuple[Value, int], Number] = {}
        self._padded: dict[Dim, Dim] = {}
        scope = FactScope.of(self._facts(graph, axes), distinct_names=False)
        for symbol in graph.body.symbols:
            scope.reserve(symbol)
        self.b = Builder(scope, graph.weights, graph.locations)
        self._params(graph)
        for axis in axes:
            self.b.param(TensorType(bool_, (Dim.of(valid_size(axis)), Dim.of(0))))
        for node in graph.nodes():
            self._visit(node)
        body = self.b.region([self._returned(self._values[value]) for value in graph.results])
        inputs = (*graph.inputs, *(valid_size(axis).name for axis in axes))
        self.graph = replace(graph, inputs=inputs, body=body, declared=None)

    def _facts(self, graph: Graph, axes: Sequence[Symbol]) -> Facts:
        """What was said of sizes is so of valid ones; of padded ones only what ops will say."""
        own = {axis: _bare(graph.facts.axis(axis)) for axis in axes}
        others = (axis for axis in graph.axes if axis.symbol not in own)
        valid = (replace(axis, name=valid_size(axis.symbol).name) for axis in own.values())
        within = (
            Fact(LessEqual(Dim.of(valid_size(axis)), Dim.of(axis)), Origin.USER, "buckets")
            for axis in axes
        )
        stated = (fact.substitute(self._valid) for fact in graph.facts.facts)
        return Facts((*others, *own.values(), *valid), (*within, *stated))

    # --- dims ---------------------------------------------------------------------------------

    def is_padded(self, dim: Dim) -> bool:
        return bool(dim.symbols & self.symbols)

    def exact(self, dim: Dim) -> Dim:
        """As much of a dim as is valid."""
        return dim.substitute(self._valid)

    def padded(self, dim: Dim) -> Dim:
        """The dim as it is, if a longer axis never makes it shorter; else its exact form."""
        found = self._padded.get(dim)
        if found is None:
            exact = self.exact(dim)
            grows = self.b.scope.proves(LessEqual(exact, dim)) is Answer.TRUE
            found = self._padded[dim] = dim if grows else exact
        return found

    def padded_axes(self, value: Value) -> list[int]:
        if not isinstance(value.type, TensorType):
            return []
        return [axis for axis, dim in enumerate(value.tensor.shape) if self.is_padded(dim)]

    # --- values -------------------------------------------------------------------------------

    def cut(self, value: Value, axis: int) -> Value:
        """Without padding along an axis."""
        shape = value.tensor.shape
        if not self.is_padded(shape[axis]):
            return value
        stops = (*shape[:axis], self.exact(shape[axis]), *shape[axis + 1 :])
        zeros, steps = [Dim.of(0)] * len(shape), [1] * len(shape)
        new = self.b.emit("slice", value, starts=zeros, stops=stops, steps=steps)
        return self._with_fills(new, value, {a: a for a in range(len(shape)) if a != axis})

    def cut_whole(self, value: Value) -> Value:
        for axis in self.padded_axes(value):
            value = self.cut(value, axis)
        return value

    def lengthened(self, value: Value, axis: int, dim: Dim, fill: Number) -> Value:
        """An axis that is exact, with padding that holds one number."""
        rank, zero = value.tensor.rank, Dim.of(0)
        high = [zero] * rank
        high[axis] = dim - value.tensor.shape[axis]
        number = self.number(value, fill)
        new = self.b.emit("pad", value, number, low=[zero] * rank, high=high)
        self._fills[new, axis] = fill
        return new

    def filled(self, value: Value, axis: int, fill: Number | Value) -> Value:
        """With a number in the padding along an axis, whatever it held: it is selected."""
        if not isinstance(fill, Value) and _same(self.fill_of(value, axis), fill):
            return value
        dim, rank = value.tensor.shape[axis], value.tensor.rank
        place = self.b.emit("iota", shape=(dim,), axis=0, dtype=i64)
        inside = self.b.emit("lt", place, self.b.emit("dim_value", value=self.exact(dim)))
        column = (dim, *[Dim.of(1)] * (rank - 1 - axis))
        mask = self.b.emit("reshape", inside, shape=column) if rank - 1 - axis else inside
        other = fill if isinstance(fill, Value) else self.number(value, fill)
        new = self.b.emit("select", mask, value, other)
        if not isinstance(fill, Value):
            for a in self.padded_axes(value):
                if a == axis or _same(self.fill_of(value, a), fill):
                    self._fills[new, a] = fill
        return new

    def number(self, value: Value, number: Number) -> Value:
        return self.b.constant(np.array(number, value.tensor.dtype.numpy))

    def fill_of(self, value: Value, axis: int) -> Number | None:
        """What padding along an axis is known to hold."""
        return self._fills.get((value, axis))

    def _with_fills(self, new: Value, old: Value, axes: Mapping[int, int]) -> Value:
        """Padding goes along with the axes of a value whose elements are moved."""
        for axis, result in axes.items():
            fill = self.fill_of(old, axis)
            if fill is not None:
                self._fills[new, result] = fill
        return new

    # --- nodes --------------------------------------------------------------------------------

    def _params(self, graph: Graph) -> None:
        for type_ in graph.body.params:
            self.b.param(self._param_type(type_))

    def _param_type(self, type_: Type) -> Type:
        if not isinstance(type_, TensorType):
            return type_
        return type_.with_shape(tuple(map(self.padded, type_.shape)))

    def _returned(self, value: Value) -> Value:
        """Callers cut results by the sizes of a call. Those that the graph computes are not among
        them, so where a size speaks of both, the graph cuts."""
        known = frozenset[Symbol]().union(*(param.type.symbols for param in self.b.params))
        for axis in self.padded_axes(value):
            if not value.tensor.shape[axis].symbols <= known:
                value = self.cut(value, axis)
        return value

    def _visit(self, node: Node) -> None:
        if node.op is PARAM:
            self._values[node.result()] = self.b.params[param_index(node)]
            return
        self.b.location = self.b.locations.of(node)
        operands = [self._values[value] for value in node.operands]
        new = self.results(node, operands)
        self._values.update(zip(node.results, new, strict=True))

    def results(self, node: Node, operands: Sequence[Value]) -> Sequence[Value]:
        """The results of an old node on new operands."""
        if not self._is_concerned(node, operands):
            return self.b.node(node.op, operands, node.attrs, node.regions, node.late).results
        made = self._masked(node, operands)
        if made is not None:
            return made
        self._note_unmasked(node, operands)
        return self._exact(node, operands)

    def _is_concerned(self, node: Node, operands: Sequence[Value]) -> bool:
        own = any(map(self.is_padded, attr_dims(node.attrs)))
        inner = any(region.symbols & self.symbols for region in node.regions)
        late = any(each.upper is not None and self.is_padded(each.upper) for each in node.late)
        return own or inner or late or any(map(self.padded_axes, operands))

    def _masked(self, node: Node, operands: Sequence[Value]) -> Sequence[Value] | None:
        """None for an op that is not masked, or whose sizes are not the ones they should be."""
        form = self._forms.get(node.op.name)
        try:
            made = form(self, node, operands) if form else self.linked(node, operands)
        except AnyshapeError:  # what it requires of padded sizes is false for all of them
            return None
        if made is None or not all(map(self._is_as_it_was, node.results, made)):
            return None
        return made

    def _is_as_it_was(self, old: Value, new: Value) -> bool:
        """Each size is that of the old graph, padded or exact."""
        if not isinstance(old.type, TensorType) or not isinstance(new.type, TensorType):
            return old.type == new.type
        pairs = zip(old.type.shape, new.type.shape, strict=True)
        return all(after in (self.padded(before), self.exact(before)) for before, after in pairs)

    def _exact(self, node: Node, operands: Sequence[Value]) -> Sequence[Value]:
        """The op on what is valid, with valid sizes in all that it says."""
        return self.b.node(
            node.op,
            [self.cut_whole(value) for value in operands],
            map_dims(node.attrs, self.exact),
            [substitute_region(region, self._valid) for region in node.regions],
            [late.substitute(self._valid) for late in node.late],
        ).results

    def moved(
        self, node: Node, x: Value, attrs: Attrs, places: Mapping[int, int]
    ) -> Sequence[Value]:
        """An op that moves elements, with other attributes; axes go to `places`."""
        for axis in self.padded_axes(x):
            self.note(node, False, f"{self.axis_name(x, axis)}: elements are moved, {NO_MASK}")
        new = self.b.node(node.op, (x,), attrs).result()
        return (self._with_fills(new, x, places),)

    def decomposed(self, node: Node, operands: Sequence[Value]) -> Sequence[Value]:
        """A compound as what it is made of, masked op by op."""
        types = [value.type for value in node.operands]
        scope = FactScope.of(self._stated, distinct_names=False)
        region = decomposition(node.op, types, node.attrs, self.b.weights, scope)
        values: dict[Value, Value] = {}
        for inner in region.nodes():
            if inner.op is PARAM:
                values[inner.result()] = operands[param_index(inner)]
            else:
                new = self.results(inner, [values[value] for value in inner.operands])
                values.update(zip(inner.results, new, strict=True))
        return tuple(values[value] for value in region.results)

    # --- links --------------------------------------------------------------------------------

    def linked(self, node: Node, operands: Sequence[Value]) -> Sequence[Value] | None:
        """By what the op's entry says of its axes; its attributes speak of no padded size."""
        if node.regions or node.late or any(map(self.is_padded, attr_dims(node.attrs))):
            return None
        links = node.op.links([value.tensor.shape for value in node.operands], node.attrs)
        if links is None:
            return None
        given = self.through(node, operands, links)
        new = self.b.node(node.op, given, node.attrs).results
        self._fills_of(node, given, new, links)
        return new

    def through(
        self, node: Node, operands: Sequence[Value], links: Sequence[Link]
    ) -> Sequence[Value]:
        """The operands as the links need them; axes that no link names are cut."""
        new = list(operands)
        named = {(n, axis) for link in links for n, axis in _members(link)}
        for n, value in enumerate(operands):
            for axis in self.padded_axes(value):
                if (n, axis) not in named:
                    self.note(node, True, f"{self.axis_name(value, axis)}: seen whole, so cut")
                    self._unmasked(node, value, axis)
                    new[n] = self.cut(new[n], axis)
        for link in links:
            self._follow(node, new, link)
        return new

    def _follow(self, node: Node, operands: list[Value], link: Link) -> None:
        members = [
            (n, axis) for n, axis in _members(link) if node.operands[n].tensor.shape[axis] != 1
        ]
        long = [(n, axis) for n, axis in members if axis in self.padded_axes(operands[n])]
        if not long:
            return
        first = self.axis_name(operands[long[0][0]], long[0][1])
        if len({node.operands[n].tensor.shape[axis] for n, axis in members}) > 1:
            self.note(node, True, f"{first}: meets a size that is not padded with it, so cut")
            self._unmasked(node, operands[long[0][0]], long[0][1])
            for n, axis in long:
                operands[n] = self.cut(operands[n], axis)
            return
        dim = operands[long[0][0]].tensor.shape[long[0][1]]
        for n, axis in members:
            value = operands[n]
            fill = fill_in(value.tensor.dtype, link.fill if link.sees is Sees.FILLED else 0.0)
            if (n, axis) not in long:
                operands[n] = self.lengthened(value, axis, dim, fill)
            elif link.sees is Sees.FILLED:
                operands[n] = self.filled(value, axis, fill)
                self._note_filled(node, n, first, fill, operands[n] is value)
        if link.sees in (Sees.ITSELF, Sees.BEFORE):
            self.note(node, False, f"{first}: {link.sees.value}, {NO_MASK}")

    def _fills_of(
        self, node: Node, operands: Sequence[Value], new: Sequence[Value], links: Sequence[Link]
    ) -> None:
        """What is known of the padding of results: moved elements keep it, functions of numbers
        have one."""
        if len(new) != 1:
            return
        if node.op.has(Trait.INDEXED) and len(operands) == 1:
            axes = {a: link.result for link in links for _, a in _members(link)}
            kept = {axis: result for axis, result in axes.items() if result is not None}
            self._with_fills(new[0], operands[0], kept)
        elif node.op.has(Trait.ELEMENTWISE) and node.op.reference is not None:
            for axis in self.padded_axes(new[0]):
                known = self._elementwise_fill(node, operands, new[0], axis)
                if known is not None:
                    self._fills[new[0], axis] = known

    def _elementwise_fill(
        self, node: Node, operands: Sequence[Value], new: Value, axis: int
    ) -> Number | None:
        numbers: list[Number] = []
        for value in operands:
            own = axis - new.tensor.rank + value.tensor.rank
            number = _scalar(value) if own < 0 else self.fill_of(value, own)
            if number is None:
                return None
            numbers.append(number)
        arrays = [
            np.array(number, value.tensor.dtype.numpy)
            for number, value in zip(numbers, operands, strict=True)
        ]
        types = (TensorType(new.tensor.dtype, ()),)
        call = Call(node.attrs, tuple(arrays), types, self.b.weights, _runs_nothing)
        assert node.op.reference is not None
        return np.asarray(node.op.reference(call)).item()

    # --- reasons ------------------------------------------------------------------------------

    def axis_name(self, value: Value, axis: int) -> str:
        return f"axis '{value.tensor.shape[axis]}'"

    def note(self, node: Node, taken: bool, why: str) -> None:
        location = self.b.locations.of(node)
        self._ctx.decisions.record(Decision(self._name, taken, why, node, location))

    def _note_filled(self, node: Node, n: int, axis: str, fill: Number, is_known: bool) -> None:
        name = node.op.signature.name(n)
        if is_known:
            self.note(node, False, f"{axis}: the padding of {name} is {fill} already")
        else:
            self.note(node, True, f"{axis}: {name} is {fill} in the padding")

    def _note_unmasked(self, node: Node, operands: Sequence[Value]) -> None:
        found = [(value, axis) for value in operands for axis in self.padded_axes(value)]
        for value, axis in found:
            self._unmasked(node, value, axis)
            self.note(node, True, f"{self.axis_name(value, axis)}: not masked, computed exactly")

    def _unmasked(self, node: Node, value: Value, axis: int) -> None:
        self.unmasked[node.op.name, str(value.tensor.shape[axis])] = None


def _members(link: Link) -> list[tuple[int, int]]:
    return [(n, axis) for n, axis in enumerate(link.axes) if axis is not None]


def _bare(axis: Axis) -> Axis:
    """The declaration of an axis whose calls are padded by somebody else."""
    return replace(axis, buckets=(), max_padding=None, static=False)


def _same(known: Number | None, wanted: Number) -> bool:
    if known is None:
        return False
    both_nan = math.isnan(known) and math.isnan(wanted)
    return both_nan or (known == wanted and _sign(known) == _sign(wanted))


def _sign(number: Number) -> bool:
    return bool(np.signbit(number)) if isinstance(number, float) else False


def _scalar(value: Value) -> Number | None:
    """The number of a constant without axes."""
    if value.node.op is not CONSTANT or value.tensor.rank:
        return None
    held = value.node.attrs_as(ConstantAttrs).value
    return held.array.item() if isinstance(held, TensorLiteral) else None


def _runs_nothing(_: int, __: Sequence[Array]) -> tuple[Array, ...]:
    raise AssertionError("elementwise ops have no regions")
