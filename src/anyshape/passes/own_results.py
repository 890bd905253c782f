"""Results that are no kernel's own output get a kernel that copies them.

A result of the graph has memory of its own, which its caller keeps. An input, a constant or a
reshape has not. What a host node computes may have: only its run shows.

A reshape of what one kernel makes for it alone needs no copy: the kernel's result has that shape
then, and its memory is the same (`lower/named_results.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from anyshape.ir.attrs import NO_ATTRS
from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Value
from anyshape.ir.opdef import lookup
from anyshape.ir.rewrite.inline import inline_region
from anyshape.ir.rewrite.rebuild import CountingRebuilder, rebuild_graph
from anyshape.ir.types import TokenType
from anyshape.ops.known import APPEND, KERNEL
from anyshape.passes.infra import PassContext
from anyshape.passes.native_forms import is_alias, is_host

OWN = frozenset({KERNEL, APPEND})
"""Ops whose results have memory that nothing else is a name of."""


@dataclass(frozen=True)
class OwnResults:
    """Gives every result memory of its own."""

    name: str = "own-results"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        return rebuild_graph(_Copier(), graph)


class _Copier(CountingRebuilder):
    def __init__(self) -> None:
        super().__init__()
        self.appended: set[Value] = set()  # they have a place

    def rebuilt(self, node: Node, operands: tuple[Value, ...], builder: Builder) -> Node:
        """Regions stay as they are: only the graph's own results leave it."""
        if node.op is APPEND:
            self.appended.add(root_of(operands[1]))
        new = builder.node(node.op, operands, node.attrs, node.regions, node.late)
        self.uses[new] = self.uses[node]
        return new

    def result(self, value: Value, builder: Builder) -> Value:
        own = value.node.op in OWN or isinstance(value.type, TokenType)
        if own or is_host(root_of(value).node):
            return value
        if self._is_only_name(value):
            return renamed(value, builder)
        made = copied(value, builder)
        return copied(made, builder) if made in self.appended else made

    def _is_only_name(self, value: Value) -> bool:
        """Whether a kernel computes this for nothing else, and it has no other name."""
        nodes = [value.node]
        while is_alias(nodes[-1]):
            nodes.append(nodes[-1].operands[0].node)
        is_kernel = nodes[-1].op is KERNEL and len(nodes[-1].results) == 1
        return is_kernel and all(self.uses[node] == 1 for node in nodes)


def renamed(value: Value, builder: Builder) -> Value:
    """The kernel behind a reshape, with a result of the same shape."""
    kernel, tensor = root_of(value).node, value.tensor
    inner = builder.nested(kernel.regions[0].facts)
    params = [inner.param(type_) for type_ in kernel.regions[0].params]
    (own,) = inline_region(kernel.regions[0], params, inner)
    body = inner.region([inner.emit("reshape", own, shape=tensor.shape)])
    return builder.node(KERNEL, kernel.operands, NO_ATTRS, [body]).result()


def copied(value: Value, builder: Builder) -> Value:
    """The result of a kernel that does nothing else."""
    inner = builder.nested()
    body = inner.region([inner.param(value.type)])
    return builder.node(lookup("kernel"), [value], NO_ATTRS, [body]).result()


def root_of(value: Value) -> Value:
    """The value whose memory this one is a name of."""
    while is_alias(value.node):
        value = value.node.operands[0]
    return value
