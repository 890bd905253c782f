"""Building graphs: type inference and interning behind one method, `Builder.node`.

A builder belongs to one region: it knows the region's fact scope and counts its parameters. Fresh
symbols that were unified with others while building are replaced when the region is finished, so
that an unnamed dim of the source shows the name it adopted.
"""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.base.errors import DimError
from anyshape.base.location import Location
from anyshape.ir.attrs import Attrs, check_attrs, make_attrs, map_dims
from anyshape.ir.context import ShapeContext
from anyshape.ir.graph import Graph
from anyshape.ir.literal import WeightStore, literal_or_weight
from anyshape.ir.node import LateAxis, Locations, Node, Region, Value, keeping_sizes
from anyshape.ir.opdef import PARAM, AnyOp, ParamAttrs, lookup
from anyshape.ir.substitute import substitute_region
from anyshape.ir.types import Array, TensorType, TokenType, Type
from anyshape.sym import HOLE, Answer, Dim, Facts, FactScope, LessEqual, Symbol


class Builder:
    """Makes the nodes of one region."""

    def __init__(
        self,
        scope: FactScope,
        weights: WeightStore | None = None,
        locations: Locations | None = None,
    ) -> None:
        self.scope = scope
        self.weights = WeightStore() if weights is None else weights
        self.locations = Locations() if locations is None else locations
        self.location: Location | None = None
        self.params: list[Value] = []
        self._bearers: dict[Symbol, Node] = {}
        self._inferred = InferredTypes()

    @staticmethod
    def at_entry(facts: Facts | None = None, *, strict: bool = False) -> Builder:
        """A builder for a whole graph."""
        return Builder(FactScope.of(facts or Facts(), strict=strict))

    def nested(self, facts: Facts | None = None) -> Builder:
        """A builder for a region inside this one: it sees these facts, not the reverse."""
        scope = FactScope.of(facts or Facts(), parent=self.scope)
        inner = Builder(scope, self.weights, self.locations)
        inner.location = self.location
        return inner

    # --- values -------------------------------------------------------------------------------

    def param(self, type_: Type) -> Value:
        """The next parameter; a dynamic dim without a name becomes a fresh symbol."""
        self.reserve(type_)
        node = Node.make(PARAM, (), ParamAttrs(len(self.params)), (self._instantiate(type_),))
        self.params.append(node.result())
        return node.result()

    def reserve(self, type_: Type) -> None:
        """Keeps fresh symbols apart from those that a type brings along (`?3` of another graph)."""
        for symbol in type_.symbols:
            self.scope.reserve(symbol)

    def _instantiate(self, type_: Type) -> Type:
        if not isinstance(type_, TensorType):
            return type_
        return type_.with_shape(
            tuple(self.scope.fresh() if dim is HOLE else dim for dim in type_.shape)
        )

    def constant(self, array: Array) -> Value:
        return self.emit("constant", value=literal_or_weight(array, self.weights))

    def emit(self, op: str, *operands: Value, **attrs: object) -> Value:
        """The only result of `op`, its attributes given loosely."""
        entry = lookup(op)
        return self.node(entry, operands, make_attrs(op, entry.attrs, attrs)).result()

    def node(
        self,
        op: AnyOp,
        operands: Sequence[Value],
        attrs: Attrs,
        regions: Sequence[Region] = (),
        late: Sequence[LateAxis] = (),
    ) -> Node:
        """Infers the result types and interns the node. `late` keeps symbols of an older node."""
        check_attrs(op.name, attrs)
        ctx = ShapeContext(op, self.scope, self.location, late)
        given = [self.resolve_type(value.type) for value in operands]
        if regions or late or not operands:
            types = infer(ctx, given, attrs, regions)
        else:
            types = self._inferred.types(ctx, given, attrs)
        node = Node.make(op, operands, attrs, types, regions, ctx.late)
        self.locations.record(node, self.location)
        self.bears(node)
        return node

    def moved(self, node: Node, operands: Sequence[Value]) -> Node:
        """A node of the region around on other operands. If these have the types of its own, so
        have its results, and what it requires is known already."""
        types = [value.type for value in node.operands]
        if node.late or node.regions or [self.resolve_type(v.type) for v in operands] != types:
            return self.node(node.op, operands, node.attrs, node.regions, node.late)
        new = Node.make(node.op, operands, node.attrs, node.types)
        self.locations.record(new, self.location)
        return new

    def resolve_type(self, type_: Type) -> Type:
        """The type with every symbol that has adopted another replaced."""
        if isinstance(type_, TokenType) or not self.scope.has_adopted:
            return type_
        return type_.with_shape(tuple(self.scope.resolve(dim) for dim in type_.shape))

    # --- whole regions ------------------------------------------------------------------------

    def region(self, results: Sequence[Value]) -> Region:
        """The finished region. Facts on late sizes that no result needs go with their nodes."""
        params = tuple(value.type for value in self.params)
        adopted = self.scope.adopted()
        bearers = {symbol: n for symbol, n in self._bearers.items() if symbol not in adopted}
        bare = keeping_sizes(Region(params, tuple(results), Facts()), bearers)
        region = bare.with_facts(self.scope.freeze(bare.born))
        return substitute_region(region, adopted, self.locations)

    def _check_sizes(self, name: str, type_: Type) -> None:
        """Refuses a size of an input that the facts show to be negative for every binding."""
        dims = type_.shape if isinstance(type_, TensorType) else ()
        for dim in (self.scope.resolve(dim) for dim in dims):
            is_plain = dim.symbol is not None or dim.constant is not None
            if not is_plain and self.scope.proves(LessEqual(dim, Dim.of(-1))) is Answer.TRUE:
                problem = f"a size is not negative, and this one of input '{name}' always is"
                fix = "change it, or the facts that make it so"
                raise DimError(str(dim), problem, fix)

    def bears(self, node: Node) -> None:
        """Remembers which node computes which late sizes."""
        self._bearers.update((late.symbol, node) for late in node.late)

    def graph(self, name: str, inputs: Sequence[str], results: Sequence[Value]) -> Graph:
        """The finished graph."""
        for number, value in enumerate(self.params):
            self._check_sizes(inputs[number] if number < len(inputs) else "?", value.type)
        return Graph(name, tuple(inputs), self.region(results), self.weights, self.locations)


