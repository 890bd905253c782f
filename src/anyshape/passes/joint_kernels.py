"""Which two kernels can be one that stores the results of both, and whether that pays.

    maker     reader    together
    map       map       a map, element by element
    map       row       a row kernel whose loops compute what they would have read
    row       map       the reader is computed beside what the row kernel stores
    row       row       one row kernel, if both are of the same rows
    product   map       an epilogue with two results

All results have one shape, and the reader takes from the maker's result the element that it is at,
or a reduction of its row: what the maker does is then done once for each loop of the reader, and
never for other elements.

*Costs* are counted for each element, in additions. A read of memory is spared; ops of the maker are
computed again in each further loop over a row. What is costly is kept by the first loop for the
others (`loop/reuse.py`), and so costs a store and a load, but no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from anyshape.analysis.constants import is_constant
from anyshape.families.body import LOOPS, Body
from anyshape.families.dot.match import DOTS, matmul_match
from anyshape.families.row.space import objection_to_rows, space_of
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import PARAM, Trait, param_index
from anyshape.ir.rewrite import Refusal
from anyshape.ops.known import BROADCAST, SLICE
from anyshape.passes.fuse_groups import MOST_OPS, MOST_REDUCTIONS

KEPT: Final = 8
"""What a value costs at most for each further loop, since it may be kept."""

SPARED: Final = 16
"""What a read of one element from memory costs, where all CPUs wait for memory."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two kernels: `reader` is the first that reads what `maker` makes."""

    maker: Node
    reader: Node

    @property
    def value(self) -> Value:
        """What is handed on."""
        return self.maker.result()

    @property
    def reader_name(self) -> str:
        """The last op of the reader."""
        return self.reader.regions[0].results[-1].node.op.name


def objection_to_joining(pair: Pair, operands: Sequence[Value], region: Region) -> Refusal | None:
    """Why two kernels had better stay apart; `region` is what they would be together."""
    shapes = {value.tensor.shape for value in region.results}
    if len(shapes) > 1:
        return Refusal("its reader's result has another shape")
    maker, reader = (Body.of_region(node.regions[0]) for node in (pair.maker, pair.reader))
    objection = _objection_to_reading(pair, reader) or _objection_to_size(region)
    if objection is None and any(node.op in DOTS for node in maker.loops):
        objection = _objection_to_epilogue(reader, operands, region)
    elif objection is None:
        objection = _objection_to_loops(maker, reader, Body.of_region(region))
    return objection or _objection_to_cost(maker, reader, pair)


def _objection_to_size(region: Region) -> Refusal | None:
    nodes = [node for node in region.nodes() if node.op is not PARAM]
    if len(nodes) > MOST_OPS:
        return Refusal(f"the kernel would have {len(nodes)} ops")
    loops = _loops(nodes)
    return Refusal(f"it would have {loops} reductions") if loops > MOST_REDUCTIONS else None


def _loops(nodes: Sequence[Node]) -> int:
    """How many there are, a compound counted as two."""
    return sum(2 if node.op.is_compound else 1 for node in nodes if node.op.traits & LOOPS)


def _objection_to_reading(pair: Pair, reader: Body) -> Refusal | None:
    """Why not: the reader takes other elements than the one that it is at, or other rows."""
    shape = pair.value.tensor.shape
    for node in _behind(pair, reader):
        space = space_of(node)
        if space is not None and space.shape == shape:
            continue
        same = node.op.has(Trait.ELEMENTWISE) and node.result().tensor.shape == shape
        if not same:
            return Refusal(f"its reader has {node.op.name}, which reads other elements")
    return None


def _behind(pair: Pair, reader: Body) -> list[Node]:
    """Nodes of the reader that are computed from the value element by element, and the loops that
    end this."""
    reached = set[Value]()
    found: list[Node] = []
    params = {v for node in reader.nodes for v in node.operands if v.node.op is PARAM}
    reached |= {v for v in params if pair.reader.operands[param_index(v.node)] == pair.value}
    for node in reader.nodes:
        if not reached.isdisjoint(node.operands):
            found.append(node)
            if not node.op.traits & LOOPS:
                reached.update(node.results)
    return found


def _objection_to_epilogue(
    reader: Body, operands: Sequence[Value], region: Region
) -> Refusal | None:
    if reader.loops:
        return Refusal("its reader has loops, and a product takes none along")
    constants = {n for n, value in enumerate(operands) if is_constant(value)}
    match = matmul_match(Body.of_region(region, constants))
    return match if isinstance(match, Refusal) else None


def _objection_to_loops(maker: Body, reader: Body, both: Body) -> Refusal | None:
    """Why not: one of them is no map, and both are no rows."""
    others = [n for n in (*maker.loops, *reader.loops) if space_of(n) is None]
    if others:
        return Refusal(f"{others[0].op.name} stores nothing but its result")
    many = bool(both.loops)
    strange = [n for n in maker.nodes if not _is_plain(n) and (many or n.op is not SLICE)]
    if strange:
        return Refusal(f"{strange[0].op.name} is better read where it was stored")
    return objection_to_rows(both) if both.loops else None


def _is_plain(node: Node) -> bool:
    """Whether an op of the maker may be computed in several loops. A slice may in one alone: its
    rows are not side by side."""
    plain = node.op.has(Trait.ELEMENTWISE) or node.op is BROADCAST or not node.operands
    return plain or space_of(node) is not None


def _objection_to_cost(maker: Body, reader: Body, pair: Pair) -> Refusal | None:
    """Whether computing again costs more than reading again."""
    again = _loops(_behind(pair, reader))
    work = sum(node.op.cost for node in maker.nodes if node.op.has(Trait.ELEMENTWISE))
    reads = max(0, len(pair.maker.operands) - 1)
    cost = again * (min(work, KEPT) + reads)
    if cost <= SPARED:
        return None
    return Refusal(f"computing it {again} times more costs {cost} additions, and reading {SPARED}")
