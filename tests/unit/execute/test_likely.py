"""Sizes that calls have had, and graphs that are compiled again for them."""

import re
from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.base.errors import AxisDeclarationError, OptionError
from anyshape.execute import compile_graph
from anyshape.execute.likely import MOST, likely_sizes
from anyshape.plan.schedule_order import typical_bindings
from anyshape.sym import Origin, Symbol


@ash.jit(axes=[ash.Axis("n", max=64)], where="a == b")
def function(x: ash.f32["n", "a"], y: ash.f32["n", "b"]):
    return x + y


def ones(*shape: int) -> Any:
    return np.ones(shape, np.float32)


def test_sizes_of_calls_the_most_frequent_first() -> None:
    executable = compile_graph(function.graph)
    assert executable.observed() == {}
    for n, a in [(3, 5), (4, 5), (4, 6), (4, 7), (4, 5)]:
        executable(ones(n, a), ones(n, a))
    observed = executable.observed()
    assert observed["n"] == (4, 3)
    assert observed["a"][0] == 5
    assert sorted(observed["a"]) == [5, 6, 7]
    assert observed["b"] == observed["a"]


def test_only_new_bindings_are_noted() -> None:
    executable = compile_graph(function.graph)
    for _ in range(5):
        executable(ones(2, 2), ones(2, 2))
    assert len(executable.executor.bindings_seen()) == 1
    executable.trim()
    assert executable.observed() == {}


@pytest.mark.parametrize("executor", ["native", "stepwise"])
def test_every_executor_with_level_2_notes_them(executor: Any) -> None:
    executable = compile_graph(function.graph, executor=executor)
    executable(ones(2, 3), ones(2, 3))
    assert executable.observed() == {"n": (2,), "a": (3,), "b": (3,)}


def test_the_reference_keeps_nothing() -> None:
    executable = compile_graph(function.graph, executor="reference")
    executable(ones(2, 3), ones(2, 3))
    assert executable.observed() == {}


def test_host_nodes() -> None:
    @ash.jit
    def found(x: ash.f32["n"]):
        return ash.nonzero(x)

    found(ones(3))
    assert found.executable.observed() == {"n": (3,)}


def test_there_are_few_of_them() -> None:
    bindings = [{"n": size} for size in range(100)]
    assert likely_sizes([*bindings, {"n": 50}])["n"] == (50, *range(MOST - 1))


def test_compiled_again_axes_say_so() -> None:
    executable = compile_graph(function.graph, likely={"n": [8, 16]})
    (axis,) = (axis for axis in executable.source.axes if axis.name == "n")
    assert axis == ash.Axis("n", max=64, likely=[8, 16])
    again = compile_graph(function.graph, likely=executable.observed())
    assert again.source == function.graph


def test_observed_sizes_outlive_a_process() -> None:
    executable = compile_graph(function.graph)
    for n, a in ((8, 5), (8, 6), (16, 5)):
        executable(ones(n, a), ones(n, a))
    text = executable.observed().as_json()
    sizes = ash.ObservedSizes.from_json(text)
    assert sizes == executable.observed()
    again = compile_graph(function.graph, likely=sizes)
    axes = {axis.name: axis for axis in again.source.axes}
    assert axes["n"].likely_from is Origin.OBSERVED
    assert str(axes["n"]) == "n: 0..64 observed [8, 16]"
    assert typical_bindings(again.graph)[0] == {Symbol("n"): 8, Symbol("a"): 5}
    assert "a: 0.. observed [5, 6]" in again.as_text(), "it goes over to what replaces an axis"
    np.testing.assert_array_equal(again(ones(3, 2), ones(3, 2))[0], ones(3, 2) * 2)


@pytest.mark.parametrize("text", ["", "[1]", '{"n": 3}', '{"n": [-1]}', '{"n": [true]}'])
def test_what_is_no_text_of_sizes(text: str) -> None:
    expected = 'is not lists of sizes by axis, {"seq": [128, 256]}\nfix: '
    with pytest.raises(
        OptionError, match=f"observed sizes='{re.escape(text)}' {re.escape(expected)}"
    ):
        ash.ObservedSizes.from_json(text)


def test_schedules_are_compared_at_them() -> None:
    """Also where an axis with likely sizes has been replaced by another."""
    executable = compile_graph(function.graph, likely={"n": [8, 16], "b": [5]})
    first, second = typical_bindings(executable.graph)
    assert first == {Symbol("n"): 8, Symbol("a"): 5}
    assert second == {Symbol("n"): 16, Symbol("a"): 5}


def test_refusals() -> None:
    with pytest.raises(OptionError, match=r"(?s)likely='m' is not an axis of 'function'.*fix: "):
        compile_graph(function.graph, likely={"m": [3]})
    with pytest.raises(OptionError, match=r"likely='3' is not a dict of sizes"):
        compile_graph(function.graph, likely=3)  # type: ignore[arg-type]
    with pytest.raises(AxisDeclarationError, match="likely size 65"):
        compile_graph(function.graph, likely={"n": [65]})
