"""Ops whose answer depends on how element types meet: boundaries of one type and numbers of
another, truths of bytes. Captured at one size, and compared with torch at others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import anyshape as ash
from anyshape.base.errors import AnyshapeError

BYTES = torch.tensor([0, 44, 100], dtype=torch.int8)
WHOLE = torch.tensor([0, 1, 2, 2**24 + 1, 2**24 + 3])
HALVES = torch.tensor([0.5, 1.5, 2.001], dtype=torch.float16)
SINGLE = torch.tensor([-1.5, 0.1, 1.1, 2.0012])

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "bucketize whole": lambda x: torch.bucketize(x, WHOLE),
    "bucketize whole right": lambda x: torch.bucketize(x, WHOLE, right=True, out_int32=True),
    "bucketize bytes": lambda x: torch.bucketize(x, BYTES),
    "bucketize halves": lambda x: torch.bucketize(x, HALVES),
    "bucketize single": lambda x: torch.bucketize(x, SINGLE),
    "bucketize a number": lambda x: torch.bucketize(1.5, WHOLE) + x,
    "bucketize a sum": lambda x: torch.bucketize(x.sum(), BYTES),
    "searchsorted whole": lambda x: torch.searchsorted(WHOLE, x),
    "searchsorted rows": lambda x: torch.searchsorted(x.sort(1).values, x.flip(1).float()),
    "searchsorted a number": lambda x: torch.searchsorted(x[:, 0].sort().values, 1.5),
    "isin whole": lambda x: torch.isin(x, WHOLE),
    "isin single": lambda x: torch.isin(x, torch.tensor([1.0, 2.0**24, 44.0])),
    "any": lambda x: (x.any(), x.any(1), x.any(0, keepdim=True)),
    "all": lambda x: (x.all(), x.all(1), x.all(0, keepdim=True)),
    "sign": torch.sign,
    "extremes": lambda x: (torch.fmax(x, x.flip(0)), torch.fmin(x, x.flip(1)), x.max(x.flip(0))),
    "logarithms": lambda x: (
        torch.xlogy(x.half(), x.flip(0)),
        torch.xlogy(0, x - 1),
        torch.xlogy(x, x.dim()),
        torch.special.xlog1py(x.flip(0).half(), x),
    ),
    "where": lambda x: (torch.where(x > 1, x, -1), torch.where(x > 1, 70000, x), x.where(x > 1, 1)),
    "numbers below 0": lambda x: (x.clamp(min=-1), x.clamp(-5, 7), x.masked_fill(x > 1, -1)),
    "filled": lambda x: (
        torch.full_like(x, -1),
        x.new_full((2, x.shape[0]), -5),
        torch.full((x.shape[0],), -9, dtype=x.dtype),
        torch.scalar_tensor(-3, dtype=x.dtype) + x,
        x.clone().fill_(-2),
    ),
    "shifts": lambda x: [
        shifted
        for by in (0, 7, 8, 9, 63, 64, 200, 300, 2**31, 2**40 + 3, -1)
        for shifted in (torch.bitwise_left_shift(x, by), torch.bitwise_right_shift(x, by))
    ],
    "elements of other types": lambda x: [
        pair
        for other in (
            x.flatten().shape[0] + x.dtype.itemsize * torch.tensor(0.1),
            (x > 1).sum() * 70001,
            x.double()[:1, 1:2].sum() + 7e4,
        )
        for pair in (x * other, x / (other + 1), other * x)
    ],
    "ldexp": lambda x: (
        torch.ldexp(x, x[:, :1]),
        torch.ldexp(x.int(), x.flatten().shape[0] + x.sum() * 0),
    ),
    "number first": lambda x: (torch.mul(70000, x), torch.div(70000, x), x * 70000, 70000 / x),
}
DTYPES = [
    torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int8, torch.uint8,
    torch.int64, torch.bool,
]  # fmt: skip


class Module(torch.nn.Module):
    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


def numbers(dtype: torch.dtype, n: int) -> torch.Tensor:
    torch.manual_seed(n)
    exact = [-2.0, 0.0, 0.5, 1.0, 1.1, 1.5, 2.0, 2.001, 44.0, 300.0, 2**24 + 1, 2**24 + 2]
    if dtype in (torch.uint8, torch.bool):
        exact = [abs(number) % 256 for number in exact]
    elif dtype == torch.int8:
        exact = [number % 128 for number in exact]
    table = torch.tensor(exact, dtype=torch.float64).to(dtype)
    return table[torch.randint(len(exact), (n, 5))]


@pytest.mark.filterwarnings("ignore:torch.searchsorted", "ignore::anyshape.HostOpsWarning")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_types_meet_as_in_torch(name: str) -> None:
    model, compared = Module(FUNCTIONS[name]), 0
    for dtype in DTYPES:
        example = numbers(dtype, 4)
        try:
            model(example)
        except (RuntimeError, NotImplementedError):  # torch has no such op for it
            continue
        compiled = ash.compile(model, (example,), axes={"x": ("n", None)})
        for n in (1, 3, 17, 0):
            x = numbers(dtype, n)
            found, wanted = compiled(x), model(x)
            torch.testing.assert_close(found, wanted, rtol=0, atol=0, equal_nan=True)
            compared += 1
    assert compared >= 4


def test_powers_of_truths_by_a_truth_are_refused() -> None:
    """torch says of the result that it has integers, and gives truths."""
    example = numbers(torch.bool, 4)
    with pytest.raises(AnyshapeError, match=r"truths to the power of True.*\n.*int\(True\)"):
        ash.compile(lambda x: torch.pow(x, True), (example,))
    compiled = ash.compile(lambda x: torch.pow(x, int(True)), (example,))
    assert torch.equal(compiled(example), example.long())


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int32]
)
@pytest.mark.parametrize("executor", ["native", "reference"])
def test_zeros_and_nan_have_signs(dtype: torch.dtype, executor: Any) -> None:
    """NaN that comes in has one; which one NaN has that is computed is nobody's choice."""

    def signs(x: Any, y: Any) -> Any:
        return torch.copysign(x, y), torch.copysign(x, -0.0), torch.signbit(y)

    def pair(count: int) -> tuple[Any, Any]:
        ends = torch.tensor([0.0, 1.5, float("nan"), float("inf")], dtype=kind)
        both = torch.cat([ends, torch.copysign(ends, torch.tensor(-1.0))]).repeat(count)
        return torch.arange(8 * count).to(dtype) - 3, both[torch.randperm(8 * count)]

    kind = dtype if dtype.is_floating_point else torch.float32
    model = ash.compile(signs, pair(1), axes={"x": ("n",), "y": ("n",)}, executor=executor)
    for count in (3, 0, 7):
        x, y = pair(count)
        torch.testing.assert_close(model(x, y), signs(x, y), rtol=0, atol=0)
        assert torch.signbit(y).sum() == 4 * count, "there are as many of both"
