"""Which products may become parts of one, and what each of them has behind it.

A *stored product* multiplies the last axis of a value with a constant matrix that nothing else
reads. Its *part* is the product with a bias and a number that scales it. Parts are read where they
are by contractions, by kernels of maps and rows, and through reshapes that split the columns. What
needs them in memory of their own stands against joining: results, appended values, the host. So
does an op that would have been the product's own epilogue.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import partial

import numpy as np

from anyshape.analysis.constants import is_constant, is_number
from anyshape.analysis.cuts import are_halves
from anyshape.ir.graph import Graph
from anyshape.ir.literal import TensorLiteral, WeightStore
from anyshape.ir.node import Node, Value
from anyshape.ir.opdef import Trait
from anyshape.ir.rewrite import Refusal, constant_array
from anyshape.ir.types import Array, Shape
from anyshape.ops.dot import DotAttrs
from anyshape.ops.known import ADD, CAST, DOT, GROUPED_DOT, MUL, RESHAPE, TRANSPOSE
from anyshape.ops.reduce import ReduceAttrs
from anyshape.ops.source import ConstantAttrs
from anyshape.passes.fuse_groups import MOST_OPS
from anyshape.passes.native_forms import is_alone, is_loop, is_map
from anyshape.sym import product

LONGEST_TERM = 4
"""Ops between a value and the reduction of its rows, at most: `abs(x)`, `x * x` of a wider x."""


@dataclass(frozen=True, slots=True)
class StoredProduct:
    """A dot with a constant, which is [depth, columns] or the other way round."""

    dot: Node
    constant: Node
    depth_first: bool

    @property
    def width(self) -> int:
        return int(self.dot.result().tensor.shape[-1])

    def rows(self, store: WeightStore) -> Array:
        """The weight as [columns, depth]."""
        array = array_of(self.constant, store)
        return array.T if self.depth_first else array

    def move(self, store: WeightStore, rows: Callable[[], Array]) -> None:
        """Lets go of the weight, of which `rows` are somewhere else now."""
        value = self.constant.attrs_as(ConstantAttrs).value
        if not isinstance(value, TensorLiteral):
            store.move(value, partial(_in_order, rows, self.depth_first))


def _in_order(rows: Callable[[], Array], depth_first: bool) -> Array:
    return np.ascontiguousarray(rows().T if depth_first else rows())


def array_of(constant: Node, store: WeightStore) -> Array:
    array = constant_array(constant.result(), store)
    assert array is not None, f"{constant} is a constant"
    return array


@dataclass(frozen=True, slots=True)
class Part:
    """A product, the node that ends its own epilogue, and the constants in that."""

    product: StoredProduct
    node: Node
    bias: Node | None = None
    scale: Node | None = None
    inner: int = 1  # columns that readers take together

    def numbers(self, constant: Node | None, neutral: float, store: WeightStore) -> Array:
        """One for each column."""
        dtype, width = self.node.result().tensor.dtype.numpy, self.product.width
        given = neutral if constant is None else array_of(constant, store)
        return np.broadcast_to(np.asarray(given, dtype), (width,))


def are_aligned(parts: Sequence[Part]) -> bool:
    """Whether columns that readers take together can be axes of the whole."""
    total, first = sum(part.product.width for part in parts), 0
    for part in parts:
        if first % part.inner or total % part.inner:
            return False
        first += part.product.width
    return True


class Products:
    """The stored products of a graph, and who reads them."""

    def __init__(self, graph: Graph) -> None:
        self.nodes = graph.nodes()
        self.position = {node: index for index, node in enumerate(self.nodes)}
        self.results = {value.node for value in graph.results}
        self.users: dict[Node, set[Node]] = defaultdict(set)
        for node in self.nodes:
            for value in node.operands:
                self.users[value.node].add(node)
        self.joined: dict[Node, Node] = {}  # the first dot of a family for each of its dots

    def join(self, families: Iterable[Sequence[Part]]) -> None:
        """Counts the products of each of these as one reader from now on."""
        for family in families:
            self.joined |= {part.product.dot: family[0].product.dot for part in family}

    def siblings(self) -> tuple[tuple[StoredProduct, ...], ...]:
        """Those that multiply one value, and give one dtype; none before what it is made of."""
        found: dict[object, list[StoredProduct]] = defaultdict(list)
        for node in self.nodes:
            product = stored_product(node)
            if product is not None and self._is_own(product):
                constant = product.constant.result().tensor.dtype
                key = node.operands[0], constant, node.result().tensor.dtype
                found[key].append(product)
        return tuple(tuple(products) for products in found.values() if len(products) > 1)

    def _is_own(self, product: StoredProduct) -> bool:
        """Whether nothing else reads the weight."""
        between = product.dot.operands[1].node
        return all(len(self.users[node]) == 1 for node in {between, product.constant})

    def only_user(self, node: Node) -> Node | None:
        (user,) = self.users[node] if len(self.users[node]) == 1 else (None,)
        return None if node in self.results else user

    def epilogue(self, product: StoredProduct) -> Iterator[Node]:
        """Elementwise ops that follow, one after the other, in the product's shape."""
        return self._elementwise(product.dot)

    def are_put_together(self, node: Node) -> bool:
        """Whether an elementwise op takes both halves of a value: an epilogue, that is not to be
        taken apart."""
        halves = self.users[node]
        followers = [set(self._elementwise(half)) for half in halves]
        return are_halves(tuple(halves)) and not followers[0].isdisjoint(followers[1])

    def _elementwise(self, node: Node) -> Iterator[Node]:
        """Ops in the shape of a node that all that is made of it goes through, one after the other:
        `h * sigmoid(h)` is one, though h has two readers. No more of them than a kernel has."""
        shape = node.result().tensor.shape
        leaving, inside = {node}, {node}  # of those inside, the ones that are read outside
        for _ in range(MOST_OPS):
            if any(each in self.results or len(self.users[each]) > MOST_OPS for each in leaving):
                return
            readers = {user for each in leaving for user in self.users[each]} - inside
            following = min(readers, key=self.position.__getitem__, default=None)
            if following is None or not _is_elementwise(following, shape):
                return
            inside.add(following)
            leaving = {each for each in {*leaving, following} if self._leaves(each, inside)}
            if leaving <= {following}:
                yield following

    def _leaves(self, node: Node, inside: Set[Node]) -> bool:
        return node in self.results or not self.users[node] <= inside

    def halved(self) -> Iterator[tuple[StoredProduct, Node | None]]:
        """Products of which two halves are read, and the bias that is added to both if they are an
        epilogue: whoever else reads them would add it in a kernel of its own."""
        for node in self.nodes:
            product = stored_product(node)
            if product is None or node in self.results:
                continue
            user = self.only_user(node)
            if are_halves(tuple(self.users[node])):
                yield product, None
            elif user is not None and user.op is ADD and user not in self.results:
                bias = _beside(user, node, product.width)
                if (
                    bias is not None
                    and are_halves(tuple(self.users[user]))
                    and self.are_put_together(user)
                ):
                    yield product, user

    def halved_groups(self) -> Iterator[Node]:
        """Grouped products of which two halves are read, with transposes of weights that nothing
        else reads."""
        for node in self.nodes:
            if node.op is GROUPED_DOT and node not in self.results:
                turned = node.operands[1].node
                is_turned = turned.op is TRANSPOSE and is_constant(turned.operands[0])
                own = all(len(self.users[n]) == 1 for n in (turned, *map(_node, turned.operands)))
                if is_turned and own and are_halves(tuple(self.users[node])):
                    yield turned

    def part(self, product: StoredProduct) -> Part | Refusal:
        """The part that readers would have, or why they need it in its own memory."""
        node, bias, scale = product.dot, None, None
        user = self.only_user(node)
        if user is not None and user.op is ADD and (bias := _beside(user, node, product.width)):
            node, user = user, self.only_user(user)
        if user is not None and user.op is MUL and (scale := _number_beside(user, node)):
            node = user
        inner = self._columns_together(node)
        return inner if isinstance(inner, Refusal) else Part(product, node, bias, scale, inner)

    def _columns_together(self, node: Node) -> int | Refusal:
        """How many columns readers take together, at least: 1 if they split none."""
        users = self.users[node]
        if node in self.results:
            return Refusal("it is a result of the graph")
        if len(users) == 1:
            (user,) = users
            inner = _inner_of_split(user, node.result().tensor.shape)
            if inner is not None:
                return self._readers_objection(user) or inner
        if any(user.op.has(Trait.ELEMENTWISE) for user in users) and not self._is_of_rows(node):
            return Refusal("its own epilogue would be a kernel")
        return self._readers_objection(node) or 1

    def _is_of_rows(self, node: Node) -> bool:
        """Whether a reduction of its rows is the first that takes all of it, as in a norm by hand:
        nothing is an epilogue then, and the kernel of rows reads a part where it is. It converts
        elements as it reads them."""
        shape, user = node.result().tensor.shape, self.only_user(node)
        node = user if user is not None and user.op is CAST else node
        made, is_reduced = {node}, False
        for _ in range(LONGEST_TERM):
            if any(len(self.users[each]) > MOST_OPS for each in made):
                return False
            readers = {user for each in made for user in self.users[each]} - made
            is_reduced = is_reduced or any(_reduces_rows(user) for user in readers)
            made |= {user for user in readers if _is_elementwise(user, shape)}
        return is_reduced and next(self._elementwise(node), None) is None

    def _readers_objection(self, node: Node) -> Refusal | None:
        """Why a slice in the place of this value would be a copy."""
        if node in self.results:
            return Refusal("it is a result of the graph")
        users = {self.joined.get(user, user) for user in self.users[node]}
        for user in users:
            if user.op is TRANSPOSE:
                objection = self._readers_objection(user)
            else:
                objection = _objection(user, len(users))
            if objection is not None:
                return objection
        return None


