"""torch.compile: parameters that change behind torch's version counter are noticed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from anyshape.api.dynamo_backend import anyshape, compiled_graphs
from anyshape.api.parameter_samples import ParameterSamples

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns of its own parts


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    torch._dynamo.reset()
    with torch.no_grad():
        yield


def by_data(layer: Any) -> None:
    layer.weight.data.mul_(2)


def by_a_view_of_numpy(layer: Any) -> None:
    layer.weight.detach().numpy()[...] += 1


def by_one_element_of_a_bias(layer: Any) -> None:
    layer.bias.detach().numpy()[3] += 1


def by_other_memory(layer: Any) -> None:
    layer.weight.data = torch.randn(8, 8)


CHANGES = [by_data, by_a_view_of_numpy, by_one_element_of_a_bias, by_other_memory]


@pytest.mark.parametrize("change", CHANGES)
def test_changes_that_torch_does_not_count(change: Callable[[Any], None]) -> None:
    layer = torch.nn.Linear(8, 8).eval()
    fast = torch.compile(layer, backend=anyshape, dynamic=True)
    x = torch.randn(3, 8)
    torch.testing.assert_close(fast(x), layer(x))
    change(layer)
    torch.testing.assert_close(fast(x), layer(x))


class Scaled(torch.nn.Linear):
    """Its weight is computed from the parameter: once, when the graph is made."""

    def forward(self, x: Any) -> Any:
        return x @ torch.tanh(self.weight)


@pytest.mark.parametrize("change", [by_data, by_a_view_of_numpy])
def test_changes_of_what_weights_are_computed_from(change: Callable[[Any], None]) -> None:
    layer = Scaled(300, 300).eval()
    fast = torch.compile(layer, backend=anyshape, dynamic=True)
    x = torch.randn(3, 300)
    torch.testing.assert_close(fast(x), layer(x), rtol=1e-4, atol=1e-5)
    (graph,) = compiled_graphs()
    assert [kernel.name for kernel in graph.executable.kernels] == ["dot"]
    change(layer)
    torch.testing.assert_close(fast(x), layer(x), rtol=1e-4, atol=1e-5)


def test_tensors_of_inference_mode() -> None:
    """They have no version at all."""
    with torch.inference_mode():
        layer = torch.nn.Linear(8, 8).eval()
        fast = torch.compile(layer, backend=anyshape, dynamic=True)
        x = torch.randn(3, 8)
        torch.testing.assert_close(fast(x), layer(x))
        layer.weight.mul_(3)
        torch.testing.assert_close(fast(x), layer(x))


def test_nothing_is_compiled_again_without_a_change() -> None:
    layer = torch.nn.Linear(8, 8).eval()
    fast = torch.compile(layer, backend=anyshape, dynamic=True)
    fast(torch.randn(3, 8))
    (graph,) = compiled_graphs()
    executable = graph.executable
    fast(torch.randn(5, 8))
    assert graph.executable is executable
    by_data(layer)
    fast(torch.randn(5, 8))
    assert graph.executable is not executable


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int8, torch.bool])
@pytest.mark.parametrize("size", [0, 1, 7, 256, 257, 1000, 100_003])
def test_samples(dtype: Any, size: int) -> None:
    tensor = torch.ones(size, dtype=dtype)
    samples = ParameterSamples([tensor, torch.ones(())])
    assert samples.unchanged()
    if not size:
        return
    part = max(-(-size // 30), -(-16 // tensor.element_size()))
    for start in {0, size // 3, max(size - part, 0)}:
        tensor.data[start : start + part] = 0
        assert not samples.unchanged()
        tensor.data[start : start + part] = 1
        assert samples.unchanged()
