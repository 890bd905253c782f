"""What people write by hand gives what NumPy gives, at any sizes and for any values."""

from __future__ import annotations

import math
import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.e2e.hand_written import ALL, HandWritten

import anyshape as ash
from anyshape import Executable
from anyshape.execute import compile_graph

DTYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0)


def shape_of(type_: str, sizes: dict[str, int]) -> tuple[int, ...]:
    words = re.findall(r"\w+", type_.partition("[")[2])
    return tuple(sizes[word] if word in sizes else int(word) for word in words)


def arrays(case: HandWritten, sizes: dict[str, int], special: float) -> list[np.ndarray]:
    """Random ones; a share of the elements is `special`, a share of rows of masks empty."""
    rng, made = np.random.default_rng(math.prod(sizes.values())), []
    for type_ in case.types:
        shape, dtype = shape_of(type_, sizes), type_.partition("[")[0]
        if dtype == "i64":
            made.append(rng.integers(0, 13, shape))
        elif dtype == "bool":
            made.append((rng.random(shape) < 0.7) & (rng.random((*shape[:-1], 1)) < 0.8))
        else:
            x = rng.standard_normal(shape)
            if special:
                x = np.where(rng.random(shape) < 0.04, rng.choice(SPECIAL, shape), x)
            made.append(x.astype(DTYPES[dtype]))
    return made


def compiled(case: HandWritten) -> Executable:
    names = [f"x{number}" for number in range(len(case.types))]
    quoted = [re.sub(r"([a-z]\w*)(?=[,\]])", r"'\1'", type_) for type_ in case.types]
    types = {
        name: eval(f"ash.{text}", {"ash": ash}) for name, text in zip(names, quoted, strict=True)
    }
    scope: dict[str, Any] = {"call": lambda *xs: case.function(ash, *xs)}
    exec(f"def model({', '.join(names)}): return call({', '.join(names)})", scope)
    scope["model"].__annotations__ = types
    return compile_graph(ash.jit(scope["model"]).graph)


class Exact:
    """NumPy, where the maximum of nothing is -inf."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def max(self, x: Any, **given: Any) -> Any:
        return np.max(x, initial=-np.inf, **given)


def expected(case: HandWritten, given: list[np.ndarray]) -> np.ndarray:
    exact = [x.astype(np.float64) if x.dtype.kind in "fV" else x for x in given]
    with np.errstate(all="ignore"):
        return np.asarray(case.function(Exact(), *exact))


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:Degrees of freedom")
@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_as_numpy(case: HandWritten) -> None:
    run = compiled(case)
    for special in (0, 1):
        for sizes in case.sizes:
            given = arrays(case, sizes, special)
            (found,), wanted = run(*given), expected(case, given)
            np.testing.assert_allclose(
                found.astype(np.float64), wanted, case.close, case.close, err_msg=str(sizes)
            )
