"""Custom ops that write into operands: results, and what is written, against eager at other sizes
than the captured one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import anyshape as ash
from anyshape.base.errors import UnsupportedModelError

pytestmark = pytest.mark.filterwarnings("ignore")  # that torch computes is said; torch warns, too

SIZES = ((4, 6), (1, 1), (0, 5), (7, 11), (2, 1))


@torch.library.custom_op("anyshape_written::raised", mutates_args=("x",))
def raised(x: torch.Tensor, by: int) -> None:
    x.add_(by)


@torch.library.custom_op("anyshape_written::swapped", mutates_args=("x", "z"))
def swapped(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor | None) -> torch.Tensor:
    x.mul_(2)
    if z is not None:
        z.copy_(x + y)
    return x - y


@swapped.register_fake
def _(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor | None) -> torch.Tensor:
    return torch.empty_like(x)


@torch.library.custom_op("anyshape_written::underscored", mutates_args=("_x",))
def underscored(_x: torch.Tensor, _by: int) -> None:
    _x.add_(_by)


@torch.library.custom_op("anyshape_written::listed", mutates_args=("xs",))
def listed(xs: list[torch.Tensor]) -> None:
    for x in xs:
        x.add_(1)


def of_a_temporary(x: Any) -> Any:
    y = x * 3
    raised(y, 2)
    raised(y, x.shape[0])
    return y - x


def of_an_input(x: Any) -> Any:
    raised(x, 2)
    return x * 2


def of_a_slice(x: Any) -> Any:
    y = x * 3
    raised(y[:, 1:], 5)
    return y


def of_several(x: Any) -> Any:
    """Bases come in the order of arguments, and so do results."""
    y, z = x * 3, x + 1
    result = swapped(y, x, z)
    swapped(z, y, None)
    return result, y, z


def of_names_with_underscores(x: Any) -> Any:
    y = x * 3
    underscored(y, 4)
    return y


def of_a_list(x: Any) -> Any:
    y, z = x * 3, x + 1
    listed([y, z])
    return y + z


FUNCTIONS = (of_a_temporary, of_an_input, of_a_slice, of_several, of_names_with_underscores)


class Calling(torch.nn.Module):
    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


def compare(fast: Any, function: Callable[[Any], Any]) -> None:
    for size in SIZES:
        x = torch.randn(size)
        ours, theirs = x.clone(), x.clone()
        torch.testing.assert_close(fast(ours), function(theirs), msg=str(size))
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("executor", ["reference", "native"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_writes_of_custom_ops(function: Any, executor: Any) -> None:
    axes = {"x": ("b", "n")}
    fast = ash.compile(Calling(function), (torch.zeros(5, 3),), axes=axes, executor=executor)
    compare(fast, function)


def test_writes_into_a_list_are_refused() -> None:
    with pytest.raises(UnsupportedModelError, match="which writes into tensors of a list"):
        ash.compile(Calling(of_a_list), (torch.zeros(5, 3),), axes={"x": ("b", "n")})


@pytest.mark.parametrize("function", FUNCTIONS)
def test_under_torch_compile(function: Any) -> None:
    torch.compiler.reset()
    with torch.no_grad():
        compare(torch.compile(function, backend="anyshape", dynamic=True), function)  # pyright: ignore[reportUnknownMemberType]
