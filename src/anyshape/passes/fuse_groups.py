"""Which ops are computed together: the groups of nodes that fusion makes kernels of.

Walking from the results backwards, a node joins the group of its users if they are all in one group
and that group can take it:

  - a *map* (elementwise or indexed) is inlined into its users, unless a broadcast there, or
    further on, would compute something costly again and again; reductions keep what several of
    their loops need;
  - a *loop* (reduction or contraction) takes along what follows it if the family of its kernel can
    (`families/`): after a product elementwise ops of its own shape and transposes;
  - reductions of the same *rows* share a kernel with all that is made of them in between, however
    it is spelled (`families/row/space.py`): what is made of reductions stays with their rows, and
    a reshape that adds or drops axes of 1 is no obstacle;
  - views in front of a contraction (transposes, slices, broadcasts, widening casts) join it if its
    family still matches with them: operands read as matrices, say;
  - views that several kernels read are part of each of them, if they leave columns next to each
    other and are of memory that is written anyway: reading it there is cheaper than a copy; so are
    positions (`iota`), which are sooner made than read, and bytes that are widened;
  - a map that is left in front of a dot, and feeds nothing else, joins it if its ops are cheap: the
    dot computes one of its operands itself (`dot_prologue.py`).

Other aliases belong to no group. What is neither map nor loop stays alone, and so does an
elementwise op without machine code (`native_forms.py`). No group is longer than pays (`MOST_OPS`),
or chooses among more parts of concatenations (`MOST_PARTS`), so that kernels and the time to
compile one are bounded, however long a graph is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from anyshape.analysis.matrix_sides import Side
from anyshape.analysis.strided_view import is_view
from anyshape.families import FAMILIES
from anyshape.families.body import Body
from anyshape.families.dot.match import MatmulMatch, matmul_match
from anyshape.families.row.layout import Layout
from anyshape.families.row.space import rows_of, space_of
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node
from anyshape.ir.opdef import Trait
from anyshape.ir.rewrite import Decision, DecisionLog, Refusal
from anyshape.ir.types import TensorType
from anyshape.ops.known import CAST, CONCAT, DOT, GATHER, IOTA, SLICE
from anyshape.ops.movement import SliceAttrs, TransposeAttrs
from anyshape.passes.dot_prologue import objection_to_prologue
from anyshape.passes.native_forms import has_kernel, is_alias, is_alone, is_loop, is_map
from anyshape.sym import Answer, Equal, FactScope

MOST_OPS = 64
"""Ops of a kernel, a compound counted once. Beyond it what is alive no longer fits into registers:
an op of a chain takes half as long again at 128 as at 64, an op of a dense DAG twice as long, and
compiling takes longer for each op. The pass over memory that a cut costs is 1/64 of that."""


MOST_REDUCTIONS = 8
"""Of a row kernel, a compound counted as two. Each is a loop or two over the row, so that kernels
and the time to compile one stay bounded; the pass over memory that a cut costs is 1/8 of that."""


MOST_PARTS = 16
"""Parts of all concatenations in a kernel. Each is tested for each element, and each test is about
the sizes of the parts before it."""


FEWEST_COLUMNS = 16
"""Of a view that several kernels read: shorter runs of memory are better copied once."""


FEW_STEPS = 6
"""Between a float and the place that is made of it: a cast, an offset, and two clamps."""


@dataclass(eq=False)
class Group:
    """Nodes of one kernel, the last one first, and the last reduction or contraction of them."""

    nodes: list[Node] = field(default_factory=list[Node])
    loop: Node | None = None
    before: set[Node] = field(default_factory=set[Node])  # the loop, and what it is computed from

    @property
    def root(self) -> Node:
        return self.nodes[0]

    @property
    def contraction(self) -> Node | None:
        return self.loop if self.loop and self.loop.op.has(Trait.CONTRACTION) else None

    def body_with(self, nodes: Sequence[Node] = ()) -> Body:
        """What the kernel would compute with more nodes in front, the last one first."""
        both = dict.fromkeys([*reversed(nodes), *reversed(self.nodes)])  # they may share views
        return Body.of_nodes(list(both))

    @property
    def parts(self) -> int:
        """Among how many operands of concatenations the kernel chooses."""
        return sum(len(node.operands) for node in self.nodes if node.op is CONCAT)

    @property
    def reductions(self) -> int:
        """How many loops there are over a row."""
        return sum(_reductions_of(node) for node in self.nodes if is_loop(node))

    def feeds_loop(self, users: set[Node]) -> bool:
        """Whether a node with these users is part of what the loop is computed from."""
        return not users.isdisjoint(self.before)

    def add(self, node: Node, users: set[Node]) -> None:
        self.nodes.append(node)
        if is_loop(node):
            self.loop = self.loop or node
        if self.loop is node or self.feeds_loop(users):
            self.before.add(node)

    def add_prologue(self, group: Group) -> None:
        """Takes a whole group in, in front of the loop."""
        self.nodes = [node for node in self.nodes if node not in group.nodes] + group.nodes
        self.before |= set(group.nodes)


class Grouping:
    """The group of every node that is part of a kernel, and why others stayed apart."""

    def __init__(self, graph: Graph, log: DecisionLog, name: str) -> None:
        self.name = name  # of the pass
        self.scope = FactScope.of(graph.facts, distinct_names=False)
        self.locations = graph.locations
        self.groups: dict[Node, Group] = {}
        self.shared: dict[Node, list[Group]] = {}  # views that are part of several
        nodes = graph.nodes()
        self.users: dict[Node, set[Node]] = defaultdict(set)
        for node in nodes:
            for value in node.operands:
                self.users[value.node].add(node)
        self.results = {value.node for value in graph.results}
        self.rows = rows_of(nodes)
        self.repeated: dict[Node, bool] = {}
        self.decisions: dict[Node, Decision] = {}
        for node in reversed(nodes):
            if has_kernel(node):
                self._place(node)
            elif is_alias(node) and (node in self.rows or self._names_a_map(node)):
                self._place_alias(node)
        for node in nodes:
            if node.op is DOT:
                self._take_prologue(self.groups[node])
        for decision in self.decisions.values():
            log.record(decision)

    def _place(self, node: Node) -> None:
        if self._is_shared(node):
            return
        group = self._group_of_users(node)
        if isinstance(group, Group):
            group = self._objection(node, group) or group
        if self.users[node]:
            taken = isinstance(group, Group)
            self._decide(node, taken, f"joins {group.root.op.name}" if taken else str(group))
        if isinstance(group, Refusal):
            group = Group()
        group.add(node, self.users[node])
        self.groups[node] = group

    def _is_shared(self, node: Node) -> bool:
        """Whether a view, positions or widened bytes become part of all kernels that read them."""
        is_view_of_memory = _keeps_columns(node) and self._is_of_memory(node)
        is_cheaper = is_view_of_memory or node.op is IOTA or _widens_bytes(node)
        if node in self.results or not is_cheaper:
            return False
        groups = [self._groups_with(user) for user in self.users[node]]
        several = list(dict.fromkeys(group for some in groups for group in some))
        if len(several) < 2 or not all(groups):
            return False
        if any(self._objection(node, group) is not None for group in several):
            return False
        for group in several:
            group.add(node, self.users[node])
        self.shared[node] = several
        what = "count for themselves" if node.op is IOTA else "read it where it is"
        what = "widen bytes for themselves" if node.op is CAST else what
        self._decide(node, True, f"{len(several)} kernels {what}")
        return True

    def _groups_with(self, node: Node) -> list[Group]:
        group = self.groups.get(node)
        return self.shared.get(node, []) if group is None else [group]

    def _is_of_memory(self, view: Node) -> bool:
        """Whether what it is a view of is written by itself: nothing could take the view along."""
        base = view.operands[0].node
        return not has_kernel(base) or base in self.results or len(self.users[base]) > 1

    def _place_alias(self, node: Node) -> None:
        """What only names a value for each row stays with the rows, or outside of all kernels."""
        group = self._group_of_users(node)
        if isinstance(group, Group) and self._has_same_rows(node, group):
            group.add(node, self.users[node])
            self.groups[node] = group

    def _names_a_map(self, alias: Node) -> bool:
        """Whether it adds axes of 1 to a value that a kernel computes, or drops them."""
        (x,) = alias.operands
        old, new = ([d for d in v.tensor.shape if d != 1] for v in (x, alias.result()))
        return old == new and is_map(x.node)

    def _decide(self, node: Node, taken: bool, why: str) -> None:
        self.decisions[node] = Decision(self.name, taken, why, node, self.locations.of(node))

    def _take_prologue(self, group: Group) -> None:
        """Lets a dot compute an operand, the rows if both could be."""
        match = matmul_match(group.body_with())
        if isinstance(match, MatmulMatch) and not self._takes_side(match, match.rows, group):
            self._takes_side(match, match.columns, group)

    def _takes_side(self, match: MatmulMatch, side: Side, group: Group) -> bool:
        """Takes in the map that computes an operand, if there is one and nothing speaks against."""
        root = side.view.base.node
        maps = self.groups.get(root)
        if maps is None or maps is group or maps.loop or is_alone(root):
            return False
        if self._group_of_users(root) is not group:
            return False
        objection = objection_to_prologue(match, side, maps.nodes, self.scope)
        objection = objection or _refusal(matmul_match(group.body_with(maps.nodes)))
        if not objection or not is_view(root):  # why the dot cannot see through a view is known
            why = str(objection or "joins dot, which computes its operand")
            self._decide(root, not objection, why)
        if objection:
            return False
        group.add_prologue(maps)
        self.groups.update(dict.fromkeys(maps.nodes, group))
        return True

    def _group_of_users(self, node: Node) -> Group | Refusal:
        if node in self.results:
            return Refusal("it is a result of the graph")
        groups = {self.groups.get(user) for user in self.users[node]}
        found = groups.pop() if len(groups) == 1 else None
        return found or Refusal("its users are not in one kernel")

    def _objection(self, node: Node, group: Group) -> Refusal | None:
        """Why `node` cannot join, or had better not."""
        if is_alone(node) or is_alone(group.root):
            alone = node if is_alone(node) else group.root
            return Refusal(f"{alone.op.name} is a kernel of its own")
        if len(group.nodes) >= MOST_OPS:
            return Refusal(f"the kernel has {len(group.nodes)} ops already")
        if node.op is CONCAT and self._is_one_too_many(node, group):
            return Refusal(f"the kernel chooses among {group.parts} parts already")
        if is_loop(node):
            return _objection_to_loop(node, group)
        if group.contraction is not None and group.feeds_loop(self.users[node]):
            return _objection_to_operand(node, group, group.contraction)
        if node in self.rows and not self._has_same_rows(node, group):
            return self._objection_to_leaving(node, group)
        costly = node.op.has(Trait.ELEMENTWISE) and not node.op.is_cheap
        if costly and self._is_repeated(node, group) and not self._is_made_once(node):
            return Refusal("it would be computed again for each use")
        if any(self._are_places(node, user) for user in self.users[node]):
            return Refusal("places are computed once, not for each row that is read at them")
        return None

    def _are_places(self, node: Node, user: Node) -> bool:
        """Whether a gather reads more than one row at coordinates that the node makes places of:
        what casts between floats and indices takes longer than reading does."""
        is_index = user.op is GATHER and user.operands[1].node is node
        return is_index and _is_of_coordinates(node) and self._is_expanded(node, user)

    def _has_same_rows(self, node: Node, group: Group) -> bool:
        """Whether a value that is made of reductions is used by a kernel for the same rows."""
        root, own = self.rows.get(group.root), self.rows.get(node)
        return root is not None and (own is None or root.loops.serves(own.loops))

    def _is_made_once(self, node: Node) -> bool:
        """Whether a kernel for its rows computes it once for each of them."""
        return node in self.rows and self.rows[node].layout is not Layout.FULL

    def _objection_to_leaving(self, node: Node, group: Group) -> Refusal | None:
        """Why a value that is made of reductions stays with their rows. An op on a number for each
        row and what was there before may be computed anywhere: that saves memory for its result."""
        used = [self.rows[v.node] for v in node.operands if v.node in self.rows]
        is_full = self.rows[node].layout is Layout.FULL
        if is_full and node.op.is_cheap and all(row.layout is not Layout.FULL for row in used):
            return None
        return Refusal(f"it stays with its rows, {group.root.op.name} has others")

    def _is_one_too_many(self, concat_: Node, group: Group) -> bool:
        """A concatenation of concatenations along one axis was made to be several kernels."""
        together = any(u.op is CONCAT and u.attrs == concat_.attrs for u in self.users[concat_])
        return together or 0 < group.parts <= MOST_PARTS < group.parts + len(concat_.operands)

    def _is_repeated(self, node: Node, group: Group) -> bool:
        """Whether broadcasting repeats the node's work: for its users, or for what they are for."""
        if node not in self.repeated:
            users = [user for user in self.users[node] if not is_loop(user)]
            inner = [u for u in users if u is not group.root and not self._is_made_once(u)]
            expanded = any(self._is_expanded(node, user) for user in users)
            self.repeated[node] = expanded or any(self._is_repeated(u, group) for u in inner)
        return self.repeated[node]

    def _is_expanded(self, node: Node, user: Node) -> bool:
        """Whether a user has more elements."""
        sizes = user.result().tensor.size, node.result().tensor.size
        return self.scope.proves(Equal(*sizes)) is not Answer.TRUE


