"""Models of torch, saved and loaded: called as before, by tensors and by arrays."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.errors.messages import message_of
from torch import nn

import anyshape as ash
from anyshape.base.errors import InputError, NotSavableError
from anyshape.runtime.machine import cpu_levels

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns of its own parts


class Layer(nn.Module):
    """Branches on a size, and returns containers."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> Any:
        if x.shape[0] > 4:
            return {"a": self.linear(x), "b": (x.sum(), x.shape[0])}
        return {"a": self.linear(x) * 2, "b": (x.sum(), x.shape[0])}


class Counts(nn.Module):
    """Has state, and a constant argument."""

    total: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x: torch.Tensor, scale: int = 1) -> torch.Tensor:
        self.total += x.sum(0) * scale
        return self.total + x


def test_branches_and_containers(tmp_path: Path) -> None:
    module = Layer().eval()
    model = ash.compile(module, (torch.randn(3, 8),), axes={"x": ("batch", None)})
    model.save(tmp_path / "layer.ash")
    again, anew = (ash.load(tmp_path / "layer.ash", recompile=r) for r in (False, True))
    for n in (0, 1, 4, 5, 9):
        x = torch.randn(n, 8)
        expected = module(x)
        for each in (again, anew, pickle.loads(pickle.dumps(model))):
            found = each(x)
            assert isinstance(found["b"], tuple)
            assert found["b"][1] == n
            torch.testing.assert_close(found["a"], expected["a"])
        np.testing.assert_allclose(again(x.numpy())["a"], expected["a"].detach(), 1e-4, 1e-5)
    assert str(again.explain()).split("passes")[0] == str(model.explain()).split("passes")[0]


def test_models_with_cases_for_several_machines(tmp_path: Path) -> None:
    module = Layer().eval()
    model = ash.compile(module, (torch.randn(3, 8),), axes={"x": ("batch", None)})
    model.save(tmp_path / "layer.ash", targets=["aarch64", *cpu_levels()])
    again = ash.load(tmp_path / "layer.ash")
    assert again.targets[0] == cpu_levels()[0]
    for n in (0, 1, 4, 5, 9):
        x = torch.randn(n, 8)
        torch.testing.assert_close(again(x)["a"], module(x)["a"])


def test_tensors_in_and_out_need_no_model(tmp_path: Path) -> None:
    """Arrays in order or by name; what does not fit is refused as by the model."""
    model = ash.compile(nn.Linear(8, 4), (torch.randn(3, 8),), axes={"input": ("n", None)})
    model.save(tmp_path / "linear.ash")
    again = ash.load(tmp_path / "linear.ash")
    x = np.random.default_rng(0).standard_normal((5, 8)).astype(np.float32)
    np.testing.assert_array_equal(again(x), model(x))
    np.testing.assert_array_equal(again(input=x), model(x))
    for call in ({"x": x}, {}, {"input": None}):
        assert message_of(InputError, lambda call=call: again(**call)) == (
            message_of(InputError, lambda call=call: model(**call))
        )


def test_state_is_saved_as_it_is(tmp_path: Path) -> None:
    model = ash.compile(Counts(), (torch.ones(2, 3), 2), axes={"x": ("n", None)})
    model(torch.ones(4, 3), 2)
    model.save(tmp_path / "counts.ash")
    again = ash.load(tmp_path / "counts.ash")
    torch.testing.assert_close(again(torch.ones(1, 3), 2), torch.full((1, 3), 11.0))
    torch.testing.assert_close(again.module.state["total"], np.full(3, 10.0, np.float32))
    torch.testing.assert_close(model(torch.ones(1, 3), 2), torch.full((1, 3), 11.0))


class Ordered(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.special.airy_ai(x) + torch.special.airy_ai(x * 2)


def test_what_torch_computes_is_refused(tmp_path: Path) -> None:
    model = ash.compile(Ordered(), (torch.ones(3),), axes={"x": ("n",)})
    assert message_of(NotSavableError, lambda: model.save(tmp_path / "airy.ash")) == (
        "'Ordered' cannot be saved: it has op 'aten.special_airy_ai.default', which torch "
        "computes (2 times)\nfix: replace these ops, or compile the model where it runs"
    )
