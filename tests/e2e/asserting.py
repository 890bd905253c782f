"""Functions that assert what data decide. pytest writes the assertions of tests anew, so they are
in a file of their own."""

from __future__ import annotations

from typing import Any

import torch


def asserted(x: Any) -> Any:
    assert (x.sum() > 0).item(), "the sum is not positive"
    return x + 1


def asserted_tensor(x: Any) -> Any:
    assert (x > -1).all(), "too small"
    return x + 1


def not_asserted(x: Any) -> Any:
    assert not (x.sum() > 0).item()
    return x + 1


def both_asserted(x: Any) -> Any:
    assert (x.sum() > 0).item() and (x.sum() < 9).item()  # noqa: PT018 - it is one for Python, too
    return x + 1


def checked(x: Any) -> Any:
    torch._check((x.sum() > 0).item())
    return x + 1


def either(x: Any) -> Any:
    assert (x.sum() > 0).item() or (x.sum() < -9).item()
    return x + 1


def within(x: Any) -> Any:
    count = (x > 0).sum().item()
    torch._check(count >= 2)
    torch._check(count <= 40)
    return x + 1


def same_as_size(x: Any) -> Any:
    torch._check((x > 0).sum().item() == x.numel())
    return x + 1


def one_of_two(x: Any) -> Any:
    torch._check(x.sum().long().item() != 0)
    return x + 1


def not_negative(x: Any) -> Any:
    torch._check_is_size(x.sum().long().item())
    return x + 1


def selected(x: Any) -> Any:
    assert x[x > 0].shape[0] > 3
    return x + 1