def _node(value: Value) -> Node:
    return value.node


def stored_product(node: Node) -> StoredProduct | None:
    if node.op is not DOT:
        return None
    x, weight = node.operands
    attrs, depth = node.attrs_as(DotAttrs), x.tensor.rank - 1
    if attrs.batch != ((), ()) or attrs.contract[0] != (depth,) or weight.tensor.rank != 2:
        return None
    depth_first = attrs.contract[1] == (0,)
    if weight.node.op is TRANSPOSE:  # of two axes, so that it swaps them
        weight, depth_first = weight.node.operands[0], not depth_first
    return StoredProduct(node, weight.node, depth_first) if is_constant(weight) else None


def _is_elementwise(node: Node, shape: Shape) -> bool:
    return node.op.has(Trait.ELEMENTWISE) and node.result().tensor.shape == shape


def _reduces_rows(node: Node) -> bool:
    last = node.operands[0].tensor.rank - 1 if node.operands else 0
    return isinstance(node.attrs, ReduceAttrs) and node.attrs.axes == (last,)


def _beside(node: Node, operand: Node, width: int) -> Node | None:
    """The other operand, if it is a constant with a number for each column."""
    other = _other(node, operand)
    is_row = other is not None and is_constant(other) and other.tensor.shape == (width,)
    return other.node if other is not None and is_row else None


def _number_beside(node: Node, operand: Node) -> Node | None:
    other = _other(node, operand)
    return other.node if other is not None and is_number(other.node) else None


def _other(node: Node, operand: Node) -> Value | None:
    others = [value for value in node.operands if value.node is not operand]
    return others[0] if len(others) == 1 else None


def _inner_of_split(node: Node, shape: Shape) -> int | None:
    """Of a reshape that takes the last axis apart: the size of what is inside."""
    new = node.result().tensor.shape if node.op is RESHAPE else ()
    if len(new) <= len(shape) or new[: len(shape) - 1] != shape[:-1]:
        return None
    return product(new[len(shape) :]).constant


def _objection(user: Node, readers: int) -> Refusal | None:
    if is_alone(user) or user.op is GROUPED_DOT or not (is_map(user) or is_loop(user)):
        return Refusal(f"{user.op.name} reads it in memory of its own")
    if user.op.has(Trait.CONTRACTION) and readers > 1:
        return Refusal("several kernels would copy it")
    return None
