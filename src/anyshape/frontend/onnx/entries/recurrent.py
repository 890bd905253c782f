"""LSTM, GRU and RNN as scans. What inputs contribute is one product for all steps, before the loop.

Gates lie beside each other: i, o, f, c of an LSTM, z, r, h of a GRU. Where a sequence of a batch is
shorter than others, its state stays as it is behind its end, and its outputs there are zeros. So a
scan from the end begins each sequence at its own end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from anyshape.frontend.builder import elementwise as ew
from anyshape.frontend.builder.assemble import split, stack
from anyshape.frontend.builder.compound import relu
from anyshape.frontend.builder.control import scan
from anyshape.frontend.builder.convert import asarray
from anyshape.frontend.builder.dot import matmul
from anyshape.frontend.builder.functions import expm1, sigmoid, tanh
from anyshape.frontend.builder.movement import matrix_transpose, moveaxis
from anyshape.frontend.builder.source import arange, zeros
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.frontend.onnx.calls import Call, entry
from anyshape.frontend.onnx.entries.activations import stable_softplus
from anyshape.sym import Dim, Equal

State = tuple[Tensor, ...]
"""h, and for an LSTM c."""

Function = Callable[[Tensor], Tensor]


# --- activations ----------------------------------------------------------------------------------


def _softsign(x: Tensor) -> Tensor:
    return x / (1 + ew.abs(x))


def _affine(x: Tensor, alpha: float, beta: float) -> Tensor:
    return x * alpha + beta


def _leaky_relu(x: Tensor, alpha: float) -> Tensor:
    return ew.where(x < 0, x * alpha, x)


def _thresholded_relu(x: Tensor, alpha: float) -> Tensor:
    return ew.where(x > alpha, x, 0.0)


def _scaled_tanh(x: Tensor, alpha: float, beta: float) -> Tensor:
    return tanh(x * beta) * alpha


def _hard_sigmoid(x: Tensor, alpha: float, beta: float) -> Tensor:
    return ew.clip(x * alpha + beta, 0.0, 1.0)


def _elu(x: Tensor, alpha: float) -> Tensor:
    return ew.where(x < 0, expm1(x) * alpha, x)


_ACTIVATIONS: dict[str, tuple[Callable[..., Tensor], tuple[float, ...]]] = {
    "relu": (relu, ()), "tanh": (tanh, ()), "sigmoid": (sigmoid, ()),
    "softsign": (_softsign, ()), "softplus": (stable_softplus, ()), "affine": (_affine, (1.0, 0.0)),
    "leakyrelu": (_leaky_relu, (0.01,)), "thresholdedrelu": (_thresholded_relu, (1.0,)),
    "scaledtanh": (_scaled_tanh, (1.0, 1.0)), "hardsigmoid": (_hard_sigmoid, (0.2, 0.5)),
    "elu": (_elu, (1.0,)),
}  # fmt: skip
"""By name in small letters: the function, and the numbers that it has if none are given."""


GATES = 2
"""So many of the activations of a direction are for gates."""


@dataclass(frozen=True)
class Numbers:
    """The attributes that all three ops have."""

    activation_alpha: tuple[float, ...] = ()
    activation_beta: tuple[float, ...] = ()
    activations: tuple[str, ...] = ()
    clip: float = 0.0
    direction: str = "forward"
    hidden_size: int | None = None  # the weights tell
    layout: int = 0

    def directions(self, call: Call) -> tuple[bool, ...]:
        """Whether each direction is from the end."""
        known = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
        if self.direction not in known:
            raise call.invalid(f"has the direction {self.direction!r}")
        return known[self.direction]

    def functions(self, call: Call, defaults: tuple[str, ...]) -> list[list[Function]]:
        """The activations of each direction. What bounds their inputs is for gates: that of an
        LSTM's state, the third, sees it as it is, as in onnxruntime."""
        count = len(self.directions(call))
        names = [name.lower() for name in self.activations or defaults * count]
        if len(names) != count * len(defaults) or not set(names) <= _ACTIVATIONS.keys():
            raise call.invalid(f"has activations {list(self.activations)}")
        alphas, betas = iter(self.activation_alpha), iter(self.activation_beta)
        bounds = [self.clip if n % len(defaults) < GATES else 0.0 for n in range(len(names))]
        made = [
            self._function(name, alphas, betas, bound)
            for name, bound in zip(names, bounds, strict=True)
        ]
        return [made[first : first + len(defaults)] for first in range(0, len(made), len(defaults))]

    def _function(
        self, name: str, alphas: Iterator[float], betas: Iterator[float], bound: float
    ) -> Function:
        function, defaults = _ACTIVATIONS[name]
        given = [next(numbers, n) for numbers, n in zip((alphas, betas), defaults, strict=False)]

        def apply(x: Tensor) -> Tensor:
            return function(ew.clip(x, -bound, bound) if bound > 0 else x, *given)

        return apply


