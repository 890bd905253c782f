"""The verifier: invariants every graph keeps, checked by inferring everything again.

It asks, for each node, whether the rules of its op still give the recorded types under the facts
of the region, and whether these facts include what the op requires; whether every symbol has one
source; whether tokens are used once; and whether regions are closed. `verify_facts_kept` compares
two graphs: what was known of the first is known of the second. A failure is a defect of the pass or
frontend that made the graph, never of the user.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from anyshape.base.errors import AnyshapeError, VerifyError
from anyshape.ir.attrs import check_attrs
from anyshape.ir.build import infer
from anyshape.ir.context import ShapeContext
from anyshape.ir.graph import Graph
from anyshape.ir.inputs import entry_facts
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import PARAM, param_index
from anyshape.ir.types import TensorType, TokenType, Type
from anyshape.sym import (
    HOLE,
    Answer,
    Axis,
    Dim,
    Divisible,
    Equal,
    Fact,
    FactScope,
    LessEqual,
    Predicate,
    Prover,
    Symbol,
    bcast,
)
from anyshape.sym.factor import Bcast


class _Asking(ShapeContext):
    """Asks for what an op requires instead of recording it: by now it is known or a fact."""

    def require(self, predicate: Predicate, what: str) -> None:
        if self.scope.proves(predicate) is not Answer.TRUE:
            raise VerifyError(self.op.name, f"needs {predicate}, which is no fact: {what}")


def verify(graph: Graph) -> Graph:
    """Returns `graph` if it keeps every invariant, else raises VerifyError."""
    if len(graph.inputs) != len(graph.body.params):
        raise VerifyError(f"graph '{graph.name}'", "has another number of names than parameters")
    if len(set(graph.inputs)) != len(graph.inputs):
        raise VerifyError(f"graph '{graph.name}'", "has two inputs of one name")
    verify_region(graph.body, FactScope.of(graph.facts), frozenset())
    return graph


def verify_region(region: Region, scope: FactScope, outer: frozenset[Symbol]) -> None:
    """`outer` holds the symbols that have a size around this region."""
    sized = outer.union(*(type_.symbols for type_ in region.params))
    declared = frozenset(axis.symbol for axis in region.facts.axes)
    solved = frozenset(symbol for fact in region.facts.facts for symbol in fact.predicate.symbols)
    nodes = region.nodes()
    _verify_tokens(nodes, region.results)
    for node in nodes:
        if node.op is PARAM:
            _verify_param(node, region)
            continue
        _verify_late(node, sized)
        sized |= {late.symbol for late in node.late}
        _verify_symbols(node, sized | declared | solved)
        _verify_types(node, scope)
        for inner in node.regions:
            verify_region(inner, FactScope.of(inner.facts, parent=scope), sized | declared | solved)


def _verify_param(node: Node, region: Region) -> None:
    index = param_index(node)
    if index >= len(region.params) or region.params[index] != node.types[0]:
        raise VerifyError(f"parameter {index}", "belongs to another region")


def _verify_late(node: Node, sized: frozenset[Symbol]) -> None:
    for late in node.late:
        if late.symbol in sized:
            raise VerifyError(node.op.name, f"bears '{late.symbol}', which has a size already")


def _verify_symbols(node: Node, bound: frozenset[Symbol]) -> None:
    dims = [dim for type_ in node.types if isinstance(type_, TensorType) for dim in type_.shape]
    if HOLE in dims:
        raise VerifyError(node.op.name, "has a dim without a symbol")
    for symbol in node.symbols - bound:
        raise VerifyError(node.op.name, f"uses symbol '{symbol}', which nothing gives a size")


def _verify_types(node: Node, scope: FactScope) -> None:
    try:
        check_attrs(node.op.name, node.attrs)
        ctx = _Asking(node.op, scope, late=node.late)
        types = infer(ctx, [value.type for value in node.operands], node.attrs, node.regions)
    except VerifyError:
        raise
    except AnyshapeError as error:
        raise VerifyError(node.op.name, f"cannot be inferred again: {error}") from error
    if not provably_same(scope, types, node.types):
        raise VerifyError(node.op.name, f"is recorded as {node.types}, inferred as {types}")


def provably_same(scope: FactScope, left: Sequence[Type], right: Sequence[Type]) -> bool:
    """Whether the facts prove both lists of types to mean the same."""
    return len(left) == len(right) and all(
        _same_type(scope, *pair) for pair in zip(left, right, strict=True)
    )


def _same_type(scope: FactScope, left: Type, right: Type) -> bool:
    if not isinstance(left, TensorType) or not isinstance(right, TensorType):
        return left == right
    return (
        left.dtype == right.dtype
        and left.rank == right.rank
        and all(_same_dim(scope, *dims) for dims in zip(left.shape, right.shape, strict=True))
    )


def _same_dim(scope: FactScope, left: Dim, right: Dim) -> bool:
    """Inference asks about the parts of a broadcast one by one, so the same is done here."""
    return scope.proves(Equal(left, right)) is Answer.TRUE or _without_ones(
        scope, left
    ) == _without_ones(scope, right)


def _without_ones(scope: FactScope, dim: Dim) -> Dim:
    if not isinstance(dim.factor, Bcast):
        return dim
    one, args = Dim.of(1), dim.factor.args
    return bcast(one, *(arg for arg in args if scope.proves(Equal(arg, one)) is not Answer.TRUE))


def _verify_tokens(nodes: Sequence[Node], results: Sequence[Value]) -> None:
    uses = Counter(value for node in nodes for value in node.operands)
    uses.update(results)
    for value, count in uses.items():
        if isinstance(value.type, TokenType) and count > 1:
            raise VerifyError(value.node.op.name, f"gives a token that is used {count} times")


# --- facts of two graphs --------------------------------------------------------------------------


def verify_facts_kept(before: Graph, after: Graph) -> None:
    """Whatever is known of the sizes of `before` is stated for `after`, or follows.

    What an op requires of a size goes with the size: nobody asks for it any more.
    """
    stated = _statements(after)
    lost = [statement for statement in _statements(before) if statement not in stated]
    if not lost:
        return
    axes = [item for item in stated if isinstance(item, Axis)]
    prover = Prover(axes, [item.predicate for item in stated if isinstance(item, Fact)])
    present = after.body.symbols.union(*(_symbols(item) for item in stated))
    for statement in lost:
        if not _is_over(statement, present) and not _follows(statement, prover):
            raise VerifyError(f"graph '{after.name}'", f"has lost the fact '{statement}'")


def _statements(graph: Graph) -> dict[Axis | Fact, None]:
    """What callers were told, and what the body says; facts count by what they say."""
    told, inside = entry_facts(graph), graph.facts
    facts = (Fact(fact.predicate, fact.origin) for fact in (*told.facts, *inside.facts))
    return dict.fromkeys((*told.axes, *inside.axes, *facts))


def _symbols(statement: Axis | Fact) -> frozenset[Symbol]:
    if isinstance(statement, Axis):
        return frozenset({statement.symbol})
    return statement.predicate.symbols


def _is_over(statement: Axis | Fact, present: frozenset[Symbol]) -> bool:
    required = isinstance(statement, Fact) and statement.origin.is_required
    return required and not _symbols(statement) <= present


def _follows(statement: Axis | Fact, prover: Prover) -> bool:
    if isinstance(statement, Fact):
        return prover.proves(statement.predicate) is Answer.TRUE
    has_no_gaps = len(statement.ranges) == 1
    return has_no_gaps and all(prover.proves(p) is Answer.TRUE for p in _said(statement))


def _said(axis: Axis) -> Iterator[Predicate]:
    size = Dim.of(axis.symbol)
    yield LessEqual(Dim.of(axis.min), size)
    if axis.max is not None:
        yield LessEqual(size, Dim.of(axis.max))
    yield Divisible(size, Dim.of(axis.multiple_of))
