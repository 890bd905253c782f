"""What of a PyTorch model cannot be compiled or called, and what the message tells the user."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from anyshape.base.errors import AnyshapeError, UnsupportedModelError


def message_of(error: type[AnyshapeError], action: Callable[[], object]) -> str:
    with pytest.raises(error) as caught:
        action()
    assert type(caught.value) is error
    return str(caught.value)


def test_unknown_parts_are_counted_and_placed() -> None:
    parts = {"aten.b.default": ["m.py:3", "m.py:3", "m.py:9"], "aten.a.default": [""]}

    def fail() -> None:
        raise UnsupportedModelError("the model", parts, "leave them out")

    assert message_of(UnsupportedModelError, fail) == (
        "the model uses what anyshape does not know:\n"
        "  aten.a.default (1)\n"
        "  aten.b.default (3) at m.py:3, m.py:9\n"
        "fix: leave them out"
    )