def _is_of_coordinates(node: Node) -> bool:
    """Whether integers are made of floats by elementwise ops, in a few steps."""
    reached = [node]
    for _ in range(FEW_STEPS):
        ints = [n for n in reached if n.op.has(Trait.ELEMENTWISE) and not _is_float(n)]
        reached = list({value.node: None for n in ints for value in n.operands})
        if any(_is_float(n) for n in reached):
            return True
    return False


def _is_float(node: Node) -> bool:
    return isinstance(node.types[0], TensorType) and node.types[0].dtype.is_float


def _widens_bytes(node: Node) -> bool:
    """Whether bytes become wider integers: reading them takes a part of what reading these does,
    and products have kernels for bytes (0059)."""
    if node.op is not CAST or not is_view(node):
        return False
    return node.operands[0].tensor.dtype.bits == 8 and node.result().tensor.dtype.is_integer


def _keeps_columns(node: Node) -> bool:
    """Whether it is a view in which neighbours along the last axis are neighbours in memory, and
    there are enough of them for a vector."""
    *_, size = (None, *(dim.constant for dim in node.result().tensor.shape))
    if size is not None and size < FEWEST_COLUMNS:
        return False
    match node.attrs:
        case TransposeAttrs(perm):
            return bool(perm) and perm[-1] == len(perm) - 1
        case SliceAttrs(steps=steps):
            return node.op is SLICE and bool(steps) and steps[-1] == 1
        case _:
            return False


