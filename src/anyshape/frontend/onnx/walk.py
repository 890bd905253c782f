"""Walks a model's graph and applies the table's entry for each node to the values of its inputs.

Bodies of control flow and functions are walked alike, by walkers of their own. An op without an
entry is a function of the model, or what ONNX defines it as. `check_known` collects all ops that
are none of these, before the walk, and reports them at once with counts and names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from anyshape.base.errors import AnyshapeError, InvalidModelError, UnsupportedModelError
from anyshape.base.location import Location
from anyshape.frontend.builder.convert import asarray
from anyshape.frontend.builder.tracer import active
from anyshape.frontend.onnx import entries
from anyshape.frontend.onnx.calls import KINDS, TABLE, Body, Call, OpEntry, entry_for
from anyshape.frontend.onnx.definitions import definition_of, has_definition
from anyshape.frontend.onnx.dtypes import dtype_of_code
from anyshape.frontend.onnx.model_file import ModelFile
from anyshape.frontend.onnx.structure import in_order, nodes_within
from anyshape.frontend.onnx.tensors import array_of, four_bit_numbers, is_of_four_bits
from anyshape.ir.types import Array

assert entries, "importing it fills the table"

DEEPEST = 32
"""Functions and bodies inside each other."""

MOST_NODES = 1_000_000
"""Nodes that are applied, each as often as functions repeat it."""

Key = tuple[str, str, str]
"""The domain, the name and the overload of a function."""

Functions = Mapping[Key, Any]

DEQUANTIZES = ("", "DequantizeLinear")
"""The op that takes numbers of four bits: as bytes, which are the same numbers."""


@dataclass(frozen=True)
class FourBits:
    """An initializer of a type that we have no tensors of."""

    proto: Any


@dataclass
class Progress:
    """What all walkers of one model share."""

    model: ModelFile
    functions: Functions
    applied: int = 0
    location: Location | None = None
    open_: list[Key] = field(default_factory=list[Key])


def functions_of(model: ModelFile) -> Functions:
    found: dict[Key, Any] = {}
    for each in model.proto.functions:
        key = (_domain(each), each.name, each.overload)
        if key in found:
            problem = f"has two functions '{_what(*key)}'"
            raise InvalidModelError(model.name, problem, "export the model again")
        found[key] = each
    return found


def check_known(model: ModelFile, functions: Functions) -> None:
    """Refuses a model with ops that nobody knows, naming all of them."""
    missing: dict[str, list[str]] = {}
    parts = [(model.proto.graph.node, model.opsets)]
    parts += [(each.node, _opsets_of(each)) for each in model.proto.functions]
    _check_text(model, (model.proto.graph.name, *(f.name for f in model.proto.functions)))
    for nodes, opsets in parts:
        for node in nodes_within(nodes):
            texts = (node.op_type, node.domain, node.name, node.overload)
            attributes = (attribute.name for attribute in node.attribute)
            _check_text(model, (*texts, *node.input, *node.output, *attributes))
            domain, version = _domain(node), opsets.get(_domain(node), 1)
            if _key(node) in functions:
                continue
            known = entry_for(domain, node.op_type, version)
            if node.overload or not (known or has_definition(domain, node.op_type, version)):
                what = _what(*_key(node), version)
                missing.setdefault(what, []).append(node.name or ", ".join(node.output))
    if missing:
        fix = "write these parts of the model with other ops, or ask for them to be added"
        raise UnsupportedModelError(model.name, missing, fix)


def _check_text(model: ModelFile, texts: Sequence[Any]) -> None:
    """protobuf gives bytes for what is no UTF-8."""
    if not all(isinstance(text, str) for text in texts):
        problem = "has a name that is no UTF-8"
        raise InvalidModelError(model.name, problem, "export the model again")


def _what(domain: str, op: str, overload: str, version: int | None = None) -> str:
    name = f"{domain + '::' if domain else ''}{op}" + (f":{overload}" if overload else "")
    known = version is not None and (domain, op) in TABLE
    return name + (f" of opset {version}" if known else "")


def _domain(node: Any) -> str:
    return "" if node.domain == "ai.onnx" else node.domain


def _key(node: Any) -> Key:
    """The function that a node calls, if the model has it."""
    return _domain(node), node.op_type, node.overload


def _opsets_of(function: Any) -> dict[str, int]:
    return {_domain(each): each.version for each in function.opset_import}


class Walker:
    """The values of one graph's names. A body sees those of the walker around it too."""

    def __init__(
        self,
        nodes: Sequence[Any],
        opsets: Mapping[str, int],
        progress: Progress,
        outer: Walker | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        """`attributes` are those that the nodes of a function may refer to."""
        self.nodes = nodes
        self.opsets = opsets
        self.progress = progress
        self.outer = outer
        self.attributes = attributes
        self.depth: int = 0 if outer is None else outer.depth + 1
        self.values: dict[str, Any] = {}
        if self.depth > DEEPEST:
            raise self._invalid(f"has graphs inside each other, more than {DEEPEST} deep")

    def run(self) -> None:
        around = self._names_around()
        for node in in_order(self.nodes, {*self.values, *around}, self.progress.model.name):
            self._apply(node)

    def value(self, name: str, *, narrow: bool = False) -> Any:
        """None for an input that is left out. Numbers of four bits are for those that ask."""
        walker: Walker | None = self
        while walker is not None and name:
            if name in walker.values:
                return self._held(walker.values[name], narrow)
            walker = walker.outer
        if name:
            raise self._invalid(f"reads '{name}', which nothing gives")
        return None

    def _held(self, value: Any, narrow: bool) -> Any:
        """A tensor of four bits is read when a node can take it as bytes, and refused elsewhere."""
        if not isinstance(value, FourBits):
            return value
        if not narrow:
            dtype_of_code(value.proto.data_type, f"tensor '{value.proto.name}'")
        model = self.progress.model
        return asarray(four_bit_numbers(value.proto, model.files, model.name))

    def define(self, names: Sequence[str], values: Sequence[Any]) -> None:
        for name, value in zip(names, values, strict=False):
            if name in self.values:
                raise self._invalid(f"gives '{name}' twice")
            if name:
                self.values[name] = value

    def constant(self, tensor: Any) -> Any:
        """An initializer, or a tensor that is an attribute."""
        model = self.progress.model
        return asarray(array_of(tensor, model.files, model.name))

    def graph_constants(self, graph: Any) -> None:
        if len(graph.sparse_initializer):
            raise UnsupportedModelError(
                self.progress.model.name,
                {"sparse initializers": [each.values.name for each in graph.sparse_initializer]},
                "store them as dense tensors",
            )
        for tensor in graph.initializer:
            if tensor.name not in self.values:  # an input may take its place
                is_narrow = is_of_four_bits(tensor)
                given = FourBits(tensor) if is_narrow else self.constant(tensor)
                self.define([tensor.name], [given])

    def _names_around(self) -> Iterator[str]:
        walker = self.outer
        while walker is not None:
            yield from walker.values
            walker = walker.outer

    # --- nodes --------------------------------------------------------------------------------

    def _apply(self, node: Any) -> None:
        self.progress.applied += 1
        if self.progress.applied > MOST_NODES:
            raise self._invalid(f"has more than {MOST_NODES} nodes")
        domain = _domain(node)
        version = self.opsets.get(domain, 1)
        narrow = (domain, node.op_type) == DEQUANTIZES
        inputs = [self.value(name, narrow=narrow) for name in node.input]
        model = self.progress.model.name
        call = Call(node.op_type, node.name, version, tuple(node.output), model)
        self.progress.location = Location(f"{model}, {call}")
        known = entry_for(domain, node.op_type, version)
        if _key(node) in self.progress.functions:
            given: Any = self._function(node, inputs)
        elif known is not None:
            given = self._entered(known, call, inputs, self._attributes(node, known, call))
        else:
            given = self._defined(node, domain, version, inputs)
        # A list is one result, a sequence.
        results = cast(tuple[Any, ...], given) if isinstance(given, tuple) else (given,)
        self._check_results(call, node, results)
        self.define(node.output, results)

    def _entered(
        self, known: OpEntry, call: Call, inputs: list[Any], attributes: dict[str, Any]
    ) -> Any:
        """What an entry gives. One that meets values of other kinds or ranks than its op has (a
        sequence for a tensor, an axis of a scalar) says so; where it came from is the cause."""
        try:
            return known(call, _given(inputs), attributes)
        except AnyshapeError:
            raise
        except (AttributeError, IndexError, TypeError) as error:
            raise call.invalid(f"cannot be applied to its inputs: {error}") from error

    def _check_results(self, call: Call, node: Any, results: Sequence[Any]) -> None:
        for number, name in enumerate(node.output):
            if name and (number >= len(results) or results[number] is NOTHING):
                what = f"output {number} of {node.op_type}"
                fix = "leave that output out of the model"
                raise UnsupportedModelError(call.model, {what: [str(call)]}, fix)

    def _attributes(self, node: Any, entry: OpEntry, call: Call) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for attribute in node.attribute:
            given = self._resolved(attribute)
            if given is None:
                continue
            kind = entry.attributes.get(attribute.name)
            if kind is None:
                what = f"attribute '{attribute.name}' of {node.op_type}"
                fix = "leave the attribute out, or ask for it to be added"
                raise UnsupportedModelError(call.model, {what: [str(call)]}, fix)
            code, read = KINDS[kind]
            if given.type != code:
                raise call.invalid(f"has an attribute '{attribute.name}' of another type")
            found[attribute.name] = self._read(read(given), kind)
        return found

    def _read(self, value: Any, kind: Any) -> Any:
        if kind is Body:
            return GraphBody(value, self)
        if kind == Array:
            model = self.progress.model
            return array_of(value, model.files, model.name)
        return value

    def _resolved(self, attribute: Any) -> Any:
        """The attribute of the function that is called, where one refers to it."""
        if not attribute.ref_attr_name:
            return attribute
        if self.attributes is None:
            raise self._invalid(f"refers to an attribute '{attribute.ref_attr_name}' outside")
        return self.attributes.get(attribute.ref_attr_name)

    # --- functions ----------------------------------------------------------------------------

    def _function(self, node: Any, inputs: Sequence[Any]) -> tuple[Any, ...]:
        proto = self.progress.functions[_key(node)]
        defaults = {each.name: each for each in proto.attribute_proto}
        opsets = {**self.opsets, **_opsets_of(proto)}
        return self._called(node, proto, opsets, defaults, inputs)

    def _defined(
        self, node: Any, domain: str, version: int, inputs: Sequence[Any]
    ) -> tuple[Any, ...]:
        plain = self._with_attributes(node)
        found = definition_of(plain, domain, version, inputs)
        if found is None:
            what = _what(*_key(node), version)
            fix = "write this part of the model with other ops, or ask for it to be added"
            raise UnsupportedModelError(self.progress.model.name, {what: [node.name]}, fix)
        opsets = {**self.opsets, **found.opsets}
        return self._called(node, found.proto, opsets, found.defaults, inputs)

    def _with_attributes(self, node: Any) -> Any:
        """The node with what its attributes refer to."""
        if not any(each.ref_attr_name for each in node.attribute):
            return node
        plain = type(node)()
        plain.CopyFrom(node)
        del plain.attribute[:]
        for attribute in node.attribute:
            given = self._resolved(attribute)
            if given is not None:
                added = plain.attribute.add()
                added.CopyFrom(given)
                added.name = attribute.name
        return plain

    def _called(
        self,
        node: Any,
        function: Any,
        opsets: Mapping[str, int],
        defaults: Mapping[str, Any],
        inputs: Sequence[Any],
    ) -> tuple[Any, ...]:
        key = _key(node)
        if key in self.progress.open_:
            raise self._invalid(f"has a function '{node.op_type}' that calls itself")
        given = {a.name: self._resolved(a) for a in node.attribute}
        attributes = {**defaults, **{name: a for name, a in given.items() if a is not None}}
        inner = Walker(function.node, opsets, self.progress, None, attributes)
        inner.depth = self.depth + 1
        if inner.depth > DEEPEST:
            raise self._invalid(f"has functions inside each other, more than {DEEPEST} deep")
        padded = [*inputs, *(None,) * (len(function.input) - len(inputs))]
        inner.define(function.input, padded)
        self.progress.open_.append(key)
        inner.run()
        self.progress.open_.pop()
        wanted = zip(function.output, (*node.output, *("",) * len(function.output)), strict=False)
        return tuple(inner.value(name) if read else None for name, read in wanted)

    def _invalid(self, problem: str) -> InvalidModelError:
        return InvalidModelError(self.progress.model.name, problem, "export the model again")


NOTHING = object()
"""The result of an entry for an output that it does not compute."""


def _given(inputs: list[Any]) -> list[Any]:
    """Without those at the end that are left out."""
    while inputs and inputs[-1] is None:
        inputs = inputs[:-1]
    return inputs


class GraphBody(Body):
    """A graph in an attribute, walked where it is called."""

    def __init__(self, graph: Any, outer: Walker) -> None:
        self.graph = graph
        self.outer = outer
        self.inputs = tuple(each.name for each in graph.input)
        self.outputs = tuple(each.name for each in graph.output)

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        outer = self.outer
        walker = Walker(self.graph.node, outer.opsets, outer.progress, outer, outer.attributes)
        if len(arguments) != len(self.inputs):
            problem = f"a body has {len(self.inputs)} inputs where {len(arguments)} are given"
            raise active().refuse(problem, "export the model again")
        walker.define(self.inputs, arguments)
        walker.graph_constants(self.graph)
        walker.run()
        return tuple(walker.value(name) for name in self.outputs)
