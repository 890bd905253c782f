"""Writes into views: what is written is seen through all views of the memory, and by the caller.
Captured at one size, and compared with eager mode at others, 0 and 1 among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import anyshape as ash

Function = Callable[[Any], Any]
SIZES = (6, 0, 1, 2, 5, 9)


def unbound(x: Any) -> Any:
    first, second, third = x.unbind(1)
    first.add_(1)
    second.mul_(first)
    third[1:] = first[:-1]
    return x, first, second.clone(), third


def unbound_in_a_loop(x: Any) -> Any:
    for part in x.t():
        part.add_(part.sum())
    for i, part in enumerate(x.unbind(-1)):
        part.mul_(i)
    return x


def unbound_twice(x: Any) -> Any:
    planes = x.unsqueeze(1).expand(-1, 2, -1).clone()
    for plane in planes.unbind(1):
        for line in plane.unbind(1):
            line.sub_(1)
    return planes


def copied_along(x: Any) -> Any:
    old = x.clone()
    x[1:].copy_(old[:-1])
    x[:-2].fill_(3)
    return x


def parts(x: Any) -> Any:
    left, right = x.chunk(2, 1)
    left += 1
    right.mul_(left.sum())
    first, last = x.split([1, 2], 1)
    last.copy_(first)
    return x, left, right, first


def views_of_views(x: Any) -> Any:
    turned = x.t()[1:]
    inner = turned[:, 1:]
    inner.add_(1)
    turned[0].mul_(2)
    x.view(-1)[::2].neg_()
    return x, turned, inner


def two_views(x: Any) -> Any:
    rows, columns = x[::2], x[:, ::2]
    rows.add_(1)
    columns.mul_(3)
    x.unsqueeze(0).squeeze(0).transpose(0, 1).sub_(rows.sum())
    return x, rows, columns


def diagonals(x: Any) -> Any:
    square = x[:3]
    line = square.diagonal()
    line.fill_(7)
    square.diagonal(1).add_(line[:1].sum())
    return x, line


def windows(x: Any) -> Any:
    half = x.narrow(0, 0, x.shape[0] // 2)
    half.fill_(7)
    x.unflatten(1, (3, 1))[..., 0].add_(1)
    x.flatten()[x.shape[0] :].relu_()
    return x, half


def of_a_copy(function: Function) -> Function:
    def copied(x: Any) -> Any:
        return function(x * 1.5), x

    return copied


class Model(torch.nn.Module):
    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


def same(found: Any, wanted: Any) -> None:
    torch.testing.assert_close(found, wanted, equal_nan=True)


FUNCTIONS = (
    unbound, unbound_in_a_loop, unbound_twice, copied_along, parts, views_of_views, two_views,
    diagonals, windows,
)  # fmt: skip


@pytest.mark.filterwarnings("ignore::anyshape.HostOpsWarning")  # diagonal_scatter is torch's
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("of_input", [True, False])
def test_writes_into_views(function: Function, of_input: bool) -> None:
    model = Model(function if of_input else of_a_copy(function))
    axes = {"x": ("n", None)}
    compiled = ash.compile(model, (torch.randn(4, 3),), axes=axes, executor="reference")
    for n in SIZES:
        ours = torch.randn(n, 3)
        theirs = ours.clone()
        same(compiled(ours), model(theirs))
        same(ours, theirs)


def test_a_program_of_the_users_stays_as_it_is() -> None:
    model = Model(of_a_copy(unbound))
    dynamic = ({0: torch.export.Dim.AUTO},)
    program = torch.export.export(model, (torch.randn(4, 3),), dynamic_shapes=dynamic)
    before = str(program.graph)
    compiled = ash.compile(program, executor="reference")
    assert str(program.graph) == before
    for n in (5, 7):
        x = torch.randn(n, 3)
        same(compiled(x), model(x))
