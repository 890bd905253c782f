"""LSTM, GRU and RNN over a sequence and a batch of any size, captured at one, against eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.errors.messages import message_of
from torch.nn.utils.rnn import pack_padded_sequence

import anyshape as ash
from anyshape.base.errors import AnyshapeError, TraceError

pytestmark = pytest.mark.filterwarnings("ignore::anyshape.HostOpsWarning")

SIZES = ((4, 6), (1, 1), (7, 11), (2, 1), (1, 9), (0, 3), (3, 0))  # batch, steps


class Layer(torch.nn.Module):
    """A layer whose results are computed with."""

    def __init__(self, layer: torch.nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Any) -> Any:
        values, state = self.layer(x)
        return values.relu() * 2, state


class WithState(Layer):
    def forward(self, x: Any, h: Any, c: Any | None = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.layer(x, h if c is None else (h, c))


KINDS: dict[str, Callable[..., torch.nn.Module]] = {
    "lstm": torch.nn.LSTM,
    "gru": torch.nn.GRU,
    "tanh": torch.nn.RNN,
    "relu": lambda *sizes, **options: torch.nn.RNN(*sizes, nonlinearity="relu", **options),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "two layers, both directions": {"num_layers": 2, "bidirectional": True},
    "no bias": {"bias": False, "batch_first": True},
    "dropout": {"num_layers": 2, "dropout": 0.5, "batch_first": True},
}
CASES = [(kind, options) for kind in KINDS for options in OPTIONS]


def made(kind: str, **options: Any) -> torch.nn.Module:
    torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]
    return KINDS[kind](3, 5, **options).eval()


def check(model: Any, compiled: Any, args: tuple[Any, ...]) -> None:
    """The same result, or an error of ours where eager has one."""
    try:
        expected = model(*args)
    except RuntimeError:
        with pytest.raises(AnyshapeError):
            compiled(*args)
    else:
        torch.testing.assert_close(compiled(*args), expected)


@pytest.mark.parametrize(("kind", "options"), CASES, ids=[", ".join(each) for each in CASES])
def test_any_batch_and_number_of_steps(kind: str, options: str) -> None:
    model = Layer(made(kind, **OPTIONS[options]))
    first = "batch_first" in OPTIONS[options]
    axes = ("batch", "steps", None) if first else ("steps", "batch", None)
    compiled = ash.compile(model, (torch.randn(4, 6, 3),), axes={"x": axes})
    for sizes in SIZES:
        check(model, compiled, (torch.randn(*(sizes if first else sizes[::-1]), 3),))


@pytest.mark.filterwarnings("ignore:LSTM with projections")  # of torch, which is slow then
def test_a_projection() -> None:
    model = Layer(made("lstm", proj_size=2, bidirectional=True))
    axes = {"x": ("steps", "batch", None)}
    compiled = ash.compile(model, (torch.randn(4, 6, 3),), axes=axes)
    for sizes in SIZES:
        check(model, compiled, (torch.randn(*sizes, 3),))


@pytest.mark.parametrize("kind", KINDS)
def test_an_initial_state(kind: str) -> None:
    model = WithState(made(kind, num_layers=2))

    def args(batch: int, steps: int) -> tuple[Any, ...]:
        states = [torch.randn(2, batch, 5) for _ in range(2 if kind == "lstm" else 1)]
        return torch.randn(steps, batch, 3), *states

    names = ("h", "c") if kind == "lstm" else ("h",)
    axes = {"x": ("steps", "batch", None), **dict.fromkeys(names, (None, "batch", None))}
    compiled = ash.compile(model, args(4, 6), axes=axes)
    for sizes in SIZES:
        check(model, compiled, args(*sizes))


def test_one_sequence_without_a_batch() -> None:
    model = Layer(made("gru"))
    compiled = ash.compile(model, (torch.randn(6, 3),), axes={"x": ("steps", None)})
    for steps in (6, 1, 11):
        check(model, compiled, (torch.randn(steps, 3),))


def test_beside_an_update_in_place() -> None:
    """torch makes such a program functional and traces it again."""

    class Updating(Layer):
        def forward(self, x: Any) -> Any:
            y = x * 2
            y[:, 0] += 1
            return self.layer(y)[0]

    model = Updating(made("lstm", batch_first=True))
    axes = {"x": ("batch", "steps", None)}
    compiled = ash.compile(model, (torch.randn(4, 6, 3),), axes=axes)
    for sizes in SIZES[:5]:
        check(model, compiled, (torch.randn(*sizes, 3),))


def test_equal_layers_in_evaluation_are_one_call() -> None:
    """Nothing is random about them."""

    class Twice(Layer):
        def forward(self, x: Any) -> Any:
            return self.layer(x)[0] + self.layer(x)[0]

    compiled = ash.compile(
        Twice(made("gru")), (torch.randn(4, 6, 3),), axes={"x": ("steps", None, None)}
    )
    assert compiled.executable.as_text().count(" = scan(") == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_is_a_scan_for_each_direction(kind: str) -> None:
    """`strict` refuses calls of torch's own kernels."""
    model = Layer(made(kind, num_layers=2, bidirectional=True))
    axes = {"x": ("steps", "batch", None)}
    compiled = ash.compile(model, (torch.randn(4, 6, 3),), axes=axes, strict=True)
    text = compiled.executable.as_text()
    assert text.count(" = scan(") == 4
    assert text.count(", reverse=true}") == 2


def test_sixteen_bits_are_left_to_torch() -> None:
    model = Layer(made("lstm")).bfloat16()
    axes = {"x": ("steps", "batch", None)}
    compiled = ash.compile(model, (torch.randn(4, 6, 3).bfloat16(),), axes=axes)
    assert compiled.explain().host_ops == (("aten.lstm.input", 1),)
    check(model, compiled, (torch.randn(7, 2, 3).bfloat16(),))


def test_double_precision() -> None:
    model = Layer(made("gru")).double()
    axes = {"x": ("steps", "batch", None)}
    example = torch.randn(4, 6, 3, dtype=torch.float64)
    compiled = ash.compile(model, (example,), axes=axes, strict=True)
    for sizes in SIZES:
        check(model, compiled, (torch.randn(*sizes, 3, dtype=torch.float64),))


def test_dropout_in_training_is_refused() -> None:
    model = Layer(made("lstm", num_layers=2, dropout=0.5).train())
    error = message_of(
        TraceError,
        lambda: ash.compile(model, (torch.randn(4, 6, 3),), axes={"x": ("steps", None, None)}),
    )
    assert "dropout in training mode" in error
    assert error.endswith("fix: call model.eval() before compiling")


def test_a_packed_sequence_is_refused() -> None:
    class Packing(Layer):
        def forward(self, x: Any) -> Any:
            packed: Any = pack_padded_sequence(x, torch.tensor([3, 2]), batch_first=True)
            return self.layer(packed)[0].data

    model = Packing(made("lstm", batch_first=True))
    error = message_of(
        TraceError,
        lambda: ash.compile(model, (torch.randn(2, 6, 3),), axes={"x": (None, "n", None)}),
    )
    assert "a recurrent layer over a packed sequence" in error
    assert "fix: give the layer a padded tensor" in error