def _objection_to_loop(node: Node, group: Group) -> Refusal | None:
    """Why a loop cannot take along the ops that follow it: what is its kernel on its own must be
    its kernel with them."""
    loop = group.loop
    if loop is not None and (space_of(node) is None or space_of(loop) is None):
        return Refusal(f"the kernel has {loop.op.name} already")
    if group.reductions + _reductions_of(node) > MOST_REDUCTIONS:
        return Refusal(f"the kernel has {group.reductions} reductions already")
    alone, grown = Body.of_nodes([node]), group.body_with([node])
    for family in FAMILIES:
        if family.anchors(node) and _refusal(family.match(alone)) is None:
            return _refusal(family.match(grown)) or family.objection(grown, node)
    return None


def _reductions_of(loop: Node) -> int:
    return 2 if loop.op.is_compound else 1


def _objection_to_operand(node: Node, group: Group, contraction: Node) -> Refusal | None:
    """Why a contraction cannot read its operands through `node`."""
    grown = group.body_with([node])
    families = [f for f in FAMILIES if f.anchors(contraction) and not f.takes_the_rest]
    if not is_view(node) and not any(f.computes(grown, contraction, node) for f in families):
        return Refusal("a contraction reads its operands from memory")
    refusals = [_refusal(family.match(grown)) for family in families]
    return None if None in refusals else refusals[-1]


def _refusal(answer: object) -> Refusal | None:
    return answer if isinstance(answer, Refusal) else None
