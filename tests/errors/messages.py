"""What tests of errors compare: the whole text, and lines of their own file by a mark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from anyshape.base.errors import AnyshapeError


def message_of(error: type[AnyshapeError], action: Callable[[], object]) -> str:
    """The text of the error that an action raises, which is of this very class."""
    with pytest.raises(error) as caught:
        action()
    assert type(caught.value) is error
    return str(caught.value)


def line_marked(file: str, mark: str) -> str:
    """The place of the line that ends in a comment of this text."""
    lines = Path(file).read_text().splitlines()
    number = next(i for i, text in enumerate(lines, 1) if text.endswith(f"# {mark}"))
    return f"{file}:{number}"
