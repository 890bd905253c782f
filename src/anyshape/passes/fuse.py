"""Fusion: ops that are computed without memory between them become one `kernel` node.

Walking from the results backwards, a node joins the group of its users if they are all in one group
and that group can take it:

  - a *map* (elementwise or indexed) is inlined into its users, unless a broadcast or a reduction
    there would compute something costly again and again;
  - a *loop* (reduction or contraction) takes along the elementwise ops of its own shape that follow
    it; a group has at most one loop op that is not itself reduced further.

Reshapes are names for the same memory and stay outside. What is neither map nor loop stays alone.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from anyshape.ir.attrs import NO_ATTRS
from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.literal import TensorLiteral
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import PARAM, Trait, lookup
from anyshape.ir.rewrite import Decision, DecisionLog
from anyshape.ops.source import ConstantAttrs
from anyshape.passes.infra import PassContext
from anyshape.sym import Answer, Equal, FactScope

MAP = frozenset({Trait.ELEMENTWISE, Trait.INDEXED})
LOOP = frozenset({Trait.REDUCTION, Trait.CONTRACTION, Trait.ROWWISE})
CHEAP = frozenset(
    {"add", "sub", "mul", "neg", "abs", "maximum", "minimum", "select", "cast", "relu", "eq", "ne"}
    | {"lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_not", "floor", "ceil", "round"}
)
"""Elementwise ops that cost less to compute again than to keep."""


@dataclass(frozen=True)
class Fuse:
    """Makes `kernel` nodes at the top level of a graph."""

    name: str = "fuse"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        grouping = _Grouping(graph, ctx.decisions)
        return _Assembler(graph, grouping.groups).graph()


def is_map(node: Node) -> bool:
    return bool(node.op.traits & MAP) and not node.op.has(Trait.ALIAS) and not node.late


def is_loop(node: Node) -> bool:
    return bool(node.op.traits & LOOP)


def is_number(node: Node) -> bool:
    """A constant of one element: part of the program text rather than an operand."""
    if not isinstance(node.attrs, ConstantAttrs):
        return False
    return isinstance(node.attrs.value, TensorLiteral) and len(node.attrs.value.array.ravel()) == 1


# --- who goes with whom ---------------------------------------------------------------------------


@dataclass(eq=False)
class Group:
    """Nodes of one kernel, the last one first, and the reduction or contraction among them."""

    nodes: list[Node] = field(default_factory=list[Node])
    loop: Node | None = None

    @property
    def root(self) -> Node:
        return self.nodes[0]

    def add(self, node: Node) -> None:
        self.nodes.append(node)
        if is_loop(node):
            self.loop = node


class _Grouping:
    def __init__(self, graph: Graph, log: DecisionLog) -> None:
        self.scope = FactScope.of(graph.facts, distinct_names=False)
        self.locations = graph.locations
        self.log = log
        self.groups: dict[Node, Group] = {}
        nodes = graph.nodes()
        self.users: dict[Node, set[Node]] = defaultdict(set)
        for node in nodes:
            for value in node.operands:
                self.users[value.node].add(node)
        self.results = {value.node for value in graph.results}
        for node in reversed(nodes):
            if is_map(node) or is_loop(node):
                self._place(node)

    def _place(self, node: Node) -> None:
        group, why = self._group_of_users(node)
        if group is not None:
            objection = self._objection(node, group)
            group, why = (None, objection) if objection else (group, f"joins {group.root.op.name}")
        if self.users[node]:
            place = self.locations.of(node)
            self.log.record(Decision(Fuse.name, group is not None, why, node, place))
        group = group or Group()
        group.add(node)
        self.groups[node] = group

    def _group_of_users(self, node: Node) -> tuple[Group | None, str]:
        if node in self.results:
            return None, "it is a result of the graph"
        groups = {self.groups.get(user) for user in self.users[node]}
        if len(groups) != 1 or None in groups:
            return None, "its users are not in one kernel"
        return groups.pop(), ""

    def _objection(self, node: Node, group: Group) -> str:
        """Why `node` cannot join, or ''."""
        if is_loop(node):
            return self._objection_to_loop(node, group)
        repeats = any(is_loop(user) for user in self.users[node]) or self._is_expanded(node)
        if repeats and node.op.has(Trait.ELEMENTWISE) and node.op.name not in CHEAP:
            return "it would be computed again for each use"
        if group.loop is not None and group.loop.op.has(Trait.CONTRACTION) and repeats:
            return "a contraction reads its operands from memory"
        return ""

    def _objection_to_loop(self, node: Node, group: Group) -> str:
        if group.loop is not None:
            return f"the kernel has {group.loop.op.name} already"
        shape = node.result().tensor.shape
        for user in group.nodes:
            if not user.op.has(Trait.ELEMENTWISE) or user.result().tensor.shape != shape:
                return f"{user.op.name} has another shape"
        return ""

    def _is_expanded(self, node: Node) -> bool:
        """Whether some user has more elements: broadcasting repeats the node's work."""
        size = node.result().tensor.size
        return any(
            self.scope.proves(Equal(user.result().tensor.size, size)) is not Answer.TRUE
            and not is_loop(user)
            for user in self.users[node]
        )


# --- making the nodes -----------------------------------------------------------------------------


class _Assembler:
    """Builds the graph again with one node for each group."""

    def __init__(self, graph: Graph, groups: dict[Node, Group]) -> None:
        self.old = graph
        self.groups = groups
        scope = FactScope.of(graph.facts, distinct_names=False)
        self.builder = Builder(scope, graph.weights, graph.locations)
        self.values: dict[Value, Value] = {}

    def graph(self) -> Graph:
        for type_ in self.old.body.params:
            self.builder.param(type_)
        for node in self.old.nodes():
            group = self.groups.get(node)
            if group is None:
                self._keep(node)
            elif group.root is node:
                self._fuse(group)
        results = [self.values[value] for value in self.old.results]
        return self.old.with_body(self.builder.region(results))

    def _keep(self, node: Node) -> None:
        new = node
        if node.op is not PARAM:
            operands = [self.values[value] for value in node.operands]
            self.builder.place = self.old.locations.of(node)
            new = self.builder.node(node.op, operands, node.attrs, node.regions, node.late)
        self.values.update(zip(node.results, new.results, strict=True))

    def _fuse(self, group: Group) -> None:
        inside = set(group.nodes)
        used = dict.fromkeys(v for node in reversed(group.nodes) for v in node.operands)
        outside = [v for v in used if v.node not in inside and not is_number(v.node)]
        body = self._body(group, outside)
        operands = [self.values[value] for value in outside]
        self.builder.place = self.old.locations.of(group.root)
        node = self.builder.node(lookup("kernel"), operands, NO_ATTRS, [body])
        self.values[group.root.result()] = node.result()

    def _body(self, group: Group, outside: list[Value]) -> Region:
        inner = self.builder.nested()
        made = {value: inner.param(self.values[value].type) for value in outside}
        for node in reversed(group.nodes):  # they joined users first
            for value in node.operands:
                if value not in made:  # a number
                    made[value] = inner.node(value.node.op, (), value.node.attrs).result()
            operands = [made[value] for value in node.operands]
            made[node.result()] = inner.node(node.op, operands, node.attrs).result()
        return inner.region([made[group.root.result()]])
