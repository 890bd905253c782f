"""Numbers that Python computes from sizes, captured at one size and compared with eager at others.

Where eager raises (a quotient by 0, the root of a negative number), a call is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np
import pytest
import torch
from tests.errors.messages import message_of

import anyshape as ash
from anyshape.base.errors import AnyshapeError, TraceError

pytestmark = pytest.mark.filterwarnings("ignore::anyshape.HostOpsWarning")

Function = Callable[[Any], Any]
SIZES = ((4, 6), (3, 1), (5, 0), (2, 7), (0, 5), (3, 2), (4, 9), (2, 12))


def halves(x: Any) -> list[int]:
    """A size inside a comprehension."""
    return [int(x.shape[axis] / 2) for axis in range(2)]


FLOATS: dict[str, Function] = {
    "float(n)": lambda x: x * float(x.shape[1]),
    "math.sqrt(n)": lambda x: x / math.sqrt(x.shape[1] + 1),
    "sqrt(n)": lambda x: x * sqrt(x.shape[1]),
    "root of a float": lambda x: x * math.sqrt(x.shape[1] / 2 + 0.5),
    "root of a negative number": lambda x: x * math.sqrt(x.shape[1] - 2),
    "math.log(n)": lambda x: x * math.log(x.shape[1]),
    "math.log(n, 10)": lambda x: x * math.log(x.shape[1] + 1, 10),
    "math.log2(n)": lambda x: x * math.log2(x.shape[1] + 1),
    "n ** 0.5": lambda x: x * x.shape[1] ** 0.5,
    "n ** -0.5": lambda x: x * x.shape[1] ** -0.5,
    "n ** -1": lambda x: x * x.shape[1] ** -1,
    "1 / n": lambda x: x * (1 / x.shape[1]),
    "1 / float(n)": lambda x: x * (1 / float(x.shape[1])),
    "1 / (n / 2)": lambda x: x * (1 / (x.shape[1] / 2)),
    "n / m": lambda x: x * (x.shape[0] / x.shape[1]),
    "n // m": lambda x: x + x.shape[0] // x.shape[1],
    "n % m": lambda x: x + x.shape[0] % x.shape[1],
    "n // 2.0": lambda x: x * (x.shape[1] // 2.0) + x.shape[1] % 2.5,
    "torch.tensor(float(n))": lambda x: x * torch.tensor(float(x.shape[1])),
    "a result": lambda x: (x, float(x.shape[1]), math.sqrt(x.shape[1])),
    "a scale": lambda x: (x @ x.mT) / math.sqrt(x.size(-1) + 1),
}
INTEGERS: dict[str, Function] = {
    "int(n)": lambda x: x[:, int(x.shape[1]) - 1 :],
    "int(n / 2)": lambda x: x[:, : int(x.shape[1] / 2)],
    "int(n * 0.5)": lambda x: x[:, : int(x.shape[1] * 0.5)],
    "int(n * 0.3)": lambda x: x[:, : int(x.shape[1] * 0.3)],
    "int((n - 3) / 2)": lambda x: x + int((x.shape[1] - 3) / 2),
    "int(math.sqrt(n))": lambda x: x[:, : int(math.sqrt(x.shape[1]))],
    "int(n ** 0.5)": lambda x: x[:, : int(x.shape[1] ** 0.5)],
    "math.isqrt(n)": lambda x: x[:, : math.isqrt(x.shape[1])],
    "math.ceil(n / 3)": lambda x: x[:, : math.ceil(x.shape[1] / 3)],
    "math.floor((n - 4) / 3)": lambda x: x + math.floor((x.shape[1] - 4) / 3),
    "math.trunc(n / 2)": lambda x: x[:, : math.trunc(x.shape[1] / 2)],
    "round(n * 0.3)": lambda x: x[:, : round(x.shape[1] * 0.3)],
    "round(n / 2)": lambda x: x + round(x.shape[1] / 2),
    "divmod": lambda x: x + divmod(x.shape[1], 4)[0] * divmod(x.shape[1], 4)[1],
    "abs": lambda x: x + abs(x.shape[1] - 5),
    "shifts": lambda x: x + (x.shape[1] >> 1) + (x.shape[1] << 2),
    "mask": lambda x: x + (x.shape[1] & 3),
    "inside": lambda x: x[: halves(x)[0], : halves(x)[1]],
}
OTHER_USES: dict[str, Function] = {
    "a dtype": lambda x: x.to(float) + x.to(dtype=int),
    "a type": lambda x: x + 1 if isinstance(x.shape[1], int) else x,
    "a text": lambda x: x + int("7") + float("1.5"),
    "a function": lambda x: x + sum(map(int, [1.5, 2.5])),
    "other arguments": lambda x: x + int("11", 2) + math.sqrt(4) + divmod(7, 2)[1],
}
FORMS = FLOATS | INTEGERS | OTHER_USES


class Model(torch.nn.Module):
    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


def compiled_at(function: Function) -> Any:
    return ash.compile(Model(function), (torch.randn(4, 6),), axes={"x": ("n", "m")})


@pytest.mark.parametrize("name", FORMS)
def test_what_python_makes_of_sizes(name: str) -> None:
    function = FORMS[name]
    compiled = compiled_at(function)
    for sizes in SIZES:
        x = torch.randn(sizes)
        try:
            expected = function(x)
        except (ZeroDivisionError, ValueError):
            with pytest.raises(AnyshapeError):
                compiled(x)
        else:
            torch.testing.assert_close(compiled(x), expected)


def test_an_integer_of_a_logarithm_holds_for_the_sizes_around() -> None:
    """Python's own may round in another way."""
    compiled = compiled_at(lambda x: x[:, : int(math.log2(x.shape[1] + 1))])
    for width in (3, 6):
        assert compiled(torch.ones(2, width)).shape == (2, int(math.log2(width + 1)))
    with pytest.raises(AnyshapeError, match="3 <= m"):
        compiled(torch.ones(2, 2))


