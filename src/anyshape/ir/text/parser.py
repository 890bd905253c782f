"""Reading graphs.

    text   := [axes] [facts] 'graph' name params '->' types body
    body   := '{' [axes] [facts] node* 'return' value (',' value)* '}'
    node   := value (',' value)* '=' op '(' values ')' [attrs] [late] region* [':' types]
    region := label params '->' types body          one for each region of the op, labels in order
    attrs  := '{' name '=' value (',' name '=' value)* '}'
    late   := 'late' '[' symbol ['<=' dim], … ']'
    value  := '%' INTEGER | name of a parameter

Types after a colon may be left out: they are inferred. Where they are given they must be provably
equal to what the op's rules infer, and are kept as written, so that text written by the printer
gives the identical graph. Requirements that hold only at run time are recorded as facts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from anyshape.base.errors import AttributeValueError, AxisDeclarationError, InputError
from anyshape.base.lexer import Cursor, Token, TokenKind
from anyshape.base.location import Location
from anyshape.ir.attrs import AttrValue, make_attrs, schema
from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.literal import WeightStore
from anyshape.ir.node import LateAxis, Locations, Node, Region, Value
from anyshape.ir.opdef import AnyOp, lookup
from anyshape.ir.text.printer import types_text
from anyshape.ir.text.values import read_dtype, read_list, read_shape, read_value
from anyshape.ir.types import TOKEN, TensorType, Type, no_size
from anyshape.ir.verify import provably_same
from anyshape.sym import HOLE, Facts, FactScope, Symbol, read_dim, read_facts


def parse(text: str, weights: WeightStore | None = None, file: str = "<text>") -> Graph:
    """The graph that `text` describes; `weights` holds the buffers its constants refer to."""
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError("text", f"is a {type(text).__name__}, no text", _decoding(text))
    store = WeightStore() if weights is None else weights
    fresh = [Symbol(name) for name in re.findall(r"\?[0-9]+", text)]
    cursor = Cursor(text)
    try:
        return _Parser(cursor, store, file).graph(fresh)
    except RecursionError:
        cursor.fail("regions or dims are nested too deeply", token=cursor.last)


def _decoding(text: object) -> str:
    bytes_ = isinstance(text, (bytes, bytearray))
    return "pass text.decode()" if bytes_ else "pass what graph.as_text() gives, a str"


def _consistent(facts: Facts, scope: FactScope) -> Facts:
    """Refuses facts that contradict each other or what `scope` knows: text may be written by hand.

    They are told one after the other, as `where=` tells them; the first that does not fit is named.
    """
    declared: set[Symbol] = set()
    for axis in facts.axes:
        scope.declare(axis)
        if axis.symbol in declared:
            raise AxisDeclarationError(axis.name, "is declared twice", "declare it once")
        declared.add(axis.symbol)
    for fact in facts.facts:
        where = Location(fact.where) if fact.where else None
        scope.assume(fact.predicate, origin=fact.origin, words=fact.words, where=where)
    return facts


class _Parser:
    def __init__(self, cursor: Cursor, weights: WeightStore, file: str) -> None:
        self.cursor = cursor
        self.weights = weights
        self.file = file

    def graph(self, fresh: Sequence[Symbol]) -> Graph:
        """`fresh` are the unnamed symbols that the text uses; new ones must differ from them."""
        facts = _consistent(read_facts(self.cursor), FactScope())
        self.cursor.expect("graph", "a text is 'axes {…}', 'facts {…}' and one 'graph name(…)'")
        name = self._name("the name of the graph")
        params, declared = self._signature()
        self.cursor.expect("{")
        builder = Builder(FactScope.of(facts), self.weights, Locations())
        for symbol in fresh:
            builder.scope.reserve(symbol)
        results = self._body(builder, params, declared)
        self.cursor.expect_end("one text holds one graph")
        return builder.graph(name, [param for param, _ in params], results)

    # --- regions ------------------------------------------------------------------------------

    def _signature(self) -> tuple[list[tuple[str, Type]], list[Type]]:
        params = read_list(self.cursor, "(", ")", self._param)
        if len(dict(params)) != len(params):
            self.cursor.fail("two parameters have the same name", token=self.cursor.last)
        self.cursor.expect("->")
        return params, self._types()

    def _param(self) -> tuple[str, Type]:
        name = self._name("the name of a parameter")
        self.cursor.expect(":")
        return name, self._type()

    def _nested(self, outer: Builder, label: str) -> Region:
        """A region of an op: its own facts come first inside the braces."""
        self.cursor.expect(label, f"this op has a region '{label}'")
        params, declared = self._signature()
        self.cursor.expect("{")
        inner = outer.nested(_consistent(read_facts(self.cursor), outer.scope.trial()))
        return inner.region(self._body(inner, params, declared))

    def _body(
        self, builder: Builder, params: Sequence[tuple[str, Type]], declared: Sequence[Type]
    ) -> list[Value]:
        values = {name: builder.param(type_) for name, type_ in params}
        while not self.cursor.accept("return"):
            self._node(builder, values)
        start = self.cursor.peek()
        results = [self._value(values)]
        while self.cursor.accept(","):
            results.append(self._value(values))
        self.cursor.expect("}")
        self._check_types(builder, declared, [value.type for value in results], start)
        return results

    # --- nodes --------------------------------------------------------------------------------

    def _node(self, builder: Builder, values: dict[str, Value]) -> None:
        start = self.cursor.peek()
        builder.location = Location(self.file, start.line)
        labels = [self._new_label(values)]
        while self.cursor.accept(","):
            labels.append(self._new_label(values))
        self.cursor.expect("=")
        op = self._op()
        operands = read_list(self.cursor, "(", ")", lambda: self._value(values))
        attrs = make_attrs(op.name, op.attrs, self._attrs(op))
        late = self._late()
        regions = [self._nested(builder, label) for label in op.regions]
        node = builder.node(op, operands, attrs, regions, late)
        if self.cursor.accept(":"):
            node = self._annotated(builder, node, start)
        if len(labels) != len(node.types):
            found = f"{op.name} gives {len(node.types)} results, {len(labels)} are named"
            self.cursor.fail(found, token=start)
        values.update(zip(labels, node.results, strict=True))

    def _annotated(self, builder: Builder, node: Node, start: Token) -> Node:
        """The node with its types as written, which must mean the same as the inferred ones."""
        declared = self._check_types(builder, self._types(), node.types, start)
        if tuple(declared) == node.types:
            return node
        written = Node.make(node.op, node.operands, node.attrs, declared, node.regions, node.late)
        builder.bears(written)
        return written

    def _check_types(
        self, builder: Builder, declared: Sequence[Type], found: Sequence[Type], start: Token
    ) -> list[Type]:
        """The declared types, `?` in them filled in; they must mean the same as `found`."""
        filled = [_filled(*pair) for pair in zip(declared, found, strict=False)]
        if len(declared) != len(found) or not provably_same(builder.scope, filled, found):
            problem = f"the type is {types_text(found)}, not {types_text(declared)}"
            self.cursor.fail(problem, "leave the type out to have it inferred", start)
        return filled

    def _op(self) -> AnyOp:
        name = self.cursor.expect_kind(TokenKind.NAME, "the name of an op").text
        return lookup(name)

    def _attrs(self, op: AnyOp) -> dict[str, AttrValue]:
        if not self.cursor.at("{"):
            return {}
        given = read_list(self.cursor, "{", "}", lambda: self._attr(op))
        if len(dict(given)) != len(given):
            self.cursor.fail("an attribute is given twice", token=self.cursor.last)
        return dict(given)

    def _attr(self, op: AnyOp) -> tuple[str, AttrValue]:
        known = schema(op.attrs)
        name = self.cursor.expect_kind(TokenKind.NAME, "an attribute").text
        if name not in known:
            raise AttributeValueError(op.name, name, "is unknown", tuple(known))
        self.cursor.expect("=")
        return name, read_value(self.cursor, known[name])

    def _late(self) -> list[LateAxis]:
        return (
            read_list(self.cursor, "[", "]", self._late_axis) if self.cursor.accept("late") else []
        )

    def _late_axis(self) -> LateAxis:
        token = self.cursor.peek()
        symbol = read_dim(self.cursor).symbol
        if symbol is None:
            self.cursor.fail("expected the name of a late axis", token=token)
        return LateAxis(symbol, read_dim(self.cursor) if self.cursor.accept("<=") else None)

    # --- small things -------------------------------------------------------------------------

    def _types(self) -> list[Type]:
        return (
            read_list(self.cursor, "(", ")", self._type) if self.cursor.at("(") else [self._type()]
        )

    def _type(self) -> Type:
        if self.cursor.accept("token"):
            return TOKEN
        dtype, start = read_dtype(self.cursor), self.cursor.peek()
        shape = read_shape(self.cursor)
        for dim in shape:
            if problem := no_size(dim):
                self.cursor.fail(f"'{dim}': {problem}", "use a name for a size that varies", start)
        return TensorType(dtype, shape)

    def _name(self, what: str) -> str:
        token = self.cursor.next()
        if token.kind not in (TokenKind.NAME, TokenKind.QUOTED):
            self.cursor.fail(f"expected {what}, found {token.describe()}", token=token)
        return token.value

    def _label(self) -> str:
        self.cursor.expect("%")
        return f"%{self.cursor.expect_integer('the number of a value')}"

    def _new_label(self, values: dict[str, Value]) -> str:
        start = self.cursor.peek()
        label = self._label()
        if label in values:
            self.cursor.fail(f"'{label}' is defined twice", token=start)
        return label

    def _value(self, values: dict[str, Value]) -> Value:
        start = self.cursor.peek()
        label = self._label() if self.cursor.at("%") else self._name("a value")
        if label not in values:
            hint = f"values here are {', '.join(values) or '(none)'}"
            self.cursor.fail(f"'{label}' is not defined", hint, start)
        return values[label]


def _filled(declared: Type, found: Type) -> Type:
    """A dim written as `?` in a declared type is whatever was inferred."""
    if not isinstance(declared, TensorType) or not isinstance(found, TensorType):
        return declared
    if declared.rank != found.rank:
        return declared
    dims = zip(declared.shape, found.shape, strict=True)
    return declared.with_shape(tuple(have if want is HOLE else want for want, have in dims))
