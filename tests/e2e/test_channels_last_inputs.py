"""Images that lie in memory with channels last are read where they are."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import anyshape as ash
from anyshape.base.errors import OptionError

SIZES = ((2, 8, 9, 7), (1, 8, 1, 1), (0, 8, 5, 5), (3, 8, 33, 18))
AXES = {"input": ("batch", 8, "h", "w")}


def convolutions() -> nn.Module:
    torch.manual_seed(0)
    layers = nn.Conv2d(8, 16, 3, 1, 1), nn.ReLU(), nn.Conv2d(16, 4, 3, 2, 1)
    return nn.Sequential(*layers).eval()


def image(*sizes: int, last: bool = True) -> torch.Tensor:
    x = torch.randn(*sizes)
    return x.to(memory_format=torch.channels_last) if last else x


def steps_of(compiled: Any, x: torch.Tensor) -> list[str]:
    return [step.name for step in compiled.executable.steps(x)]


@pytest.mark.parametrize("captured_last", [True, False])
@pytest.mark.parametrize("sizes", SIZES)
def test_any_order_gives_torchs_result(captured_last: bool, sizes: tuple[int, ...]) -> None:
    model = convolutions()
    compiled = ash.compile(model, (image(2, 8, 10, 12, last=captured_last),), axes=AXES)
    for last in (True, False):
        x = image(*sizes, last=last)
        with torch.inference_mode():
            torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-5)


def test_nothing_is_transposed_in_front() -> None:
    model, x = convolutions(), image(2, 8, 10, 12)
    assert steps_of(ash.compile(model, (x,), axes=AXES), x)[0].startswith("conv")
    named = ash.compile(model, (x.contiguous(),), axes=AXES, channels_last=("input",))
    assert steps_of(named, x)[0].startswith("conv")
    plain = ash.compile(model, (x.contiguous(),), axes=AXES)
    assert steps_of(plain, x)[0] == "transpose"


def test_arrays_have_the_callers_axes() -> None:
    model, x = convolutions(), image(3, 8, 11, 5)
    compiled = ash.compile(model, (x,), axes=AXES)
    (found,) = compiled.executable(np.asarray(x))
    with torch.inference_mode():
        np.testing.assert_allclose(found, model(x).numpy(), rtol=1e-4, atol=1e-5)


class ReadTwice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(8, 8, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x).flatten(1).sum(1) + x.reshape(x.shape[0], -1).cumsum(1)[:, 0]


def test_an_input_that_is_read_in_its_own_order_too_stays() -> None:
    model, x = ReadTwice().eval(), image(2, 8, 4, 6)
    compiled = ash.compile(model, (x,), axes={"x": ("batch", 8, "h", "w")})
    with torch.inference_mode():
        torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-4)


def test_a_volume_too() -> None:
    model = nn.Conv3d(2, 3, 3, padding=1).eval()
    x = torch.randn(2, 2, 4, 5, 6).to(memory_format=torch.channels_last_3d)
    compiled = ash.compile(model, (x,), axes={"input": ("batch", 2, "d", "h", "w")})
    other = torch.randn(1, 2, 3, 1, 7)
    with torch.inference_mode():
        for given in (x, other):
            torch.testing.assert_close(compiled(given), model(given), rtol=1e-4, atol=1e-5)


def test_an_input_that_does_not_exist_is_refused() -> None:
    with pytest.raises(OptionError) as caught:
        ash.compile(convolutions(), (image(2, 8, 9, 9),), axes=AXES, channels_last=("imaeg",))
    assert "channels_last" in str(caught.value)
    assert "an argument: input" in str(caught.value)


def test_an_input_without_places_is_refused() -> None:
    @ash.jit
    def function(x: ash.f32["n", 8]):
        return x * 2

    with pytest.raises(OptionError) as caught:
        ash.compile(function, channels_last=("x",))
    assert "an input of 'function' with channels and places: x" in str(caught.value)
