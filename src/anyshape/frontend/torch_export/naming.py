"""Maps torch's symbols to axes.

    s43 -> batch

Names come, in this order, from `axes` where an input has the symbol as a whole size, from
`names`, from the `Dim` the program was exported with, and last from torch's own symbol. The
ranges that torch keeps for a symbol become those of the axis.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.export.graph_signature import InputKind

from anyshape.base.errors import AxisDeclarationError
from anyshape.base.location import Location
from anyshape.frontend.aten.symbols import is_symbolic, limits_of
from anyshape.frontend.imported.axes import NamedAxes, NamedDims, is_bare
from anyshape.frontend.torch_export.fixed_sizes import FixedSize, UnnamedSize, fixed_size
from anyshape.frontend.torch_export.fixing_ops import FixingOp
from anyshape.frontend.torch_export.guards import shape_environment
from anyshape.sym import Axis, Dim, Symbol

_NOWHERE: Mapping[str, FixingOp] = {}


@dataclass(frozen=True, slots=True)
class FixedAxis:
    """An axis that has one size in the case that is captured, and the line that asked for it."""

    symbol: Symbol
    size: int
    location: Location | None = None


@dataclass(frozen=True)
class Naming:
    """The axes that the user names, and the dim of each of torch's symbols."""

    named: NamedAxes
    dims: Mapping[str, Dim]  # by torch's symbol
    declared: tuple[Axis, ...] = ()  # those whose ranges the user promised
    fixed: tuple[FixedAxis, ...] = ()  # those that are numbers for torch

    def dims_of(self, leaf: int) -> NamedDims:
        """The dims of an input's named positions."""
        return with_fixed(self.named, self.fixed).inputs[leaf].dims

    def at_size(self, symbol: Symbol, size: int) -> Naming:
        """The same with a number in place of one axis."""
        dims = {name: dim.substitute({symbol: size}) for name, dim in self.dims.items()}
        return Naming(self.named.at_size(symbol, size), dims)


def naming_of(
    program: Any,
    named: NamedAxes,
    names: Mapping[str, str],
    fixed_at: Mapping[str, FixingOp] = _NOWHERE,
    *,
    torch_ranges: bool,
    refused_at: Location | None = None,
    fixed: Sequence[FixedAxis] = (),
) -> Naming:
    """The names of a program's symbols; `names` are by torch's symbol or the `Dim`'s name.

    With `torch_ranges` the ranges that torch keeps are part of what the user exported; else they
    are torch's own findings, and the declared axes hold. `fixed_at` are the lines that made symbols
    numbers, `refused_at` is the one that refused other sizes than those of the example. Axes that
    are `fixed` have no symbols.
    """
    own: dict[str, Dim] = {}
    shared: dict[str, Dim] = {}  # where torch found sizes to be equal, one symbol is left of two
    sizes = _input_sizes(program)
    for shape, axes in zip(sizes, with_fixed(named, fixed).inputs, strict=True):
        for position, dim in axes.dims.items():
            if dim.constant is not None:
                continue
            symbol, first = _symbol(shape[position]), _first_symbol(shape[position])
            if symbol is None and not is_symbolic(shape[position]):
                refused = None if refused_at is None else FixingOp(refused_at, {})
                size = FixedSize(axes, position, int(shape[position]))
                others = _unnamed(size, sizes, named)
                raise fixed_size(size, fixed_at.get(first or "", refused), others)
            if first is not None:
                own.setdefault(first, dim)
            if symbol is not None:
                shared.setdefault(symbol, dim)
    dims = {**shared, **own}
    known = _dim_names(program)
    for symbol in _symbols(sizes):
        name = known.get(symbol, symbol)
        dims.setdefault(symbol, Dim.of(names.get(symbol, names.get(name, name))))
    if torch_ranges:
        return Naming(replace(named, axes=_with_ranges(program, named.axes, dims)), dims)
    declared = tuple(axis for axis in named.axes if not is_bare(axis))
    return Naming(named, dims, declared, tuple(fixed))


@dataclass(frozen=True, slots=True)
class NumberForTorch:
    """A named axis whose size torch made a number, and the symbol that it had before."""

    axis: Symbol
    size: int
    symbol: str


def numbers_for_torch(program: Any, named: NamedAxes) -> list[NumberForTorch]:
    """The axes that are whole sizes of inputs, and no symbols any more."""
    positions = (
        (dim.symbol, shape[position])
        for shape, axes in zip(_input_sizes(program), named.inputs, strict=True)
        for position, dim in axes.dims.items()
        if dim.symbol is not None
    )
    numbers = {axis: size for axis, size in positions if not is_symbolic(size)}
    return [NumberForTorch(a, int(n), _first_symbol(n) or "") for a, n in numbers.items()]


