"""One name is one size: strictly an error that names both tensors, leniently the name is split."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import onnxruntime
import pytest
from tests.unit.frontend.onnx.models import add_model, model, node, tensor, value

import anyshape as ash
from anyshape.base.errors import SizeNameError
from anyshape.base.warnings import SplitAxesWarning
from anyshape.session import errors

RNG = np.random.default_rng(0)


def randoms(*shape: int) -> Any:
    return RNG.standard_normal(shape, dtype=np.float32)


def session_of(made: Any, *, strict: bool = False) -> Any:
    options = ash.SessionOptions()
    options.add_session_config_entry("anyshape.strict_names", str(int(strict)))
    return ash.InferenceSession(made, options)


def peer(made: Any, feeds: dict[str, Any]) -> Any:
    quiet = onnxruntime.SessionOptions()
    quiet.log_severity_level = 4
    return onnxruntime.InferenceSession(made.SerializeToString(), quiet).run(None, feeds)


def wider(inputs: list[Any], *further: Any) -> Any:
    """x[b, n] with a column more, times y."""
    nodes = [node("Concat", ["x", "x1"], ["wide"], axis=1), node("MatMul", ["wide", "y"], ["z"])]
    return model([*nodes, *further], inputs, [value("z", None)])


CONTRADICTED = (value("x", ["b", "n"]), value("x1", ["b", 1]), value("y", ["n", "m"]))


def test_only_the_name_that_is_contradicted_is_split() -> None:
    """n is n + 1 too. b and m still mean what they did."""
    made = wider(list(CONTRADICTED))
    with pytest.warns(SplitAxesWarning) as warned:
        session = session_of(made)
    assert len(warned) == 1
    assert warned[0].message.names == ("n",)
    for b, n, m in ((2, 3, 4), (1, 1, 1), (5, 0, 7), (0, 2, 3)):
        feeds = {"x": randoms(b, n), "x1": randoms(b, 1), "y": randoms(n + 1, m)}
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # told once
            found = session.run(None, feeds)
        np.testing.assert_allclose(found[0], peer(made, feeds)[0], rtol=1e-4, atol=1e-5)
    with pytest.raises(errors.InvalidArgument, match="axis 'b' has conflicting sizes"):
        session.run(None, {"x": randoms(2, 3), "x1": randoms(3, 1), "y": randoms(4, 4)})


def test_strictly_it_is_an_error_that_names_both_tensors() -> None:
    made = wider(list(CONTRADICTED))
    with pytest.raises(errors.InvalidGraph, match=r"'n' .* axis 1 of 'x' and of axis 0 of 'y'"):
        session_of(made, strict=True)
    with pytest.raises(SizeNameError, match=r"fix: give one of them another name") as caught:
        ash.compile(made)
    assert (caught.value.name, caught.value.first) == ("n", "axis 1 of 'x'")


def test_several_contradictions_one_after_the_other() -> None:
    inputs = [*CONTRADICTED, value("u", ["k"]), value("v", ["k", "k"])]
    further = (
        node("Concat", ["u", "u"], ["uu"], axis=0),
        node("Concat", ["uu", "one"], ["odd"], axis=0),
        node("MatMul", ["odd", "v"], ["w"]),
    )
    made = wider(inputs, *further)
    made.graph.output.append(value("w", None))
    made.graph.initializer.append(tensor("one", np.ones(1, np.float32)))
    with pytest.warns(SplitAxesWarning) as warned:
        session = session_of(made)
    assert [each.message.names for each in warned] == [("k", "n")]
    feeds = {"x": randoms(2, 3), "x1": randoms(2, 1), "y": randoms(4, 5), "u": randoms(2),
             "v": randoms(5, 3)}  # fmt: skip
    for found, wanted in zip(session.run(None, feeds), peer(made, feeds), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_one_name_at_two_sizes_of_a_call() -> None:
    """onnxruntime broadcasts 1 with 3, whatever the name says."""
    session = session_of(add_model(["n"], ["n"]))
    with pytest.raises(errors.InvalidArgument, match=r"axis 'n' .*'x' has 1.* 'y' has 3"):
        session.run(None, {"x": randoms(1), "y": randoms(3)})


def test_expressions_are_what_they_say() -> None:
    made = add_model(["past", "seq", "past + seq"], ["past", "seq", "past + seq"])
    session = session_of(made)
    assert session.get_inputs()[0].shape == ["past", "seq", "past + seq"]
    for past, seq in ((0, 1), (2, 3), (4, 0)):
        x = randoms(past, seq, past + seq)
        np.testing.assert_array_equal(session.run(None, {"x": x, "y": x})[0], x + x)
    with pytest.raises(errors.InvalidArgument, match=r"past \+ seq"):
        session.run(None, {"x": randoms(2, 3, 4), "y": randoms(2, 3, 4)})


# --- what is declared of other tensors ------------------------------------------------------------


def declaring(hidden: list[Any], output: list[Any] | None = None) -> Any:
    """Relu of x, twice in a row."""
    nodes = [node("Concat", ["x", "x"], ["h"], axis=0), node("Relu", ["h"], ["z"])]
    made = model(nodes, [value("x", ["n", 3])], [value("z", output)])
    made.graph.value_info.append(value("h", hidden))
    return made


@pytest.mark.parametrize("lie", [["n", 3], [7, 3], ["2*n", 4], ["n"], ["n + n", "n"]])
def test_declarations_are_hints(lie: list[Any]) -> None:
    session = session_of(declaring(lie, lie))
    for n in (0, 1, 5):
        x = randoms(n, 3)
        wanted = np.maximum(np.concatenate([x, x]), 0)
        np.testing.assert_array_equal(session.run(None, {"x": x})[0], wanted)


@pytest.mark.parametrize(
    ("hidden", "output", "text"),
    [
        ([None, 4], None, r"'4' .* its declaration and of axis 1 of 'h'"),
        (["k", 3], [None, "k"], r"'k' .* axis 0 of 'h' and of axis 1 of 'z'"),
        (["2*n + 1", 3], None, r"'2\*n \+ 1' .* axis 0 of 'x' and of axis 0 of 'h'"),
        (["n"], None, "declares 'h' with 1 axes, and it has 2"),
    ],
)
def test_strictly_declarations_hold(hidden: list[Any], output: Any, text: str) -> None:
    made = declaring(hidden, output)
    if "k" in hidden:  # 3 is no even number
        made.graph.output[0].type.tensor_type.shape.dim[0].Clear()
    with pytest.raises(errors.InvalidGraph, match=text):
        session_of(made, strict=True)


def test_strictly_declarations_that_hold_change_nothing() -> None:
    session = session_of(declaring(["2*n", 3], ["k", 3]), strict=True)
    x = randoms(4, 3)
    np.testing.assert_array_equal(session.run(None, {"x": x})[0].shape, (8, 3))


def test_strictly_what_cannot_be_told_is_checked_by_calls() -> None:
    """m is only known to be n if a call says so."""
    nodes = [node("Relu", ["x"], ["h"]), node("Relu", ["y"], ["z"])]
    inputs = [value("x", [None]), value("y", [None])]
    made = model(nodes, inputs, [value("h", ["k"]), value("z", ["k"])])
    session = session_of(made, strict=True)
    assert [each.shape for each in session.run(None, {"x": randoms(3), "y": randoms(3)})] == [
        (3,),
        (3,),
    ]
    with pytest.raises(errors.InvalidArgument, match=r"'x' has 3 .* 'y' has 2"):
        session.run(None, {"x": randoms(3), "y": randoms(2)})
    assert len(session_of(made).run(None, {"x": randoms(3), "y": randoms(2)})) == 2


def test_strictly_a_name_that_holds_for_one_size_only() -> None:
    """n is 2 * n where there is nothing."""
    session = session_of(declaring(["n", 3]), strict=True)
    assert session.run(None, {"x": randoms(0, 3)})[0].shape == (0, 3)
    with pytest.raises(errors.InvalidArgument, match=r"axis 0 of 'x' and of axis 0 of 'h'"):
        session.run(None, {"x": randoms(2, 3)})


def test_strictly_sizes_that_data_decide() -> None:
    nodes = [node("NonZero", ["x"], ["places"])]
    made = model(nodes, [value("x", ["n"])], [value("places", [1, "found"], 7)])
    session = session_of(made, strict=True)
    assert session.run(None, {"x": np.float32([0, 1, 0, 2])})[0].tolist() == [[1, 3]]
