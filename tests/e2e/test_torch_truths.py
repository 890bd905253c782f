"""Truths that data decide: kept, returned, computed with and asserted; against eager."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.e2e.asserting import (
    asserted,
    asserted_tensor,
    both_asserted,
    checked,
    either,
    not_asserted,
    not_negative,
    one_of_two,
    same_as_size,
    selected,
    within,
)

import anyshape as ash
from anyshape.base.errors import FactViolationError, ModelAssertionError, TraceError

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns of its own parts

SIZES = ((4, 6), (1, 1), (0, 5), (7, 11), (2, 1))


class Calling(torch.nn.Module):
    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


def factor(x: Any) -> Any:
    return x * (x.sum() > 0).item()


def returned(x: Any) -> Any:
    return x + 1, (x.sum() > 0).item()


ASSERTING = (asserted, asserted_tensor, not_asserted, both_asserted, checked)
OF_INTEGERS = (within, same_as_size, one_of_two, not_negative, selected)
"""What no size of a result needs."""


def compiled(function: Callable[[Any], Any], executor: Any) -> Any:
    axes = {"x": ("b", "n")}
    return ash.compile(Calling(function), (torch.ones(5, 3),), axes=axes, executor=executor)


@pytest.mark.parametrize("executor", ["reference", "native"])
@pytest.mark.parametrize("function", [factor, returned])
def test_truths_as_values(function: Any, executor: Any) -> None:
    fast = compiled(function, executor)
    for size in SIZES:
        for x in (torch.rand(size), -torch.rand(size)):
            ours, theirs = fast(x), function(x)
            torch.testing.assert_close(ours, theirs)
            if isinstance(theirs, tuple):
                assert ours[1] is theirs[1]


@pytest.mark.parametrize("executor", ["reference", "native"])
@pytest.mark.parametrize("function", ASSERTING)
def test_assertions_hold_where_eager_goes_on(function: Any, executor: Any) -> None:
    fast, outcomes = compiled(function, executor), set[bool]()
    for size in SIZES:
        for x in (torch.rand(size), -3 * torch.rand(size)):
            try:
                wanted = function(x)
            except (AssertionError, RuntimeError):
                outcomes.add(False)
                with pytest.raises(ModelAssertionError):
                    fast(x)
            else:
                outcomes.add(True)
                torch.testing.assert_close(fast(x), wanted)
    assert outcomes == {True, False}


@pytest.mark.parametrize("function", OF_INTEGERS)
def test_integers_that_no_size_needs(function: Any) -> None:
    """Also without checks of indices: what a model asserts is its own."""
    axes, outcomes = {"x": ("b", "n")}, set[bool]()
    fast = ash.compile(Calling(function), (torch.ones(5, 3),), axes=axes, check_indices=False)
    for size in SIZES:
        for x in (torch.rand(size) + 0.1, -3 * torch.rand(size) - 1):
            try:
                wanted = function(x)
            except (AssertionError, RuntimeError):
                outcomes.add(False)
                with pytest.raises((ModelAssertionError, FactViolationError)):
                    fast(x)
            else:
                outcomes.add(True)
                torch.testing.assert_close(fast(x), wanted)
    assert outcomes == {True, False}


@pytest.mark.parametrize("function", [factor, returned])
def test_under_torch_compile(function: Any) -> None:
    torch.compiler.reset()
    with torch._dynamo.config.patch(capture_scalar_outputs=True), torch.no_grad():
        fast: Any = torch.compile(function, backend="anyshape", dynamic=True, fullgraph=True)  # pyright: ignore[reportUnknownMemberType]
        for size in ((4, 6), (7, 11)):
            for x in (torch.rand(size), -torch.rand(size)):
                torch.testing.assert_close(fast(x), function(x))


def branch(x: Any) -> Any:
    return x + 1 if (x.sum() > 0).item() else x * 2


@pytest.mark.parametrize("function", [either, branch])
def test_branches_on_data_are_refused(function: Any) -> None:
    with pytest.raises(TraceError, match="needs the data of a tensor"):
        compiled(function, "reference")


def test_the_message_has_the_line_of_forward() -> None:
    with pytest.raises(ModelAssertionError) as caught:
        compiled(asserted, "native")(-torch.ones(2, 2))
    where = f"{__file__}:{inspect.getsourcelines(Calling.forward)[1] + 1}"
    assert str(caught.value) == (
        f"the model ({where}) asserts of its data what does not hold in this call\n"
        "fix: pass data for which it holds, or change the assertion"
    )
