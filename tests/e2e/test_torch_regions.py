"""Parts of a model under a setting or a transform of torch's: autocast, gradients, vmap. Captured
at one size, and compared with eager mode at others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional as fn

import anyshape as ash
from anyshape.base.errors import AnyshapeError

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns of its own parts

SIZES = ((3, 5), (1, 1), (5, 2), (2, 7), (4, 0))


class Autocast(torch.nn.Module):
    """What composite ops convert is not in the program that torch exports."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.dtype, self.linear = dtype, torch.nn.Linear(8, 8)
        self.conv = torch.nn.Conv1d(8, 4, 3, padding=1)

    def forward(self, x: Any) -> Any:
        with torch.autocast("cpu", dtype=self.dtype):
            y = self.linear(x)
            scores = y @ y.mT
            kept = torch.cat([y, y.float()], 1)
            images = self.conv(x.mT)
            with torch.autocast("cpu", enabled=False):
                exact = self.linear(x) @ y.float().mT
            normal = fn.layer_norm(y, (8,)).softmax(-1)
        return y, scores, kept, images, exact, normal, self.linear(x)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("executor", ["native", "reference"])
def test_autocast(dtype: torch.dtype, executor: Any) -> None:
    model, example = Autocast(dtype).eval(), torch.randn(4, 6, 8)
    compiled = ash.compile(model, (example,), axes={"x": ("b", "t", None)}, executor=executor)
    for sizes in SIZES[:4]:  # torch has no convolution of nothing
        x = torch.randn(*sizes, 8)
        with torch.no_grad():
            found, wanted = compiled(x), model(x)
        assert [part.dtype for part in found] == [part.dtype for part in wanted]
        torch.testing.assert_close(found, wanted, rtol=3e-2, atol=3e-2)


def mapped(x: Any) -> Any:
    return torch.vmap(lambda one: one @ one.T + one.sum())(x)


def mapped_twice(x: Any) -> Any:
    return torch.vmap(torch.vmap(lambda row: row.softmax(0) * row.norm()))(x)


def mapped_along(x: Any) -> Any:
    return torch.vmap(lambda one, shared: one * shared, in_dims=(1, None))(x, x[:, 0])


def gradients_on(x: Any) -> Any:
    with torch.enable_grad():
        y = (x * 2).sum(1)
    with torch.set_grad_enabled(False), torch.inference_mode():
        z = y + x.shape[0]
    return y.detach(), z


@pytest.mark.parametrize("function", [mapped, mapped_twice, mapped_along, gradients_on])
def test_transforms_and_settings(function: Callable[[Any], Any]) -> None:
    compiled = ash.compile(function, (torch.randn(4, 6, 8),), axes={"x": ("b", "t", None)})
    for sizes in SIZES if function in (mapped, gradients_on) else SIZES[:4]:
        x = torch.randn(*sizes, 8)
        torch.testing.assert_close(compiled(x), function(x))


def test_gradients_inside_of_a_model_are_refused() -> None:
    def slope(x: Any) -> Any:
        return torch.func.grad(lambda part: (part**3).sum())(x)

    with pytest.raises(AnyshapeError, match="_unwrap_for_grad"):
        ash.compile(slope, (torch.randn(4, 6),), axes={"x": ("b", "n")})
