"""What cannot be traced, and what the message tells the user to do."""

# ruff: noqa: UP037 - names of axes are no forward references

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jaxtyping import Float, Float32, Shaped

import anyshape as ash
from anyshape.base.errors import TraceError

X = np.ones((2, 3), np.float32)
HERE = Path(__file__).name


def tracing(function: Callable[..., Any], **options: Any) -> TraceError:
    """The error of tracing `function(x: f32["n", 3], mask: bool["n"], i: i64[()])`."""

    def traced(x: ash.f32["n", 3], mask: ash.bool["n"], i: ash.i64[()]) -> Any:
        return function(x, mask, i)

    traced.__annotations__ = {"x": ash.f32["n", 3], "mask": ash.bool["n"], "i": ash.i64[()]}
    with pytest.raises(TraceError) as caught:
        _ = ash.jit(**options)(traced).graph
    return caught.value


# --- what needs data ------------------------------------------------------------------------------

NEEDS_DATA: list[tuple[str, Callable[..., Any], str, str]] = [
    ("bool", lambda x, m, i: 1 if i > 0 else 2, "the truth value", "ash.cond(p, f, g)"),
    ("and", lambda x, m, i: m and x, "the truth value", "ash.where(p, x, y)"),
    ("float", lambda x, m, i: float(i), "float()", "keep it a tensor"),
    ("int", lambda x, m, i: int(i), "int()", "keep it a tensor"),
    ("index", lambda x, m, i: range(i), "using it as an integer", ".shape"),
    ("range", lambda x, m, i: list(range(3))[i], "using it as an integer", ".item()"),
    ("array", lambda x, m, i: np.asarray(x), "a NumPy array", "functions of anyshape"),
    ("iter", lambda x, m, i: list(x), "iteration", "ash.scan"),
    ("len", lambda x, m, i: len(x), "len()", "x.shape[0]"),
]


@pytest.mark.parametrize(
    ("function", "problem", "fix"),
    [row[1:] for row in NEEDS_DATA],
    ids=[row[0] for row in NEEDS_DATA],
)
def test_what_needs_data_is_refused(function: Callable[..., Any], problem: str, fix: str) -> None:
    error = tracing(function)
    assert problem in error.problem
    assert "needs the data of a" in error.problem
    assert fix in error.fix
    assert error.function == "traced"
    assert error.location is not None
    assert HERE in error.location.file


def test_the_length_of_a_static_axis_is_known() -> None:
    @ash.jit
    def f(x: ash.f32[4, "n"]):
        return x * len(x)

    assert f(np.ones((4, 1), np.float32)).max() == 4


# --- what users write in functions ----------------------------------------------------------------

