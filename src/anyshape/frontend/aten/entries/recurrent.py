"""Recurrent layers: a scan for each layer and direction, for any number of steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anyshape.frontend.aten.calls import Call, NoEntryError, entry
from anyshape.frontend.aten.host_calls import RECURRENT
from anyshape.frontend.builder.movement import swapaxes
from anyshape.frontend.builder.recurrent import Cell
from anyshape.frontend.builder.recurrent import recurrent as layers_of
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.ir.types import f32, f64


@entry(*RECURRENT)
def recurrent(
    call: Call, x: Tensor, state: Any, weights: Sequence[Tensor], biased: bool, layers: int,
    p: float, train: bool, both_ways: bool, batch_first: bool,
) -> Any:  # fmt: skip
    """Between layers torch drops elements in training mode; nothing else is random about it. What
    it rounds to 16 bits, and where, is its own affair: such layers are called on the host."""
    if train and p > 0 and layers > 1:
        raise active().refuse("dropout in training mode", "call model.eval() before compiling")
    if x.dtype not in (f32, f64):
        raise NoEntryError
    kind = call.node.target.overloadpacket.__name__
    sequence = swapaxes(x, 0, 1) if batch_first else x
    active().require(sequence.shape[0] >= 1, "a recurrent layer needs at least one step")
    states = tuple(state) if kind == "lstm" else (state,)
    cells = _cells(weights, layers * (2 if both_ways else 1), biased)
    values, last = layers_of(kind, sequence, states, cells, both_ways=both_ways)
    return swapaxes(values, 0, 1) if batch_first else values, *last


def _cells(weights: Sequence[Tensor], count: int, biased: bool) -> list[Cell]:
    """The weights of each cell: two matrices, two biases, and a projection where there is one."""
    each = len(weights) // count
    return [_cell(weights[first : first + each], biased) for first in range(0, len(weights), each)]


def _cell(weights: Sequence[Tensor], biased: bool) -> Cell:
    inner, outer, *rest = weights
    biases = rest[:2] if biased else (None, None)
    projection = rest[2:] if biased else rest
    return Cell(inner, outer, *biases, *projection)


@entry("aten.lstm.data", "aten.gru.data", "aten.rnn_tanh.data", "aten.rnn_relu.data")
def packed(call: Call, *_: Any) -> Any:
    fix = "give the layer a padded tensor, and take each sequence's part of its result"
    raise active().refuse("a recurrent layer over a packed sequence", fix)
