"""What torch computes at the edges of its ops: over nothing, over one element, and where NaN is.

Each module is captured at one size and called at others; torch itself, run on the same call, says
whether there is a result, and which.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import anyshape as ash
from anyshape import Axis
from anyshape.base.errors import AnyshapeError, FactViolationError

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns of degrees of freedom

Function = Callable[[Any], Any]
LINALG: Any = torch.linalg  # whose functions have no annotations


class Module(torch.nn.Module):
    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


def compiled(function: Function, x: Any, axes: Any = ("n", "m"), **options: Any) -> Any:
    return ash.compile(Module(function), (x,), axes={"x": axes}, **options)


def agrees(model: Any, function: Function, x: Any, tolerance: float = 0) -> bool:
    """Whether torch has a result; ours is then the same, and a typed error otherwise."""
    try:
        expected = function(x)
    except (IndexError, RuntimeError):
        with pytest.raises(AnyshapeError) as caught:
            model(x)
        assert "fix:" in str(caught.value)
        return False
    torch.testing.assert_close(
        model(x), expected, rtol=tolerance, atol=tolerance, equal_nan=True, check_dtype=True
    )
    return True


SIZES = [(3, 5), (0, 5), (5, 0), (0, 0), (1, 1), (1, 4), (4, 1), (2, 2), (7, 3)]

EXTREMES: dict[str, Function] = {
    "amax_0": lambda x: x.amax(0),
    "amax_1": lambda x: x.amax(1),
    "amin": lambda x: x.amin(-1, True),
    "amax_both": lambda x: x.amax((0, 1)),
    "amax_all": lambda x: x.amax(),
    "max_all": lambda x: x.max(),
    "min_all": lambda x: x.min(),
    "max_0": lambda x: x.max(0)[0],
    "max_1": lambda x: x.max(1)[0],
    "max_0_index": lambda x: x.max(0)[1],
    "min_1": lambda x: x.min(1)[0],
    "argmax_0": lambda x: x.argmax(0),
    "argmin_1": lambda x: x.argmin(1),
    "argmax_all": lambda x: x.argmax(),
    "aminmax": lambda x: x.aminmax(dim=1)[0],
    "norm_inf": lambda x: LINALG.vector_norm(x, float("inf"), 0),
    "norm_-inf": lambda x: LINALG.vector_norm(x, float("-inf"), 1),
    "sort": lambda x: x.sort(1)[0],
    "sort_0": lambda x: x.sort(0, descending=True)[1],
    "argsort": lambda x: x.argsort(stable=True, dim=1),
    "topk": lambda x: x.topk(1, 1)[0],
    "any": lambda x: (x > 0).any(0),
    "all": lambda x: (x > 0).all(1),
    "prod": lambda x: x.prod(0),
    "sum": lambda x: x.sum(1),
    "logsumexp": lambda x: x.logsumexp(0),
    "cumsum": lambda x: x.cumsum(1),
    "softmax": lambda x: x.softmax(0),
    "mean": lambda x: x.mean(0),
    "mean_all": lambda x: x.mean(),
    "msort": lambda x: x.msort(),
    "amax_bool": lambda x: (x > 0).amax(0),
    "mean_1": lambda x: x.mean(1),
    "max_int": lambda x: (x * 3).long().amax(1),
    "max_relu": lambda x: x.relu().max(1)[1],
    "log_softmax": lambda x: x.log_softmax(1),
    "norm_1": lambda x: LINALG.vector_norm(x, 1, 0),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_over_nothing_and_over_one(name: str) -> None:
    function = EXTREMES[name]
    model = compiled(function, torch.randn(4, 6))
    for size in SIZES:
        agrees(model, function, torch.randn(size), 2e-6)


@pytest.mark.parametrize("name", ["amax_1", "max_all", "norm_inf", "argmax_0"])
def test_the_error_names_the_axis(name: str) -> None:
    model = compiled(EXTREMES[name], torch.randn(4, 6))
    axis = "m" if name == "amax_1" else "n"
    with pytest.raises(FactViolationError, match=f"'1 <= {axis}' does not hold for {axis}=0"):
        model(torch.randn((4, 0) if axis == "m" else (0, 6)))


# --- spread ---------------------------------------------------------------------------------------

SPREADS: dict[str, Function] = {
    "var": lambda x: x.var(0),
    "std": lambda x: x.std(0),
    "var_all": lambda x: x.var(),
    "std_keep": lambda x: x.std(1, keepdim=True),
    "var_biased": lambda x: x.var(1, unbiased=False),
    "var_2": lambda x: x.var(0, correction=2),
    "std_3": lambda x: x.std(1, correction=3),
    "std_both": lambda x: x.std((0, 1)),
    "var_half": lambda x: x.var(0, correction=1.5),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", SPREADS)
def test_spread_of_few_elements(name: str, dtype: Any) -> None:
    function = SPREADS[name]
    model = compiled(function, torch.randn(4, 6).to(dtype))
    for size in SIZES:
        assert agrees(model, function, torch.randn(size).to(dtype), TOLERANCE[dtype])


TOLERANCE = {
    torch.float64: 1e-12, torch.float32: 2e-6, torch.float16: 2e-3, torch.bfloat16: 2e-2
}  # fmt: skip


# --- NaN ------------------------------------------------------------------------------------------

ORDERED: dict[str, Function] = {
    "sort": lambda x: x.sort(dim=1, stable=True)[0],
    "sort_index": lambda x: x.sort(dim=1, stable=True)[1],
    "sort_down": lambda x: x.sort(dim=1, descending=True, stable=True)[1],
    "argsort": lambda x: x.argsort(stable=True, dim=0),
    "cummax": lambda x: x.cummax(1)[0],
    "cummax_index": lambda x: x.cummax(1)[1],
    "cummin": lambda x: x.cummin(0)[0],
    "cummin_index": lambda x: x.cummin(0)[1],
    "amax": lambda x: x.amax(1),
    "amin": lambda x: x.amin(1),
    "max_index": lambda x: x.max(1)[1],
    "max": lambda x: x.max(1)[0],
    "min_index": lambda x: x.min(0)[1],
    "argmax": lambda x: x.argmax(1),
    "argmin": lambda x: x.argmin(0),
    "argmax_all": lambda x: x.argmax(),
    "maximum": lambda x: torch.maximum(x, x.flip(1)),
    "minimum": lambda x: torch.minimum(x, x.flip(1)),
    "clamp": lambda x: x.clamp(-0.5, 0.5),
    "relu": lambda x: x.relu(),
    "topk": lambda x: x.topk(2, 1)[0],
    "topk_least": lambda x: x.topk(2, 1, largest=False)[0],
    "sign": lambda x: x.sign(),
    "max_all": lambda x: x.max(),
    "equal": lambda x: x == x.clone(),
    "less": lambda x: x < x.flip(1),
    "any": lambda x: x.any(1),
    "norm": lambda x: LINALG.vector_norm(x, float("inf"), 1),
    "softmax": lambda x: x.softmax(1),
    "nan_to_num": lambda x: x.nan_to_num(),
    "bool": lambda x: x.bool(),
    "hardtanh": torch.nn.functional.hardtanh,
    "leaky_relu": torch.nn.functional.leaky_relu,
    "elu": torch.nn.functional.elu,
    "remainder": lambda x: torch.remainder(x, 0.75),
    "fmod": lambda x: torch.fmod(x, -0.75),
    "trunc": lambda x: x.trunc(),
    "floor_divide": lambda x: x // 0.75,
    "zero_divide": lambda x: x // 0.0,
    "zero_remainder": lambda x: x % 0.0,
    "zero_divided": lambda x: x / 0.0,
    "root": lambda x: x**0.5,
    "inverse_root": lambda x: x**-0.5,
}


def with_nan(size: tuple[int, int], dtype: Any, seed: int) -> Any:
    """Few distinct numbers, so that there are equals, with NaN and infinities among them."""
    table = torch.tensor([0.0, -0.0, 1.0, -1.5, float("nan"), float("inf"), -float("inf"), 0.25])
    choice = torch.randint(0, len(table), size, generator=torch.Generator().manual_seed(seed))
    return table[choice].to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ORDERED)
def test_where_nan_stands(name: str, dtype: Any) -> None:
    function = ORDERED[name]
    model = compiled(function, torch.randn(4, 6).to(dtype), axes=("n", Axis("m", min=2)))
    for seed, size in enumerate([(4, 6), (1, 2), (3, 7), (9, 33), (2, 2), (5, 17)]):
        assert agrees(model, function, with_nan(size, dtype, seed), TOLERANCE[dtype])
