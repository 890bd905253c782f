"""Which ops are computed together: the groups of nodes that fusion makes kernels of.

Walking from the results backwards, a node joins the group of its users if they are all in one group
and that group can take it:

  - a *map* (elementwise or indexed) is inlined into its users, unless a broadcast there would
    compute something costly again and again; reductions keep what several of their loops need;
  - a *loop* (reduction or contraction) takes along the elementwise ops of its own shape that follow
    it; a group has at most one loop op that is not itself reduced further;
  - a dot also takes along transposes that follow it, if they leave its rows or its columns
    together, and views in front of it (transposes, slices, broadcasts, widening casts), if its
    operands still read as matrices;
  - a map that is left in front of a dot, and feeds nothing else, joins it if its ops are cheap: the
    dot computes one of its operands itself (`dot_prologue.py`);
  - an attention takes along what leaves its columns last, and any views in front of it;
  - a grouped dot reads its operands from memory as they are, and constant weights transposed.

Aliases belong to no group. What is neither map nor loop stays alone, and so does an elementwise op
without machine code (`native_forms.py`). No group is longer than pays (`MOST_OPS`), or chooses
among more parts of concatenations (`MOST_PARTS`), so that kernels and the time to compile one are
bounded, however long a graph is.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from anyshape.ir.graph import Graph
from anyshape.ir.node import Node
from anyshape.ir.opdef import Trait
from anyshape.ir.rewrite import Decision, DecisionLog
from anyshape.ops.movement import concat
from anyshape.ops.source import ConstantAttrs
from anyshape.passes.dot_epilogue import epilogue_orders, has_run_at_end
from anyshape.passes.dot_prologue import DotSides, dot_sides, objection_to_prologue
from anyshape.passes.matrix_sides import Side, reads_as_matrices, side_of
from anyshape.passes.native_forms import has_kernel, is_alone, is_loop
from anyshape.passes.strided_view import is_view
from anyshape.sym import Answer, Equal, FactScope

MOST_OPS = 64
"""Ops of a kernel, a compound counted once. Beyond it what is alive no longer fits into registers:
an op of a chain takes half as long again at 128 as at 64, an op of a dense DAG twice as long, and
LLVM's time for each op begins to grow. The pass over memory that a cut costs is 1/64 of that."""


MOST_PARTS = 16
"""Parts of all concatenations in a kernel. Each is tested for each element, and each test is about
the sizes of the parts before it."""


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

    @property
    def parts(self) -> int:
        """Among how many operands of concatenations the kernel chooses."""
        return sum(len(node.operands) for node in self.nodes if node.op is concat)

    def feeds_loop(self, users: set[Node]) -> bool:
        """Whether a node with these users is part of what the loop is computed from."""
        return not users.isdisjoint(self.before)

    def add(self, node: Node, users: set[Node]) -> None:
        self.nodes.append(node)
        if is_loop(node):
            self.loop = node
        if self.loop is node or self.feeds_loop(users):
            self.before.add(node)

    def add_prologue(self, group: Group) -> None:
        """Takes a whole group in, in front of the loop."""
        self.nodes += group.nodes
        self.before |= set(group.nodes)


class Grouping:
    """The group of every node that is part of a kernel, and why others stayed apart."""

    def __init__(self, graph: Graph, log: DecisionLog, name: str) -> None:
        self.name = name  # of the pass
        self.scope = FactScope.of(graph.facts, distinct_names=False)
        self.locations = graph.locations
        self.groups: dict[Node, Group] = {}
        nodes = graph.nodes()
        self.users: dict[Node, set[Node]] = defaultdict(set)
        for node in nodes:
            for value in node.operands:
                self.users[value.node].add(node)
        self.results = {value.node for value in graph.results}
        self.decisions: dict[Node, Decision] = {}
        for node in reversed(nodes):
            if has_kernel(node):
                self._place(node)
        for dot in nodes:
            if dot.op.name == "dot":
                self._take_prologue(dot, self.groups[dot])
        for decision in self.decisions.values():
            log.record(decision)

    def _place(self, node: Node) -> None:
        group, why = self._group_of_users(node)
        if group is not None:
            objection = self._objection(node, group)
            group, why = (None, objection) if objection else (group, f"joins {group.root.op.name}")
        if self.users[node]:
            self._decide(node, group is not None, why)
        group = group or Group()
        group.add(node, self.users[node])
        self.groups[node] = group

    def _decide(self, node: Node, taken: bool, why: str) -> None:
        self.decisions[node] = Decision(self.name, taken, why, node, self.locations.of(node))

    def _take_prologue(self, dot: Node, group: Group) -> None:
        """Lets the dot compute an operand, the rows if both could be."""
        sides = dot_sides(dot, group.nodes, group.before.__contains__)
        if sides is not None and not self._takes_side(sides, sides.rows, group):
            self._takes_side(sides, sides.columns, group)

    def _takes_side(self, sides: DotSides, side: Side, group: Group) -> bool:
        """Takes in the map that computes an operand, if there is one and nothing speaks against."""
        root = side.view.base.node
        maps = self.groups.get(root)
        if maps is None or maps.loop or is_alone(root):
            return False
        if self._group_of_users(root)[0] is not group:
            return False
        objection = objection_to_prologue(sides, side, maps.nodes, self.scope)
        if not objection or not is_view(root):  # why the dot cannot see through a view is known
            self._decide(root, not objection, objection or "joins dot, which computes its operand")
        if objection:
            return False
        group.add_prologue(maps)
        self.groups.update(dict.fromkeys(maps.nodes, group))
        return True

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
        if len(group.nodes) >= MOST_OPS:
            return f"the kernel has {len(group.nodes)} ops already"
        if node.op is concat and self._is_one_too_many(node, group):
            return f"the kernel chooses among {group.parts} parts already"
        if is_loop(node):
            return self._objection_to_loop(node, group)
        if group.contraction is not None and group.feeds_loop(self.users[node]):
            return _objection_to_operand(node, group)
        costly = node.op.has(Trait.ELEMENTWISE) and not node.op.is_cheap
        if costly and self._is_expanded(node):
            return "it would be computed again for each use"
        return ""

    def _is_one_too_many(self, concat_: Node, group: Group) -> bool:
        """A concatenation of concatenations along one axis was made to be several kernels."""
        together = any(u.op is concat and u.attrs == concat_.attrs for u in self.users[concat_])
        return together or 0 < group.parts <= MOST_PARTS < group.parts + len(concat_.operands)

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
    grouped = dot is not None and dot.op.name == "grouped_dot"
    if dot is None or not is_view(node) or (grouped and not _is_turned_constant(node, dot)):
        return "a contraction reads its operands from memory"
    if grouped or dot.op.name == "attention":  # read rows of any strides
        return ""
    if not reads_as_matrices(dot, lambda seen: seen is node or seen in group.before):
        return "rows, columns or depth would be apart in memory"
    return ""


def _is_turned_constant(node: Node, dot: Node) -> bool:
    """Whether a node is a transpose of constant weights, which are stored in panels in any case."""
    constant = isinstance(node.operands[0].node.attrs, ConstantAttrs)
    return constant and node.op.name == "transpose" and node is dot.operands[1].node


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