# --- cells ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """The weights of one direction: [gates * width, in], [gates * width, width], [2, gates * width]
    and, for an LSTM, [3, width] that look at c."""

    inner: Tensor
    outer: Tensor
    biases: tuple[Tensor, Tensor] | None
    peepholes: Sequence[Tensor] = ()

    def of_inputs(self, x: Tensor) -> Tensor:
        product = matmul(x, matrix_transpose(self.inner))
        return product if self.biases is None else product + self.biases[0]

    def of_state(self, h: Tensor) -> Tensor:
        product = matmul(h, matrix_transpose(self.outer))
        return product if self.biases is None else product + self.biases[1]


Step = Callable[[State, Tensor], State]
"""From the state before and what the input contributes, the state after."""


def _rnn(cell: Cell, functions: Sequence[Function]) -> Step:
    (f,) = functions
    return lambda state, now: (f(now + cell.of_state(state[0])),)


def _gru(cell: Cell, functions: Sequence[Function], linear_before_reset: bool) -> Step:
    """The reset gate multiplies h, or what h contributes."""
    f, g = functions
    new = _last_third(cell)

    def step(state: State, now: Tensor) -> State:
        (h,) = state
        (z, r, n), (of_z, of_r, of_n) = (split(x, 3, axis=1) for x in (now, cell.of_state(h)))
        update, reset = f(z + of_z), f(r + of_r)
        inside = reset * of_n if linear_before_reset else new.of_state(reset * h)
        return ((1 - update) * g(n + inside) + update * h,)

    return step


def _last_third(cell: Cell) -> Cell:
    biases = None
    if cell.biases is not None:
        first, second = (split(each, 3)[2] for each in cell.biases)
        biases = first, second
    return Cell(split(cell.inner, 3)[2], split(cell.outer, 3)[2], biases)


def _lstm(cell: Cell, functions: Sequence[Function], input_forget: bool) -> Step:
    f, g, last = functions
    at_i, at_o, at_f = cell.peepholes or (None, None, None)

    def step(state: State, now: Tensor) -> State:
        h, c = state
        i, o, forget, new = split(now + cell.of_state(h), 4, axis=1)
        entering = f(_seeing(i, at_i, c))
        staying = 1 - entering if input_forget else f(_seeing(forget, at_f, c))
        c = staying * c + entering * g(new)
        return f(_seeing(o, at_o, c)) * last(c), c

    return step


def _seeing(gate: Tensor, weight: Tensor | None, c: Tensor) -> Tensor:
    return gate if weight is None else gate + weight * c


# --- layers ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """One of the three ops: its gates, the activations that it has if none are given, and what
    makes a step of a cell and its activations."""

    gates: int
    activations: tuple[str, ...]
    step: Callable[[Cell, Sequence[Function]], Step]


@dataclass(frozen=True)
class Layer:
    """A node: weights have the directions along their first axis, an LSTM the peepholes too."""

    call: Call
    kind: Kind
    numbers: Numbers
    inner: Tensor
    outer: Tensor
    bias: Tensor | None
    lengths: Tensor | None
    peepholes: Tensor | None = None

    def __call__(self, x: Tensor, *initial: Tensor | None) -> tuple[Tensor, ...]:
        """Y[steps, directions, batch, width], then the last state [directions, batch, width]."""
        swapped = bool(self.numbers.layout)
        functions = self.numbers.functions(self.call, self.kind.activations)
        x = moveaxis(x, 0, 1) if swapped else x
        begins = [self._initial(each, x) for each in initial]
        values: list[Tensor] = []
        lasts: list[State] = []
        for number, reverse in enumerate(self.numbers.directions(self.call)):
            cell = self._cell(number)
            state = tuple(each[number] for each in begins)
            step = self.kind.step(cell, functions[number])
            last, found = _direction(cell, step, x, state, self.lengths, reverse)
            values.append(found)
            lasts.append(last)
        ends = [stack(parts, axis=0) for parts in zip(*lasts, strict=True)]
        y = stack(values, axis=1)
        if not swapped:
            return (y, *ends)
        return (moveaxis(y, 2, 0), *(moveaxis(end, 1, 0) for end in ends))

    def _cell(self, direction: int) -> Cell:
        gates, width = self.kind.gates, self.outer.shape[2]
        rows = Dim.of(gates) * width
        for what, found in (("W", self.inner.shape[1]), ("R", self.outer.shape[1])):
            why = f"{what} of a {self.call.op} has a row for each of {gates} gates of {width}"
            active().require(Equal(found, rows), why)
        biases = None if self.bias is None else split(self.bias[direction], 2)
        looks = () if self.peepholes is None else split(self.peepholes[direction], 3)
        pair = None if biases is None else (biases[0], biases[1])
        return Cell(self.inner[direction], self.outer[direction], pair, looks)

    def _initial(self, given: Tensor | None, x: Tensor) -> Tensor:
        if given is not None:
            return moveaxis(given, 0, 1) if self.numbers.layout else given
        shape = (len(self.numbers.directions(self.call)), x.shape[1], self.outer.shape[2])
        return zeros(shape, x.dtype)


def _direction(
    cell: Cell, step: Step, x: Tensor, state: State, lengths: Tensor | None, reverse: bool
) -> tuple[State, Tensor]:
    inputs = cell.of_inputs(x)
    if lengths is None:

        def body(before: State, now: Tensor) -> tuple[State, Tensor]:
            after = step(before, now)
            return after, after[0]

        return scan(body, state, inputs, reverse=reverse)
    inside = (arange(x.shape[0]).reshape((-1, 1)) < lengths).reshape((*x.shape[:2], 1))

    def masked(before: State, now: tuple[Tensor, Tensor]) -> tuple[State, Tensor]:
        product, valid = now
        after = step(before, product)
        kept = tuple(ew.where(valid, *pair) for pair in zip(after, before, strict=True))
        return kept, ew.where(valid, after[0], asarray(0.0, x.dtype))

    return scan(masked, state, (inputs, inside), reverse=reverse)


# --- the ops --------------------------------------------------------------------------------------


@entry("RNN", since=7)
def rnn(
    call: Call,
    x: Tensor,
    weight: Tensor,
    recurrence: Tensor,
    bias: Tensor | None = None,
    lengths: Tensor | None = None,
    initial_h: Tensor | None = None,
    *,
    numbers: Numbers,
) -> tuple[Any, ...]:
    kind = Kind(1, ("Tanh",), _rnn)
    return Layer(call, kind, numbers, weight, recurrence, bias, lengths)(x, initial_h)


@entry("GRU", since=7)
def gru(
    call: Call,
    x: Tensor,
    weight: Tensor,
    recurrence: Tensor,
    bias: Tensor | None = None,
    lengths: Tensor | None = None,
    initial_h: Tensor | None = None,
    *,
    numbers: Numbers,
    linear_before_reset: int = 0,
) -> tuple[Any, ...]:
    step = partial(_gru, linear_before_reset=bool(linear_before_reset))
    kind = Kind(3, ("Sigmoid", "Tanh"), step)
    return Layer(call, kind, numbers, weight, recurrence, bias, lengths)(x, initial_h)


@entry("LSTM", since=7)
def lstm(
    call: Call,
    x: Tensor,
    weight: Tensor,
    recurrence: Tensor,
    bias: Tensor | None = None,
    lengths: Tensor | None = None,
    initial_h: Tensor | None = None,
    initial_c: Tensor | None = None,
    peepholes: Tensor | None = None,
    *,
    numbers: Numbers,
    input_forget: int = 0,
) -> tuple[Any, ...]:
    kind = Kind(4, ("Sigmoid", "Tanh", "Tanh"), partial(_lstm, input_forget=bool(input_forget)))
    layer = Layer(call, kind, numbers, weight, recurrence, bias, lengths, peepholes)
    return layer(x, initial_h, initial_c)
