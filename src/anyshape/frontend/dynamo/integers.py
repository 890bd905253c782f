"""Integers of a caller, which may be negative, by sizes, which never are.

s0 in 0..9      s0
s0 in -9..-1    -s0_below
s0 in -9..9     s0 - s0_below      of which a call has one at least that is 0
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from anyshape.frontend.aten.symbols import is_symbolic
from anyshape.sym import Axis, Dim, Symbol

_BELOW = "_below"


@dataclass(frozen=True, slots=True)
class SignedSymbol:
    """One of torch's symbols: its axes, and what it is in terms of them."""

    axes: tuple[Axis, ...]
    dim: Dim


def signed_symbols(values: Sequence[Any]) -> dict[str, SignedSymbol]:
    """The symbols in the sizes of inputs, in the ranges that dynamo guards."""
    symbols: dict[str, SignedSymbol] = {}
    for size in (size for value in values for size in _sizes(value) if is_symbolic(size)):
        for symbol in sorted(size.node.expr.free_symbols, key=str):
            limits = size.node.shape_env.var_to_range[symbol]
            ends = (int(end) if end.is_Integer else None for end in (limits.lower, limits.upper))
            symbols.setdefault(symbol.name, _signed(symbol.name, *ends))
    return symbols


def counts_below(symbol: Symbol) -> bool:
    """Whether a symbol is the size of an integer below 0."""
    return symbol.name.endswith(_BELOW)


def _signed(name: str, low: int | None, high: int | None) -> SignedSymbol:
    if low is not None and low >= 0:
        return SignedSymbol((Axis(name, min=low, max=high),), Dim.of(name))
    depth = None if low is None else -low
    if high is not None and high <= 0:
        under = Axis(name + _BELOW, min=-high, max=depth)
        return SignedSymbol((under,), -Dim.of(under.symbol))
    over, under = Axis(name, max=high), Axis(name + _BELOW, max=depth)
    return SignedSymbol((over, under), Dim.of(over.symbol) - Dim.of(under.symbol))


def _sizes(value: Any) -> Sequence[Any]:
    return value.shape if isinstance(value, torch.Tensor) else (value,)