def with_fixed(named: NamedAxes, fixed: Iterable[FixedAxis]) -> NamedAxes:
    """The axes that are left, with numbers in place of the others."""
    for axis in fixed:
        named = named.at_size(axis.symbol, axis.size)
    return named


def _unnamed(
    fixed: FixedSize, sizes: Sequence[Sequence[Any]], named: NamedAxes
) -> list[UnnamedSize]:
    """Positions of other inputs that have the size which an axis is fixed to, and no name."""
    return [
        UnnamedSize(axes, position)
        for shape, axes in zip(sizes, named.inputs, strict=True)
        for position, size in enumerate(shape)
        if axes is not fixed.input and axes.path.isidentifier() and position not in axes.dims
        if not is_symbolic(size) and int(size) == fixed.size
    ]


def user_inputs(program: Any) -> list[Any]:
    """The nodes of what a caller passes, in order."""
    specs = program.graph_signature.input_specs
    nodes = [node for node in program.graph.nodes if node.op == "placeholder"]
    return [n for n, s in zip(nodes, specs, strict=True) if s.kind is InputKind.USER_INPUT]


def _input_sizes(program: Any) -> list[Sequence[Any]]:
    values = (node.meta.get("val") for node in user_inputs(program))
    return [value.shape if isinstance(value, torch.Tensor) else () for value in values]


def _symbol(size: Any) -> str | None:
    expression: Any = size.node.expr if is_symbolic(size) else None
    return None if expression is None or not expression.is_Symbol else str(expression.name)


def _first_symbol(size: Any) -> str | None:
    """The symbol that torch made for a size, before it found it equal to something else."""
    node: Any = getattr(size, "node", None)
    expression: Any = None if node is None else node._expr
    return str(expression.name) if expression is not None and expression.is_Symbol else None


def _symbols(sizes: Sequence[Sequence[Any]]) -> list[str]:
    """All symbols in the sizes of inputs, in order of appearance."""
    symbols: dict[str, None] = {}
    for size in (size for shape in sizes for size in shape if is_symbolic(size)):
        for symbol in sorted(size.node.expr.free_symbols, key=str):
            symbols.setdefault(symbol.name)
    return list(symbols)


def _dim_names(program: Any) -> dict[str, str]:
    """The names of the `Dim` objects that symbols come from, as far as torch remembers them."""
    environment = shape_environment(program)
    if environment is None:
        return {}
    given = environment.source_name_to_debug_name
    names: dict[str, str] = {}
    for symbol, sources in environment.var_to_sources.items():
        for source in sources:
            name = given.get(source.name, source.name)
            if name.isidentifier():
                names.setdefault(symbol.name, name)
    return names


# --- ranges ---------------------------------------------------------------------------------------


def _with_ranges(program: Any, given: Sequence[Axis], dims: Mapping[str, Dim]) -> tuple[Axis, ...]:
    axes = {axis.name: axis for axis in given}
    for expression, limits in program.range_constraints.items():
        dim = dims.get(str(expression))
        if dim is not None and dim.symbol is not None:
            name = dim.symbol.name
            axes[name] = _within(axes.get(name, Axis(name)), *limits_of(limits))
    return tuple(axes.values())


def _within(axis: Axis, low: int, high: int | None) -> Axis:
    """The axis as far as torch's range goes."""
    ranges: list[tuple[int, int | None]] = []
    for start, stop in axis.ranges:
        first = max(start, low)
        last = stop if high is None else high if stop is None else min(stop, high)
        if last is None or first <= last:
            ranges.append((first, last))
    if not ranges:
        allowed = f"{low}..{'' if high is None else high}"
        problem = f"is declared {axis.ranges_text}, but was exported for {allowed}"
        raise AxisDeclarationError(axis.name, problem, "declare a range inside that one")
    likely = tuple(size for size in axis.likely if any(_inside(size, r) for r in ranges))
    return Axis(
        axis.name,
        multiple_of=axis.multiple_of,
        likely=likely,
        ranges=ranges,
        broadcasts=axis.broadcasts,
        likely_from=axis.likely_from,
        buckets=axis.buckets,
        max_padding=axis.max_padding,
        static=axis.static,
    )


def _inside(size: int, limits: tuple[int, int | None]) -> bool:
    low, high = limits
    return low <= size and (high is None or size <= high)