REFUSED: list[tuple[str, Callable[..., Any], str, str]] = [
    ("mask", lambda x, m, i: x[i > 0], "a mask without axes", "with axes of the tensor"),
    ("float size", lambda x, m, i: ash.zeros(x[0, 0]), "item() of a f32[] is no size", "ash.i64"),
    ("assign", lambda x, m, i: x.__setitem__(0, 1), "a parameter is assigned to", "x.astype("),
    ("assign to a view", lambda x, m, i: (v := (x + 1), w := v[1:], w.__setitem__(0, 1)),
     "shares its elements", "behind the assignment"),
    ("assign under a view", lambda x, m, i: (v := (x + 1), v.T, w := v.T, v.__setitem__(0, w)),
     "shares its elements", "del them before"),
    ("assign in a branch", lambda x, m, i: (y := x + 1, ash.cond(
        i > 0, lambda: y.__setitem__(0, 1), lambda: None)), "of the function around", "carry it"),
    ("ufunc", lambda x, m, i: np.cbrt(x), "np.cbrt cannot", "from anyshape"),
    ("ufunc-out", lambda x, m, i: np.add.reduce(x), "np.add cannot", "from anyshape"),
    ("kind", lambda x, m, i: x + "1", "cannot use a str as a tensor", "np.asarray"),
    ("result", lambda x, m, i: "text", "cannot use a str as a tensor", "np.asarray"),
    ("axis", lambda x, m, i: x.sum(axis=2), "axis 2 is out of range", "-2..1"),
    ("axes", lambda x, m, i: x.sum(axis=(0, -2)), "axes [0, -2] repeat", "once"),
    ("transpose", lambda x, m, i: x.transpose(0), "transpose got 1 axes", "all 2 axes"),
    ("matrix", lambda x, m, i: m.mT, "at least two axes", "expand_dims"),
    ("triangle", lambda x, m, i: ash.tril(m), "at least two axes", "expand_dims"),
    ("two -1", lambda x, m, i: x.reshape(-1, -1), "more than one -1", "all sizes but one"),
    ("-1 and 0", lambda x, m, i: x.reshape(-1, 0), "ambiguous", "give all sizes"),
    ("name", lambda x, m, i: x.reshape("k", 3), "uses axis 'k'", "name an axis 'k'"),
    ("size kind", lambda x, m, i: x.reshape(1.5), "a size is a float", "an integer"),
    ("indices", lambda x, m, i: x[0, 0, 0], "3 indices for f32[n, 3]", "at most 2"),
    ("dots", lambda x, m, i: x[..., ...], "two `...`", "one `...`"),
    ("step", lambda x, m, i: x[::0], "step of a slice is 0", "other than 0"),
    ("traced bound", lambda x, m, i: x[: x[0, 0]], "item() of a f32[]", "cast it to ash.i64"),
    ("bound", lambda x, m, i: x[:1.5], "bound of a slice is a float", "an integer"),
    ("float index", lambda x, m, i: x[[1.5]], "an index of float64", "integers or slices"),
    ("constant mask", lambda x, m, i: x[np.array([True])], "an index of bool", "flatnonzero"),
    ("text index", lambda x, m, i: x["n"], "cannot index with a str", "integers, slices"),
    ("power", lambda x, m, i: i**i, "constant integer", "x.astype(ash.f32)"),
    ("scalar matmul", lambda x, m, i: x @ i, "a scalar is no matrix", "use *"),
    ("concat", lambda x, m, i: ash.concat([]), "concat of no tensors", "at least one"),
    ("split", lambda x, m, i: ash.split(x, 0), "split into 0 parts", "at least one"),
    ("pad", lambda x, m, i: ash.pad(x, ((1, 1),)), "pad got 1 pairs", "each axis"),
    ("arange", lambda x, m, i: ash.arange(0, 3, 0), "step 0", "other than 0"),
    ("norm", lambda x, m, i: ash.layer_norm(x, bias=x[0]), "no scale", "scale=ash.ones"),
    ("key", lambda x, m, i: ash.cond(i > 0, ash.random.new_key, lambda: i),
     "inside a branch or loop", "ash.random.split"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "problem", "fix"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_what_is_refused_while_tracing(
    function: Callable[..., Any], problem: str, fix: str
) -> None:
    error = tracing(function)
    assert problem in error.problem
    assert fix in error.fix
    assert error.location is not None
    assert HERE in error.location.file


EINSUM = [
    ("...i->i", "more than letters", "every axis"),
    ("ij,jk->ik", "names 2 operands, got 1", "one term per operand"),
    ("ijk->i", "has 3 letters in 'ijk' for f32[n, 3]", "one letter per axis"),
    ("ii->i", "repeats a letter in 'ii'", "ash.eye(n)"),
    ("ij->k", "no operand has", "letters of the operands"),
]


@pytest.mark.parametrize(("equation", "problem", "fix"), EINSUM)
def test_einsum(equation: str, problem: str, fix: str) -> None:
    error = tracing(lambda x, m, i: ash.einsum(equation, x))
    assert f"einsum '{equation}' " in error.problem
    assert problem in error.problem
    assert fix in error.fix


CONTROL: list[tuple[Callable[..., Any], str, str]] = [
    (lambda x, m, i: ash.cond(i > 0, lambda: x, lambda: (x,)),
     "branches of cond give different structures", "same containers"),
    (lambda x, m, i: ash.while_loop(lambda v: v > 0, lambda v: (v, v), i),
     "another structure than the initial state", "containers it came in"),
    (lambda x, m, i: ash.while_loop(lambda v: v > 0, lambda v: v * 1.5, i),
     "state 0 of while_loop is i64[] but continues as f32[]", ".astype(ash.i64)"),
    (lambda x, m, i: ash.cond(x.shape[0] > 1, lambda: x, lambda: -x),
     "cannot use '1 < n' as a tensor: it says something of sizes", "ash.asarray(x.shape[0]) > 1"),
    (lambda x, m, i: ash.while_loop(lambda v: v.shape[0] > 1, lambda v: v[1:], x),
     "as a tensor: it says something of sizes", "ash.asarray(x.shape[0]) > 1"),
    (lambda x, m, i: ash.scan(lambda s, v: s + v, i, m), "must give two things", "(state, y)"),
    (lambda x, m, i: ash.scan(lambda s, v: (s, v), i), "scan over nothing", "or a length"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "problem", "fix"), CONTROL)
def test_control_flow(function: Callable[..., Any], problem: str, fix: str) -> None:
    error = tracing(function)
    assert problem in error.problem
    assert fix in error.fix


def test_a_tensor_of_another_trace() -> None:
    kept: list[Any] = []
    tracing(lambda x, m, i: kept.append(x) or bool(i))
    error = tracing(lambda x, m, i: x + kept[0])
    assert "belongs to a function whose tracing is over" in error.problem
    assert "return tensors" in error.fix


def test_outside_of_any_trace() -> None:
    with pytest.raises(TraceError, match="nothing is being traced") as caught:
        ash.zeros((2, 3))
    assert "@ash.jit" in caught.value.fix


# --- annotations ----------------------------------------------------------------------------------


def refused(function: Callable[..., Any], *arguments: Any) -> str:
    with pytest.raises(TraceError) as caught:
        ash.jit(function)(*arguments)
    assert caught.value.location is not None
    assert HERE in caught.value.location.file
    return str(caught.value)


def test_a_missing_annotation_is_suggested_from_the_argument() -> None:
    text = refused(lambda x: x, np.ones((8, 512), np.float32))
    assert "parameter 'x' has no annotation" in text
    assert text.endswith("fix: declare it: x: ash.f32[None, 512]")


@pytest.mark.parametrize(
    ("argument", "suggested"),
    [
        (np.ones(3, np.int64), "ash.i64[None]"),
        (np.array(True), "ash.bool[()]"),
        ({"w": X, "b": [X, (X,)]}, "{'w': %, 'b': [%, (%,)]}".replace("%", "ash.f32[None, 3]")),
        (3, "int"),
    ],
)  # fmt: skip
def test_suggestions(argument: Any, suggested: str) -> None:
    assert f"x: {suggested}" in refused(lambda x: x, argument)


def test_a_missing_annotation_without_an_argument() -> None:
    with pytest.raises(TraceError, match=re.escape('declare it: x: ash.f32["batch", 64]')):
        _ = ash.jit(lambda x: x).graph


def annotated(annotation: Any) -> Callable[..., Any]:
    def function(x: Any) -> Any:
        return x

    function.__annotations__["x"] = annotation
    return function


@pytest.mark.parametrize(
    ("annotation", "problem", "fix"),
    [
        (ash.f32, "an element type but no shape", "ash.f32[()] for a scalar"),
        (np.ndarray, "annotated with ndarray, which says no shape", 'x: ash.f32["batch", 64]'),
        ({"w": list}, "parameter 'x.w' is annotated with list", "declare it: x"),
        ("missing.f32[3]", "name 'missing' is not defined", "top of the module"),
        (Float[np.ndarray, "n"], "does not say which element type", "Float32"),
        (Shaped[np.ndarray, "n"], "does not say which element type", "Float32"),
        (Float32[np.ndarray, "..."], "any number of axes", "write out every axis"),
        (Float32[np.ndarray, "*n"], "'*n' is any number of axes", "write out every axis"),
        (Float32[np.ndarray, "#n"], "'#n' is a broadcasting axis", "plain name"),
    ],
    ids=str,
)
def test_annotations_that_say_too_little(annotation: Any, problem: str, fix: str) -> None:
    text = refused(annotated(annotation), X)
    assert problem in text
    assert fix in text


def test_variadic_parameters() -> None:
    def function(*xs: ash.f32[3]) -> Any:
        return xs

    text = refused(function, X)
    assert "takes any number of arguments" in text
    assert "a tuple or dict annotation" in text


def test_an_axis_that_nothing_has() -> None:
    error = tracing(lambda x, m, i: x, axes=[ash.Axis("sq", max=4)])
    assert error.problem == "axis 'sq' is declared, but no parameter has it"
    assert error.fix == "use one of the names in the annotations: n"


# --- arguments ------------------------------------------------------------------------------------


@ash.jit
def model(p: {"w": ash.f32["n", 3]}, scale: int, eps: ash.f32[()] = 0.5):
    return p["w"] * scale + eps


@pytest.mark.parametrize(
    ("arguments", "problem", "fix"),
    [
        (({"v": X}, 1), "argument 'p' has keys v, declared with keys w", "built like"),
        (([X], 1), "argument 'p' has a list, declared with a dict", "built like"),
        (({"w": [1.0]}, 1), "argument 'p.w' is a list, declared f32[n, 3]", "np.asarray(p.w"),
        (({"w": X}, 1.5), "static argument 'scale' is a float, declared int", "as a tensor"),
        (({"w": X}, X), "static argument 'scale' is a ndarray, declared int", "as a tensor"),
    ],
)
def test_arguments_that_do_not_fit(arguments: Any, problem: str, fix: str) -> None:
    with pytest.raises(TraceError) as caught:
        model(*arguments)
    assert problem in caught.value.problem
    assert fix in caught.value.fix


def test_element_types_of_arguments() -> None:
    with pytest.raises(
        ash.errors.DTypeError, match=r"input 'p\.w': expected f32, got f64"
    ) as caught:
        model({"w": X.astype(np.float64)}, 1)
    assert "p.w.astype('float32')" in str(caught.value)

    @ash.jit
    def f(i: ash.i64[()]):
        return i

    with pytest.raises(ash.errors.DTypeError, match=r"expected i64, got the float 1\.5"):
        f(1.5)


def test_a_static_parameter_without_value_has_no_graph() -> None:
    with pytest.raises(TraceError, match="parameter 'scale' is static and has no default"):
        _ = model.graph
    assert model.trace(scale=2).inputs == ("p.w", "eps")


# --- shape mistakes are found while tracing, at the user's line -----------------------------------


def located(error: Any) -> bool:
    return error.location is not None and HERE in error.location.file and error.location.line > 0


def test_axes_of_different_names() -> None:
    @ash.jit
    def f(x: ash.f32["batch", "seq"], y: ash.f32["batch", "kv"]):
        return x @ y.T + y[:, 0]

    with pytest.raises(ash.errors.AxisNameConflictError) as caught:
        _ = f.graph
    assert {caught.value.left, caught.value.right} == {"seq", "kv"}
    assert caught.value.why.startswith("dot: contracting axis 1 of lhs and axis 0 of rhs")
    assert located(caught.value)
    assert "where='seq == kv'" in str(caught.value)


def test_sizes_that_never_fit() -> None:
    @ash.jit
    def f(x: ash.f32["batch", 3], y: ash.f32["batch", 4]):
        return x + y

    with pytest.raises(ash.errors.RequirementError, match="add: operands must broadcast") as caught:
        _ = f.graph
    assert located(caught.value)


def test_operands_and_element_types_carry_their_place() -> None:
    with pytest.raises(ash.errors.DTypeError) as dtype:
        tracing(lambda x, m, i: m + m)
    assert located(dtype.value)
    with pytest.raises(ash.errors.DTypeError) as constant:
        tracing(lambda x, m, i: x.astype(ash.i8) + 300)
    assert "a number that fits i8, got 300" in str(constant.value)
    assert located(constant.value)
    with pytest.raises(ash.errors.OperandError) as operand:
        tracing(lambda x, m, i: ash.attention(m, m, m))
    assert "q has rank 1, expected 2, 3 or 4" in str(operand.value)
    assert located(operand.value)
