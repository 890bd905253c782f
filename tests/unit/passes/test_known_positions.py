"""What positions decide is a number, at every size; what they do not decide stays."""

from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.execute import compile_graph
from anyshape.passes import run_passes
from anyshape.passes.known_positions import KnownPositions

SIZES = ((1, 1), (1, 4), (3, 1), (2, 5))


def starts(p: Any) -> Any:
    """Where positions do not follow each other, counted: as models find packed sequences."""
    longer = ash.concat([p[:, :1] - 1, p], axis=1)
    return ash.cumsum((longer[:, 1:] - longer[:, :-1] != 1).astype(ash.i64), axis=1)


def positions(b: Any, n: Any) -> Any:
    return ash.broadcast_to(ash.arange(n), (b, n))


def of_sizes(function: Any) -> Any:
    @ash.jit(axes=[ash.Axis("b", min=1), ash.Axis("n", min=1)])
    def model(x: ash.f32["b", "n"]):
        return function(*x.shape)

    return model


KNOWN = {
    "packed": lambda b, n: starts(positions(b, n)),
    "moved": lambda b, n: positions(b, n)[:, :, None].mT.reshape(b, n) * 3 + 2 < 3 * ash.arange(n),
    "gathered": lambda b, n: (positions(b, n) * 0)[:, ash.arange(n) % 2],
}


@pytest.mark.parametrize("function", KNOWN.values(), ids=KNOWN)
def test_known_numbers(function: Any) -> None:
    graph = of_sizes(function).graph
    (report,) = run_passes(graph, [KnownPositions()], verify=True).reports
    assert any(d.why == "it is 0 at every position" for d in report.taken)
    executable = compile_graph(graph)
    for sizes in SIZES:
        (found,) = executable(np.zeros(sizes, np.float32))
        assert found.shape == sizes
        assert not found.any()


def unknown(b: Any, n: Any) -> Any:
    """A jump, a step of two, a comparison that sizes decide, sums of counts."""
    p = positions(b, n)
    jump = ash.concat([p, p + n + 1], axis=1)
    two = ash.arange(2 * n)[::2]
    return starts(jump), starts(p * 2), two[1:] - two[:-1] == 1, p < b, ash.cumsum(p, axis=1)


def test_what_positions_do_not_decide_stays() -> None:
    graph = of_sizes(unknown).graph
    optimised, plain = compile_graph(graph), compile_graph(graph, without=("known-positions",))
    for b, n in SIZES:
        x = np.zeros((b, n), np.float32)
        p = np.broadcast_to(np.arange(n), (b, n))
        jump = np.repeat([[0] * n + [1] * n], b, 0)
        wanted = (jump, np.cumsum(np.where(np.arange(n) > 0, 1, 0) + 0 * p, 1),
                  np.zeros(n - 1, bool), p < b, np.cumsum(p, 1))  # fmt: skip
        for found, expected, other in zip(optimised(x), wanted, plain(x), strict=True):
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(found, other)


GREATEST = 2**63 - 1


@pytest.mark.filterwarnings("ignore:overflow")
def test_numbers_that_may_wrap_decide_nothing() -> None:
    def wrapping(b: Any, n: Any) -> Any:
        p = ash.arange(n)
        return p + GREATEST > p, p * (2**40) * (2**40) >= p

    executable = compile_graph(of_sizes(wrapping).graph)
    for n in (1, 2, 5):
        p = np.arange(n)
        wanted = p + GREATEST > p, p * 2**40 * 2**40 >= p
        for found, expected in zip(executable(np.zeros((1, n), "f4")), wanted, strict=True):
            np.testing.assert_array_equal(found, expected)
