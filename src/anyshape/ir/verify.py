"""The verifier: invariants every graph keeps, checked by inferring everything again.

It asks, for each node, whether the rules of its op still give the recorded types under the facts
of the region; whether every symbol has a source; whether tokens are used once; and whether regions
are closed. A failure is a defect of the pass or frontend that made the graph, never of the user.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import cast

from anyshape.base.errors import AnyshapeError, VerifyError
from anyshape.ir.attrs import check_attrs
from anyshape.ir.build import infer
from anyshape.ir.context import ShapeContext
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import PARAM, ParamAttrs
from anyshape.ir.types import TensorType, TokenType, Type
from anyshape.sym import HOLE, Answer, Equal, FactScope, Symbol


def verify(graph: Graph) -> Graph:
    """Returns `graph` if it keeps every invariant, else raises VerifyError."""
    if len(graph.inputs) != len(graph.body.params):
        raise VerifyError(f"graph '{graph.name}'", "has another number of names than parameters")
    if len(set(graph.inputs)) != len(graph.inputs):
        raise VerifyError(f"graph '{graph.name}'", "has two inputs of one name")
    known = frozenset(Symbol(axis.name) for axis in graph.facts.axes)
    verify_region(graph.body, FactScope.of(graph.facts), known)
    return graph


def verify_region(region: Region, scope: FactScope, outer: frozenset[Symbol]) -> None:
    """`outer` holds the symbols that are bound around this region."""
    bound = outer.union(*(type_.symbols for type_ in region.params))
    bound |= frozenset(symbol for fact in region.facts.facts for symbol in fact.predicate.symbols)
    nodes = region.nodes()
    _verify_tokens(nodes, region.results)
    for node in nodes:
        if node.op is PARAM:
            _verify_param(node, region)
            continue
        bound |= {late.symbol for late in node.late}
        _verify_symbols(node, bound)
        _verify_types(node, scope)
        for inner in node.regions:
            verify_region(inner, FactScope.of(inner.facts, parent=scope), bound)


def _verify_param(node: Node, region: Region) -> None:
    index = cast(ParamAttrs, node.attrs).index
    if index >= len(region.params) or region.params[index] != node.types[0]:
        raise VerifyError(f"parameter {index}", "belongs to another region")


def _verify_symbols(node: Node, bound: frozenset[Symbol]) -> None:
    dims = [dim for type_ in node.types if isinstance(type_, TensorType) for dim in type_.shape]
    if HOLE in dims:
        raise VerifyError(node.op.name, "has a dim without a symbol")
    for symbol in node.symbols - bound:
        raise VerifyError(node.op.name, f"uses symbol '{symbol}', which nothing gives a size")


def _verify_types(node: Node, scope: FactScope) -> None:
    probe = scope.child()  # requirements asked again are not recorded twice
    try:
        check_attrs(node.op.name, node.attrs)
        ctx = ShapeContext(node.op, probe, late=node.late)
        types = infer(ctx, [value.type for value in node.operands], node.attrs, node.regions)
    except AnyshapeError as error:
        raise VerifyError(node.op.name, f"cannot be inferred again: {error}") from error
    if not provably_same(probe, types, node.types):
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
        and all(
            scope.proves(Equal(*dims)) is Answer.TRUE
            for dims in zip(left.shape, right.shape, strict=True)
        )
    )


def _verify_tokens(nodes: Sequence[Node], results: Sequence[Value]) -> None:
    uses = Counter(value for node in nodes for value in node.operands)
    uses.update(results)
    for value, count in uses.items():
        if isinstance(value.type, TokenType) and count > 1:
            raise VerifyError(value.node.op.name, f"gives a token that is used {count} times")
