"""What torch says of the sizes of a program's tensors, held against our own inference.

The model's Python code saw torch's sizes: it asked about them, and computed others with them. torch
works them out for the example's case: where two sizes broadcast, it takes them to be equal. Ours
hold for any case. Where the two differ and anything in the program was computed from such a size,
they are required to be the same: proven, or checked by every call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch

from anyshape.base.errors import UnsupportedModelError
from anyshape.frontend.aten.symbols import dim_of
from anyshape.frontend.aten.walk import location_of
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.torch_export.guards import Guard
from anyshape.sym import Dim, Symbol


@dataclass(frozen=True, slots=True)
class Claim:
    """Our size of a tensor, torch's for it, and the node whose result it is."""

    ours: Dim
    theirs: Dim
    node: Any


def differing_claims(
    values: Mapping[Any, Any], dims: Mapping[str, Dim], guards: Iterable[Guard]
) -> list[Claim]:
    """Where torch's sizes are others than ours, and the program depends on them."""
    reader = _Reader(dims)
    read = reader.read_symbols(values, guards)
    claims: dict[tuple[Dim, Dim], Claim] = {}
    for node, ours, size in _sizes(values):
        theirs = reader.dim(size)
        if theirs is None or theirs == ours or (theirs, ours) in claims:
            continue
        if theirs.constant is not None or not theirs.symbols.isdisjoint(read):
            claims[theirs, ours] = Claim(ours, theirs, node)
    return list(claims.values())


def _sizes(values: Mapping[Any, Any]) -> Iterator[tuple[Any, Dim, Any]]:
    for node, value in values.items():
        ours, theirs = _listed(value), _listed(node.meta.get("val"))
        for mine, known in zip(ours, theirs, strict=False):
            if not isinstance(mine, Tensor) or not isinstance(known, torch.Tensor):
                continue
            if len(ours) != len(theirs) or mine.ndim != known.dim():
                raise _other_results(node)
            sizes: Any = known.shape
            yield from ((node, dim, size) for dim, size in zip(mine.shape, sizes, strict=True))


def _other_results(node: Any) -> UnsupportedModelError:
    what = f"the results of {node.target}, which are others than torch has"
    fix = "write this part of the model with other ops, or ask for it to be added"
    return UnsupportedModelError("the model", {what: [str(location_of(node) or "")]}, fix)


def _listed(value: Any) -> list[Any]:
    return list(cast(Sequence[Any], value)) if isinstance(value, (list, tuple)) else [value]


class _Reader:
    """torch's sizes as dims, each of them once."""

    def __init__(self, dims: Mapping[str, Dim]) -> None:
        self.dims = dims
        self.known: dict[Any, Dim | None] = {}

    def dim(self, size: Any) -> Dim | None:
        """None for a size that the graph computes, or that is no arithmetic of integers."""
        if not hasattr(size, "node"):
            return Dim.of(int(size))
        expression = size.node.expr
        if expression not in self.known:
            self.known[expression] = self._translated(expression)
        return self.known[expression]

    def _translated(self, expression: Any) -> Dim | None:
        try:
            return dim_of(expression, self.dims)
        except (KeyError, UnsupportedModelError):
            return None

    def read_symbols(self, values: Mapping[Any, Any], guards: Iterable[Guard]) -> set[Symbol]:
        """The axes of sizes that the model's code computed with, or asked about."""
        numbers = (node.meta.get("val") for node in values)
        read = (number.node.expr for number in numbers if hasattr(number, "node"))
        expressions = [*(guard.expression for guard in guards), *read]
        names = {symbol.name for each in expressions for symbol in each.free_symbols}
        return {symbol for name in names & self.dims.keys() for symbol in self.dims[name].symbols}