REFUSED: dict[str, tuple[Function, str, str]] = {
    "digits": (
        lambda x: x * round(x.shape[1] / 3, 1),
        "round(x, 1) of a float that depends on sizes",
        "fix: round(x), or round(x * 10) / 10",
    ),
    "an inexact integer": (
        lambda x: x[:, : math.floor(x.shape[1] ** 0.3)],
        "math.floor of a power or logarithm of a size",
        "fix: compute it from sizes by +, -, *, // and %, or give None for that axis in axes=",
    ),
    "a number that may be negative": (
        lambda x: x * math.sqrt(x.shape[1] / 2 - 1),
        "the square root of a number that may be negative",
        "fix: compute it from sizes by +, *, / and max, which keep it from being negative",
    ),
    "bits": (
        lambda x: x + (x.shape[1] & 5),
        "m & 5",
        "fix: compute with sizes by +, -, *, // and %",
    ),
    "either": (
        lambda x: x + (x.shape[1] | 1),
        "m | 1",
        "fix: compute with sizes by +, -, *, // and %",
    ),
    "a shift by a size": (
        lambda x: x + (1 << x.shape[1]),
        "a shift of 1 by m bits",
        "fix: shift sizes by a number that is not negative, or compute with //, * and **",
    ),
    "NumPy": (
        lambda x: x * float(np.sqrt(x.shape[1])),
        "its Python code does with a size what cannot be followed",
        "fix: compute with sizes by +, -, *, // and %, compare them, or give None for that axis",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    function, problem, fix = REFUSED[name]
    text = message_of(TraceError, lambda: compiled_at(function))
    assert problem in text
    assert text.endswith(fix)


def test_functions_are_what_they_were_after_capture() -> None:
    function = INTEGERS["int(n / 2)"]
    before = function.__code__, math.sqrt, dict(globals())
    compiled_at(function)
    assert (function.__code__, math.sqrt, globals()) == before
