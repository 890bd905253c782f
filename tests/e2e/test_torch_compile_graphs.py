"""How many graphs torch.compile makes for all sizes, 0 and 1 included: this many, no more.

Dynamo makes numbers of sizes 0 and 1 before a backend sees a graph (docs/design/0061). What is
ours is that no other size costs a graph, and that all of them give what eager mode gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from anyshape.api.dynamo_backend import anyshape, compiled_graphs

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns of its own parts

SIZES = (
    (5, 3), (4, 7), (6, 2), (3, 11), (9, 4),  # one graph
    (1, 3), (1, 8), (0, 3), (0, 5), (3, 1), (7, 1), (2, 0), (6, 0), (1, 1), (0, 0), (1, 0), (0, 1),
)  # fmt: skip
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "elementwise": lambda x: x * 2 + 1,
    "sums": lambda x: x - x.mean(0),
    "rows": lambda x: x.softmax(-1),
    "products": lambda x: x.t() @ x,
    "joined": lambda x: torch.cat([x, x + 1]),
    "sizes": lambda x: x * x.shape[0],
}


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    torch._dynamo.reset()
    with torch.no_grad():
        yield


@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_graph_for_sizes_that_are_alike_in_being_0_or_1_or_more(name: str) -> None:
    function, kinds = FUNCTIONS[name], set[tuple[int, ...]]()
    options = {"executor": "reference"}
    fast = torch.compile(function, backend=anyshape, dynamic=True, options=options)
    for sizes in SIZES:
        x = torch.randn(sizes)
        torch.testing.assert_close(fast(x), function(x), equal_nan=True)
        kinds.add(tuple(min(size, 2) for size in sizes))
        assert len(compiled_graphs()) == min(len(kinds), 8), sizes
    assert len(kinds) == 9, "dynamo makes 8 graphs of a function, and runs other sizes itself"
