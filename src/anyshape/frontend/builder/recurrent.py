"""Recurrent layers as scans: what inputs contribute is one product for all steps, before the loop.

    LSTM  i, f, g, o = x @ wx + h @ wh      c = σ(f) c + σ(i) tanh(g)     h = σ(o) tanh(c) [@ wp]
    GRU   r, z from x and h, n = tanh(xn + r (hn + bn))                   h = (1 - z) n + z h
    RNN   h = tanh or relu of x @ wx + h @ wh

Matrices are [out, in], as torch has them; sequences are [steps, batch, width].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from anyshape.frontend.builder.assemble import concat, split, stack
from anyshape.frontend.builder.compound import relu
from anyshape.frontend.builder.control import scan
from anyshape.frontend.builder.dot import matmul
from anyshape.frontend.builder.functions import sigmoid, tanh
from anyshape.frontend.builder.movement import matrix_transpose

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor

State = tuple["Tensor", ...]
"""h, and for an LSTM c."""


@dataclass(frozen=True)
class Cell:
    """The weights of one layer in one direction. `project` maps h of an LSTM to fewer numbers."""

    inner: Tensor
    outer: Tensor
    inner_bias: Tensor | None = None
    outer_bias: Tensor | None = None
    project: Tensor | None = None

    def of_inputs(self, x: Tensor, bias: Tensor | None) -> Tensor:
        """What all steps of a sequence contribute."""
        product = matmul(x, matrix_transpose(self.inner))
        return product if bias is None else product + bias

    def of_state(self, h: Tensor) -> Tensor:
        return matmul(h, matrix_transpose(self.outer))

    @property
    def bias(self) -> Tensor | None:
        if self.inner_bias is None or self.outer_bias is None:
            return self.inner_bias
        return self.inner_bias + self.outer_bias


Step = Callable[[State, "Tensor"], State]
"""From the state before and what the input contributes, the state after."""


# --- cells ----------------------------------------------------------------------------------------


def _lstm(cell: Cell, x: Tensor) -> tuple[Tensor, Step]:
    def step(state: State, now: Tensor) -> State:
        h, c = state
        i, f, g, o = split(now + cell.of_state(h), 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * tanh(g)
        h = sigmoid(o) * tanh(c)
        return (h if cell.project is None else matmul(h, matrix_transpose(cell.project))), c

    return cell.of_inputs(x, cell.bias), step


def _gru(cell: Cell, x: Tensor) -> tuple[Tensor, Step]:
    """The last bias is inside of what the reset gate multiplies: it stays in the loop."""

    def step(state: State, now: Tensor) -> State:
        (h,) = state
        before = cell.of_state(h)
        if cell.outer_bias is not None:
            before = before + cell.outer_bias
        (r, z, n), (reset, update, new) = (split(each, 3, axis=1) for each in (now, before))
        update = sigmoid(z + update)
        new = tanh(n + sigmoid(r + reset) * new)
        return ((1 - update) * new + update * h,)

    return cell.of_inputs(x, cell.inner_bias), step


def _plain(activation: Callable[[Tensor], Tensor]) -> Callable[[Cell, Tensor], tuple[Tensor, Step]]:
    def made(cell: Cell, x: Tensor) -> tuple[Tensor, Step]:
        def step(state: State, now: Tensor) -> State:
            return (activation(now + cell.of_state(state[0])),)

        return cell.of_inputs(x, cell.bias), step

    return made


KINDS: Final[Mapping[str, Callable[[Cell, Tensor], tuple[Tensor, Step]]]] = {
    "lstm": _lstm,
    "gru": _gru,
    "rnn_tanh": _plain(tanh),
    "rnn_relu": _plain(relu),
}


# --- layers ---------------------------------------------------------------------------------------


def recurrent(
    kind: str, x: Tensor, state: State, cells: Sequence[Cell], *, both_ways: bool
) -> tuple[Tensor, State]:
    """The values of the last layer at all steps, and the last state of each cell.

    x[steps, batch, width]; each part of the state is [cells, batch, width], and cells are in the
    order of layers, the two directions of each next to each other.
    """
    directions = 2 if both_ways else 1
    last: list[State] = []
    for first in range(0, len(cells), directions):
        values: list[Tensor] = []
        for place in range(first, first + directions):
            initial = tuple(part[place] for part in state)
            found, after = _layer(kind, cells[place], x, initial, reverse=place > first)
            values.append(found)
            last.append(after)
        x = values[0] if directions == 1 else concat(values, axis=2)
    return x, tuple(stack(parts, axis=0) for parts in zip(*last, strict=True))


def _layer(
    kind: str, cell: Cell, x: Tensor, initial: State, *, reverse: bool
) -> tuple[Tensor, State]:
    inputs, step = KINDS[kind](cell, x)

    def body(state: State, now: Tensor) -> tuple[State, Tensor]:
        after = step(state, now)
        return after, after[0]

    last, values = scan(body, initial, inputs, reverse=reverse)
    return values, last
