"""What is said of each axis: the technique, the reasons, the alternatives and their costs."""

from typing import Any

import numpy as np
import pytest
from tests.errors.messages import message_of

import anyshape as ash
from anyshape.base.errors import OptionError
from anyshape.dynamic.buckets import mixing_ops


def attention(x: ash.f32["n", 32]) -> Any:
    return ash.softmax(x @ x.T, axis=-1) @ x


def function(**axis: Any) -> Any:
    return ash.jit(axes=[ash.Axis("n", **axis)])(attention)


def alternatives(strategy: Any) -> dict[str, Any]:
    return {each.technique: each for each in strategy.alternatives}


def test_exact_is_the_default_and_says_why() -> None:
    found = ash.strategies(function(min=1, max=256))["n"]
    assert (found.technique, found.best) == ("exact", "exact")
    assert found.reasons[0] == "sizes are 1..256"
    assert found.reasons[1].startswith("a new size costs ")
    assert found.reasons[2] == ("padding it needs masks, or exact sizes, for 2 dot, 1 softmax")
    others = alternatives(found)
    assert others["buckets"].seconds > found.used.seconds > 0
    assert others["static"].memory == ash.compile(function(max=256)).estimate(n=256).arena + 32768
    assert any("more than" in change for change in found.changes)
    assert any("static=True on all axes holds" in change for change in found.changes)


def test_padding_is_what_the_executable_says_of_padded_sizes() -> None:
    """The cost of buckets is that of calls at the buckets."""
    executable = ash.compile(function(min=1, max=256))
    executable.profile_calls()
    for size in (10, 25, 30, 40, 200):
        executable(np.ones((size, 32), np.float32))
    found = executable.strategies()["n"]
    buckets = alternatives(found)["buckets"]
    assert buckets.why.startswith("buckets [10, 30, 40, 200] compute 1.6 % padding")
    assert found.reasons[1] == "5 sizes were seen; 10, 25, 30 make 60 % of calls"
    scale = found.used.seconds / np.mean(
        [executable.estimate(n=size).seconds for size in (10, 25, 30, 40, 200)]
    )
    padded = np.mean([executable.estimate(n=size).seconds for size in (10, 30, 30, 40, 200)])
    assert buckets.seconds == pytest.approx(scale * padded, rel=0.2)


def test_no_max_no_static() -> None:
    found = ash.strategies(function())["n"]
    assert str(alternatives(found)["static"]) == "static: not here: no max is declared for n"


def test_an_axis_with_buckets() -> None:
    found = ash.strategies(function(min=1, max=256, buckets=[256]))["n"]
    assert (found.technique, found.best) == ("buckets", "exact")
    exact = alternatives(found)["exact"]
    assert exact.seconds < 0.7 * found.used.seconds
    assert any("exact sizes take" in change for change in found.changes)
    assert not alternatives(found)["static"].possible


def test_a_static_axis() -> None:
    found = ash.strategies(function(min=1, max=256, static=True))["n"]
    assert found.technique == "static"
    assert set(alternatives(found)) == {"exact", "buckets"}


def test_a_size_that_the_graph_computes() -> None:
    @ash.jit
    def found(x: ash.f32["n"]) -> Any:
        return ash.nonzero(x)

    text = str(ash.strategies(found))
    assert "late: the graph computes this size as it runs" in text
    assert "what it costs is not known ahead" in text


def test_a_ragged_axis() -> None:
    @ash.jit
    def pooled(x: ash.f32[ash.ragged("seq", over="batch"), 8]) -> Any:
        return ash.segment_mean(x.values, x.offsets)

    found = ash.strategies(pooled)
    assert (found["seq"].technique, found["batch"].technique) == ("ragged", "exact")


def test_explain_has_it() -> None:
    text = str(ash.compile(function(min=1, max=256)).explain())
    assert "\n\naxes\n  sizes assumed, none was profiled; a new binding takes " in text
    assert "\n  n: exact: " in text


def test_mixing_ops_along_an_axis() -> None:
    graph = ash.jit(attention).graph
    assert mixing_ops(graph, "n") == {"dot": 2, "softmax": 1}

    @ash.jit
    def rows(x: ash.f32["n", 8]) -> Any:
        return ash.softmax(x * 2, axis=-1)

    assert mixing_ops(rows.graph, "n") == {}


def test_what_is_no_executable() -> None:
    assert message_of(OptionError, lambda: ash.strategies(3)).startswith(
        "source='3' is not an executable"
    )
