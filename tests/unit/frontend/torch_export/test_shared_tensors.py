"""Copies of a model's tensors: each made once, beside the export if they are large."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import torch

import anyshape as ash
from anyshape.frontend.torch_export import shared_tensors
from anyshape.frontend.torch_export.shared_tensors import SharedTensors


class Tied(torch.nn.Module):
    """Two names for one tensor, a view of it, and tensors that NumPy cannot read in place."""

    def __init__(self) -> None:
        super().__init__()
        self.one = torch.nn.Parameter(torch.arange(80.0).reshape(8, 10))
        self.two = self.one
        self.register_buffer("rows", self.one.detach()[2:])
        self.register_buffer("narrow", torch.arange(40, dtype=torch.bfloat16))
        self.register_buffer("complex", torch.ones(40, dtype=torch.complex64))
        self.register_buffer("elsewhere", torch.ones(40, device="meta"))
        self.register_buffer("sparse", torch.eye(8).to_sparse())
        self.register_buffer("none", torch.zeros(0, 3))


@pytest.fixture(params=[True, False], ids=["by a thread", "when needed"])
def _thread(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_tensors, "WORTH_A_THREAD", 0 if request.param else 1 << 40)


@pytest.mark.usefixtures("_thread")
def test_copies_have_the_elements_and_not_the_memory() -> None:
    module = Tied()
    with SharedTensors().of_module(module) as tensors:
        for tensor in (module.one, module.rows, module.narrow, module.none, torch.ones(3)):
            copy, own = tensors.constant(tensor), tensor.detach().float().numpy()
            np.testing.assert_array_equal(copy.astype(np.float32), own)
            assert not np.shares_memory(copy, own)


@pytest.mark.usefixtures("_thread")
def test_what_shares_memory_shares_the_copy() -> None:
    module = Tied()
    with SharedTensors().of_module(module) as tensors:
        first = tensors.constant(module.one)
        assert tensors.constant(module.two.detach()) is first
        rows = tensors.constant(module.rows)
        assert rows.shape == (6, 10)
        assert not np.shares_memory(rows, first)


def test_temporary_arrays_are_not_taken_for_each_other() -> None:
    """Such as those of another device, the next of which may come to lie where the last was."""
    tensors = SharedTensors()
    copies = [tensors.constant(torch.full((1000,), float(i))) for i in range(50)]
    assert [copy[0] for copy in copies] == list(range(50))


def test_what_is_given_away_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_tensors, "WORTH_A_THREAD", 0)
    module = Tied()
    with SharedTensors(given=True).of_module(module) as tensors:
        assert np.shares_memory(tensors.constant(module.one), module.one.detach().numpy())


class Slow(np.ndarray[Any, Any]):
    """Is copied when somebody says so."""

    go = threading.Event()
    copied = 0

    def copy(self, order: Any = "C") -> Any:
        self.go.wait(60)
        Slow.copied += 1
        return np.array(self)


def test_nothing_is_copied_after_a_capture_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_tensors, "WORTH_A_THREAD", 0)
    own = shared_tensors.as_array
    monkeypatch.setattr(shared_tensors, "as_array", lambda tensor: own(tensor).view(Slow))
    module = torch.nn.Sequential(*(torch.nn.Linear(8, 8) for _ in range(5)))
    with pytest.raises(ValueError, match="unknown"), SharedTensors().of_module(module):
        raise ValueError("unknown")
    Slow.go.set()
    for thread in threading.enumerate():
        if thread.name.startswith("anyshape-weights"):
            thread.join(60)
    assert Slow.copied <= 1


@pytest.mark.usefixtures("_thread")
def test_a_compiled_module_has_weights_of_its_own() -> None:
    module = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.LayerNorm(16)).eval()
    x = torch.randn(3, 16)
    with torch.no_grad():
        expected = module(x)
        compiled = ash.compile(module, (x,), axes={"input": ("n", None)})
        for parameter in module.parameters():
            parameter.zero_()
    torch.testing.assert_close(compiled(x), expected, rtol=1e-4, atol=1e-5)
