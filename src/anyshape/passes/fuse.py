"""Fusion: ops that are computed without memory between them become one `kernel` node.

Walking from the results backwards, a node joins the group of its users if they are all in one group
and that group can take it:

  - a *map* (elementwise or indexed) is inlined into its users, unless a broadcast there would
    compute something costly again and again; reductions keep what several of their loops need;
  - a *loop* (reduction or contraction) takes along the elementwise ops of its own shape that follow
    it; a group has at most one loop op that is not itself reduced further;
  - a dot also takes along transposes that follow it, if they leave its rows or its columns
    together, and views in front of it (transposes, slices, broadcasts, widening casts), if its
    operands still read as matrices. It reads nothing else than views of memory: whatever else comes
    before it would be computed once for each panel of columns;
  - an attention takes along what leaves its columns last, and any views in front of it;
  - a grouped dot reads its operands from memory as they are.

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
from anyshape.passes.dot_epilogue import epilogue_orders, has_run_at_end
from anyshape.passes.infra import PassContext
from anyshape.passes.matrix_sides import reads_as_matrices, side_of
from anyshape.passes.strided_view import is_view
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


def is_alone(node: Node) -> bool:
    """Whether nothing shares a kernel with it."""
    return node.op.has(Trait.ALONE)


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
    before: set[Node] = field(default_factory=set[Node])  # the loop, and what it is computed from

    @property
    def root(self) -> Node:
        return self.nodes[0]

    @property
    def contraction(self) -> Node | None:
        return self.loop if self.loop and self.loop.op.has(Trait.CONTRACTION) else None

    def feeds_loop(self, users: set[Node]) -> bool:
        """Whether a node with these users is part of what the loop is computed from."""
        return not users.isdisjoint(self.before)

    def add(self, node: Node, users: set[Node]) -> None:
        self.nodes.append(node)
        if is_loop(node):
            self.loop = node
        if self.loop is node or self.feeds_loop(users):
            self.before.add(node)


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
            if is_map(node) or is_loop(node) or is_alone(node):
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
        group.add(node, self.users[node])
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
        if is_alone(node) or is_alone(group.root):
            return f"{(node if is_alone(node) else group.root).op.name} is a kernel of its own"
        if is_loop(node):
            return self._objection_to_loop(node, group)
        if group.contraction is not None and group.feeds_loop(self.users[node]):
            return _objection_to_operand(node, group)
        costly = node.op.has(Trait.ELEMENTWISE) and node.op.name not in CHEAP
        if costly and self._is_expanded(node):
            return "it would be computed again for each use"
        return ""

    def _objection_to_loop(self, node: Node, group: Group) -> str:
        if group.loop is not None:
            return f"the kernel has {group.loop.op.name} already"
        if node.op.name == "dot":
            return _objection_to_dot(node, group)
        if node.op.name == "attention":
            return _objection_to_attention(node, group)
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


def _objection_to_operand(node: Node, group: Group) -> str:
    """Why a contraction cannot read its operands through `node`."""
    dot = group.contraction
    if dot is None or dot.op.name == "grouped_dot" or not is_view(node):
        return "a contraction reads its operands from memory"
    if dot.op.name == "attention":  # reads rows of any strides
        return ""
    if not reads_as_matrices(dot, lambda seen: seen is node or seen in group.before):
        return "rows, columns or depth would be apart in memory"
    return ""


def _objection_to_dot(dot: Node, group: Group) -> str:
    """Why a dot cannot take along what follows it."""
    orders = epilogue_orders(dot, reversed(group.nodes))
    if isinstance(orders, str):
        return orders
    lhs, rhs = (side_of(dot, side, lambda _: False) for side in range(2))
    batch, rank = len(lhs.batch), dot.result().tensor.rank
    ends = tuple(range(rank - len(rhs.free), rank)), tuple(range(batch, batch + len(lhs.free)))
    order = orders[group.root]
    if order != orders[dot] and not any(has_run_at_end(order, axes) for axes in ends):
        return "a transpose would take its columns apart"
    return ""


def _objection_to_attention(attention: Node, group: Group) -> str:
    """Why attention cannot take along what follows it."""
    orders = epilogue_orders(attention, reversed(group.nodes))
    if isinstance(orders, str):
        return orders
    columns = attention.result().tensor.rank - 1
    if not has_run_at_end(orders[group.root], (columns,)):
        return "a transpose would take its columns apart"
    return ""


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
        # An op alone reads all its operands from memory, numbers too.
        inside |= set() if is_alone(group.root) else {v.node for v in used if is_number(v.node)}
        outside = [v for v in used if v.node not in inside]
        body = self._body(group, outside)
        operands = [self.values[value] for value in outside]
        self.builder.place = self.old.locations.of(group.root)
        node = self.builder.node(lookup("kernel"), operands, NO_ATTRS, [body])
        self.values.update(zip(group.root.results, node.results, strict=True))

    def _body(self, group: Group, outside: list[Value]) -> Region:
        inner = self.builder.nested()
        made = {value: inner.param(self.values[value].type) for value in outside}
        for node in reversed(group.nodes):  # they joined users first
            for value in node.operands:
                if value not in made:  # a number
                    made[value] = inner.node(value.node.op, (), value.node.attrs).result()
            operands = [made[value] for value in node.operands]
            new = inner.node(node.op, operands, node.attrs)
            made.update(zip(node.results, new.results, strict=True))
        return inner.region([made[value] for value in group.root.results])
