"""Sizes as models write them."""

from __future__ import annotations

import pytest

from anyshape.frontend.onnx.dims import parsed


@pytest.mark.parametrize(
    ("text", "sizes", "expected"),
    [
        ("seq", {"seq": 7}, 7),
        ("past + seq", {"past": 3, "seq": 4}, 7),
        ("2*n - 1", {"n": 5}, 9),
        ("floor(floor(height/2 - 1/2)/2) + 1", {"height": 9}, 3),
        ("floor(height/2 - 1/2) + 1", {"height": 0}, 0),
        ("ceiling(n/3)", {"n": 7}, 3),
        ("Max(n, 4)", {"n": 2}, 4),
        ("min(n, 4) // 2", {"n": 9}, 2),
        ("n % 3", {"n": 8}, 2),
    ],
)
def test_expressions(text: str, sizes: dict[str, int], expected: int) -> None:
    dim = parsed(text)
    assert dim.evaluate({symbol: sizes[symbol.name] for symbol in dim.symbols}) == expected


@pytest.mark.parametrize(
    "text", ["DynamicDimension.0", "n/2", "a b", "f(n)", "n/m", "n**2", "?", "3", "(" * 300, "n[0]",
             "*".join(f"(a{i}+b{i})" for i in range(14))],
)  # fmt: skip
def test_anything_else_is_a_name(text: str) -> None:
    symbol = parsed(text).symbol
    assert symbol is not None
    assert symbol.name == text
