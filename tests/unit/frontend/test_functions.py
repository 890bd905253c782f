"""Functions, methods and PyTorch's ops that come from the entries of public ops."""

from typing import Any

import numpy as np
import pytest
import torch
from tools.function_stubs import STUB, stubs

import anyshape as ash
from anyshape.frontend.builder.functions import FUNCTIONS
from anyshape.ir.opdef import all_ops

PUBLIC = [op.name for op in all_ops() if op.public]
INPUTS = np.array([0.25, 0.5, 1.0, 2.5, 20.5], np.float32)


def test_stubs_are_those_of_the_entries() -> None:
    assert STUB.read_text() == stubs(), "run python -m tools.function_stubs"


@pytest.mark.parametrize("name", PUBLIC)
def test_function_method_and_torch_agree(name: str) -> None:
    @ash.jit
    def function(x: ash.f32["n"]):
        return getattr(ash, name)(x)

    @ash.jit
    def method(x: ash.f32["n"]):
        return getattr(x, name)()

    assert function.graph.body == method.graph.body
    expected = getattr(torch, name)(torch.from_numpy(INPUTS.astype(np.float64))).numpy()
    np.testing.assert_allclose(function(INPUTS), expected.astype(np.float32), rtol=1e-6)


@pytest.mark.parametrize("name", PUBLIC)
def test_models_of_torch_use_it(name: str) -> None:
    class Model(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return getattr(torch, name)(x)

    model = ash.compile(Model(), (torch.ones(3),), axes={"x": ("n",)})
    x = torch.from_numpy(INPUTS)
    wanted = getattr(torch, name)(x)
    torch.testing.assert_close(model(x), wanted, rtol=1e-6, atol=0, equal_nan=True)


def test_numpy_calls_it() -> None:
    @ash.jit
    def by_numpy(x: ash.f32["n"]):
        return np.sinh(x)

    np.testing.assert_allclose(by_numpy(INPUTS), np.sinh(INPUTS), rtol=1e-6)


def test_integers_become_floats() -> None:
    @ash.jit
    def of_integers(x: ash.i32["n"]):
        return ash.sinh(x)

    np.testing.assert_allclose(of_integers(np.arange(3, dtype=np.int32)), np.sinh([0, 1, 2.0]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sinh_and_cosh_reach_as_far_as_their_results(dtype: Any) -> None:
    """exp overflows before they do."""
    last = np.arccosh(np.finfo(dtype).max)
    x = np.array([-last, -21, -20, -1e-3, -1e-30, -0.0, 1e-10, 19.5, last], dtype) * dtype(0.9999)

    @ash.jit
    def both(x: ash.f64["n"]):
        return ash.sinh(x), ash.cosh(x)

    @ash.jit
    def both_f32(x: ash.f32["n"]):
        return ash.sinh(x), ash.cosh(x)

    found = (both if dtype is np.float64 else both_f32)(x)
    for result, wanted in zip(found, (np.sinh(x), np.cosh(x)), strict=True):
        np.testing.assert_allclose(result, wanted, rtol=8 * np.finfo(dtype).eps)
    assert np.signbit(found[0][5])


INVERSES = ["atan", "asin", "acos", "asinh", "acosh", "atanh"]


@pytest.mark.parametrize("name", INVERSES)
@pytest.mark.parametrize("dtype", [ash.f32, ash.f64], ids=str)
def test_inverses_are_within_four_units_in_the_last_place(name: str, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    sizes = 10.0 ** rng.uniform(-12, 0 if name in ("asin", "acos", "atanh") else 15, 2000)
    ends = 1 - 10.0 ** rng.uniform(-7, -0.1, 500)
    x = np.concatenate([sizes, -sizes, ends, -ends]).astype(dtype.numpy)
    x = 1 + np.abs(x) if name == "acosh" else x[np.abs(x) != 1]

    @ash.jit
    def inverse(x: dtype["n"]):
        return getattr(ash, name)(x)

    exact = getattr(np, f"arc{name[1:]}")(x.astype(np.longdouble))
    unit = np.spacing(np.abs(exact).astype(dtype.numpy)).astype(np.longdouble)
    assert np.max(np.abs(inverse(x) - exact) / unit) < 4


def test_every_function_is_an_entry() -> None:
    assert list(FUNCTIONS) == PUBLIC
    assert "sinh" in PUBLIC