class InferredTypes:
    """Result types that rules have found, as long as nothing is learnt: layers are alike, and so
    are their types. A rule that learns, or bears a late axis, is asked again."""

    def __init__(self) -> None:
        self._known: dict[object, tuple[Type, ...]] = {}
        self._knowledge: object = None

    def types(self, ctx: ShapeContext, types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        """Of an op without regions on operands of these types."""
        knowledge = ctx.scope.knowledge
        if knowledge is not self._knowledge:
            self._known.clear()
            self._knowledge = knowledge
        key = (ctx.op, attrs, *types)
        known = self._known.get(key)
        if known is None:
            known = infer(ctx, types, attrs, ())
            if not ctx.late and ctx.scope.knowledge is knowledge:
                self._known[key] = known
        return known


def infer(
    ctx: ShapeContext, types: Sequence[Type], attrs: Attrs, regions: Sequence[Region]
) -> tuple[Type, ...]:
    """Result types by the op's rules."""
    op = ctx.op
    op.signature.check(op.name, len(types))
    if len(regions) != len(op.regions):
        raise ctx.refuse_operand(f"has {len(regions)} regions, expected {', '.join(op.regions)}")
    if op.type_rule is not None:
        return op.type_rule(ctx, types, attrs, regions)
    assert op.dtype_rule is not None
    assert op.shape_rule is not None
    tensors = require_tensors(ctx, types)
    dtypes = op.dtype_rule(op.name, [tensor.dtype for tensor in tensors], attrs)
    resolved = map_dims(attrs, ctx.scope.resolve)
    shapes = op.shape_rule(ctx, [tensor.shape for tensor in tensors], resolved)
    return tuple(TensorType(*pair) for pair in zip(dtypes, shapes, strict=True))


def require_tensors(ctx: ShapeContext, types: Sequence[Type]) -> list[TensorType]:
    """The types, all of which must be tensors."""
    for index, type_ in enumerate(types):
        if not isinstance(type_, TensorType):
            name = ctx.op.signature.name(index)
            raise ctx.refuse_operand(f"operand '{name}' is a {type_}, expected a tensor")
    return [type_ for type_ in types if isinstance(type_, TensorType)]


def decomposition(
    op: AnyOp,
    types: Sequence[Type],
    attrs: Attrs,
    weights: WeightStore,
    scope: FactScope | None = None,
) -> Region:
    """The body of a compound op at the given operand types."""
    assert op.decompose is not None, f"{op.name} is a primitive"
    inner = Builder(scope or FactScope.of(Facts()), weights)
    operands = [inner.param(type_) for type_ in types]
    return inner.region([op.decompose(inner, operands, attrs)])
