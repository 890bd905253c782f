"""`torch.cond`: on sizes it is a branch like `if`, or a branch of the graph; on data the latter.

Every way in is compared with eager at every size of a square, 0 and 1 included.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._higher_order_ops.while_loop import while_loop

import anyshape as ash
from anyshape.execute import BranchedExecutable, Executable

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns of its own parts

own: Any = torch
cond: Any = own.cond  # a name of the model's own
AXES = {"x": ("b", "n")}
SQUARE = list(itertools.product(range(7), range(7)))
DYNAMIC: Any = torch.export.Dim.DYNAMIC


class Calling(torch.nn.Module):
    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


def by_rows(x: Any) -> Any:
    return own.cond(x.shape[0] > 4, lambda v: v + 1, lambda v: v * 2, (x,))


def by_own_name(x: Any) -> Any:
    return cond(x.shape[0] > 4, lambda v: v + 1, lambda v: v * 2, (x,))


def odd_columns(x: Any) -> Any:
    return own.cond(x.shape[1] % 2 == 1, lambda v: v + 1, lambda v: v * 2, (x,))


def axes_compared(x: Any) -> Any:
    return own.cond(x.shape[0] < x.shape[1], lambda v: v + 1, lambda v: v * 2, (x,))


def nested(x: Any) -> Any:
    def many(v: Any) -> Any:
        return own.cond(v.shape[1] > 3, lambda w: w + 1, lambda w: w + 2, (v,))

    return own.cond(x.shape[0] > 4, many, lambda v: v * 2, (x,))


def several_results(x: Any) -> Any:
    first, second = own.cond(
        x.shape[0] != 3, lambda v: (v + 1, v.sum(0)), lambda v: (v * 2, v.mean(0)), (x,)
    )
    return first + second


def inside_data(x: Any) -> Any:
    """A size decides in a branch that data choose."""

    def positive(v: Any) -> Any:
        return own.cond(v.shape[0] > 2, lambda w: w + 1, lambda w: w + 2, (v,))

    return own.cond(x.sum() > 0, positive, lambda v: v * 2, (x,))


def data_inside_data(x: Any) -> Any:
    def positive(v: Any) -> Any:
        return own.cond(v.prod() > 0.01, lambda w: w + 1, lambda w: w * 3, (v,))

    return own.cond(x.sum() > 0, positive, lambda v: v - 1, (x,))


def data_inside_a_loop(x: Any) -> Any:
    def step(often: Any, v: Any) -> Any:
        return often + 1, own.cond(v.sum() > 0, lambda w: w - 1, lambda w: w * 0.5 + 0.3, (v,))

    return while_loop(lambda often, v: often < 3, step, (torch.tensor(0), x.clone()))[1]


def plain_loop(x: Any) -> Any:
    """The same in Python: torch's own loop refuses some sizes of 0."""
    for _ in range(3):
        x = x - 1 if x.sum() > 0 else x * 0.5 + 0.3
    return x


ON_SIZES = {
    each.__name__: each
    for each in (by_rows, by_own_name, odd_columns, axes_compared, nested, several_results)
}


def compare(fast: Any, function: Callable[[Any], Any]) -> None:
    for size in SQUARE:
        x = torch.rand(size) - 0.4
        torch.testing.assert_close(fast(x), function(x), msg=str(size), equal_nan=True)


@pytest.mark.parametrize("executor", ["reference", "native"])
@pytest.mark.parametrize("name", ON_SIZES)
def test_sizes_choose_a_program(name: str, executor: Any) -> None:
    module: Any = Calling(ON_SIZES[name])
    fast = ash.compile(module, (torch.zeros(5, 6),), axes=AXES, executor=executor)
    assert isinstance(fast.executable, BranchedExecutable)
    assert not fast.explain().host_ops
    compare(fast, ON_SIZES[name])


def test_a_size_that_axes_settle_is_no_branch() -> None:
    axes = {"x": (ash.Axis("b", min=5), "n")}
    fast = ash.compile(Calling(by_rows), (torch.zeros(5, 6),), axes=axes)
    assert type(fast.executable) is Executable


def test_operands_may_be_numbers_as_in_eager_mode() -> None:
    def function(x: Any) -> Any:
        return own.cond(x.shape[0] > 4, lambda v, k: v + k, lambda v, k: v * k, (x, 3))

    compare(ash.compile(Calling(function), (torch.zeros(5, 6),), axes=AXES), function)


@pytest.mark.parametrize("executor", ["reference", "native"])
@pytest.mark.parametrize(
    ("function", "eager"),
    [
        (inside_data, inside_data),
        (data_inside_data, data_inside_data),
        (data_inside_a_loop, plain_loop),
    ],
)
def test_branches_inside_regions_on_data(
    function: Callable[[Any], Any], eager: Callable[[Any], Any], executor: Any
) -> None:
    """Sizes decide inside of a branch that data choose, or data again."""
    fast = ash.compile(Calling(function), (torch.zeros(5, 6),), axes=AXES, executor=executor)
    assert not fast.explain().host_ops
    compare(fast, eager)


def test_one_program_has_both_branches() -> None:
    """`branches=1` captures one program, which serves all sizes."""
    fast = ash.compile(Calling(by_rows), (torch.zeros(5, 6),), axes=AXES, branches=1)
    assert type(fast.executable) is Executable
    compare(fast, by_rows)


@pytest.mark.parametrize("name", ["by_rows", "odd_columns", "nested", "several_results"])
def test_described_shapes(name: str) -> None:
    shapes = {"x": (DYNAMIC, DYNAMIC)}
    fast = ash.compile(Calling(ON_SIZES[name]), (torch.zeros(5, 6),), dynamic_shapes=shapes)
    for size in SQUARE:
        if min(size) > 1:
            x = torch.rand(size)
            torch.testing.assert_close(fast(x), ON_SIZES[name](x))


@pytest.mark.parametrize("name", ["by_rows", "odd_columns", "nested"])
def test_an_exported_program(name: str) -> None:
    auto: Any = torch.export.Dim.AUTO
    shapes = {"x": (auto, auto)}
    module = Calling(ON_SIZES[name])
    program = torch.export.export(module, (torch.zeros(5, 6),), dynamic_shapes=shapes)
    fast = ash.compile(program)
    for size in SQUARE:
        if min(size) > 1:
            x = torch.rand(size)
            torch.testing.assert_close(fast(x), ON_SIZES[name](x))


def test_under_torch_compile() -> None:
    torch.compiler.reset()
    fast: Any = own.compile(by_rows, backend="anyshape", dynamic=True)
    compare(fast, by_rows)


def test_branches_on_data_with_two_dynamic_axes() -> None:
    def function(x: Any) -> Any:
        return own.cond(x.sum() > 0, lambda v: v.t() + 1, lambda v: v.t() * 2, (x,))

    compare(ash.compile(Calling(function), (torch.zeros(5, 6),), axes=AXES), function)
