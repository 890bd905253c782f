"""Arguments of wrong kinds and sizes, at every entry: a typed error, and the whole message."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.errors.messages import message_of

import anyshape as ash
from anyshape.base.errors import (
    AnyshapeError,
    AxisDeclarationError,
    DimError,
    DimTooLargeError,
    DimTypeError,
    FactConflictError,
    InputError,
    OptionError,
    OutputError,
    TextError,
    TraceError,
)
from anyshape.sym import Dim, product

X = np.ones((2, 3), np.float32)
MASKED: Any = np.ma.masked_array(X, mask=X > 0)


def plus(x: Any) -> Any:
    return x + 1


plus.__annotations__["x"] = ash.f32["a", 3]
GRAPH = ash.jit(plus).graph


# --- options --------------------------------------------------------------------------------------

THREADS = "a number of threads, or 0 for all CPUs"
NAMES = "a tuple of names of inputs"
AXES = 'a list of ash.Axis: [ash.Axis("seq", max=512)]'
WHERE = 'a predicate as text, or a list: ["kv == seq"]'
BOTH = [
    ("threads", "2", "'2'", THREADS), ("threads", True, "'True'", THREADS),
    ("threads", 2.0, "'2.0'", THREADS), ("threads", None, "'None'", THREADS),
    ("threads", -1, "'-1'", THREADS),
    ("strict", "yes", "'yes'", "True or False"), ("strict", 1, "'1'", "True or False"),
    ("deterministic", None, "'None'", "True or False"),
    ("wait_for_team", 3, "'3'", "True or False"),
    ("check_indices", 3, "'3'", "True or False"),
    ("memory_limit", "1", "'1'", "a number of bytes"),
    ("memory_limit", "1 XB", "'1 XB'", "a number of bytes"),
    ("memory_limit", 1.5, "'1.5'", "a number of bytes"),
    ("memory_limit", True, "'True'", "a number of bytes"),
    ("result_cache", "x", "'x'", "a number of bytes"),
    ("result_cache", 1.5, "'1.5'", "a number of bytes"),
    ("donate", 5, "'5'", NAMES), ("donate", None, "'None'", NAMES),
    ("donate", b"x", '"b\'x\'"', NAMES), ("donate", ["x", 5], "'5'", NAMES),
    ("options", 5, "'5'", "an ash.Options"), ("options", {}, "'{}'", "an ash.Options"),
]  # fmt: skip
OF_JIT = [
    ("axes", 5, "'5'", AXES), ("axes", "a", '"\'a\'"', AXES), ("axes", [5], "'5'", AXES),
    ("axes", {"a": 1}, '"{\'a\': 1}"', AXES), ("where", 5, "'5'", WHERE),
    ("where", [5], "'5'", WHERE), ("where", b"a > 1", '"b\'a > 1\'"', WHERE),
    ("where", None, "'None'", WHERE),
]  # fmt: skip


def refused(option: str, shown: str, expected: str) -> str:
    return f"{option}={shown} is not {expected}\nfix: set {option} to {expected}, or unset it"


@pytest.mark.parametrize(("option", "value", "shown", "expected"), BOTH)
def test_options_of_compile(option: str, value: Any, shown: str, expected: str) -> None:
    found = message_of(OptionError, lambda: ash.compile(GRAPH, **{option: value}))
    assert found == refused(option, shown, expected)


@pytest.mark.parametrize(("option", "value", "shown", "expected"), BOTH + OF_JIT)
def test_options_of_jit(option: str, value: Any, shown: str, expected: str) -> None:
    given: Any = {option: value}
    found = message_of(OptionError, lambda: ash.jit(**given)(plus).executable)
    assert found == refused(option, shown, expected)


RUN = [
    ("deadline", "1", "'1'", "a number of seconds, at least 0"),
    ("deadline", True, "'True'", "a number of seconds, at least 0"),
    ("deadline", float("nan"), "'nan'", "a number of seconds, at least 0"),
    ("memory_limit", "1", "'1'", "a number of bytes"),
    ("memory_limit", 1.5, "'1.5'", "a number of bytes"),
    ("cancellation", 5, "'5'", "an ash.Cancellation"),
    ("out", 5, "'int'", "a tuple with an array or None per result"),
    ("out", X, "'ndarray'", "a tuple with an array or None per result"),
]  # fmt: skip


@pytest.mark.parametrize(("option", "value", "shown", "expected"), RUN)
def test_options_of_a_run(option: str, value: Any, shown: str, expected: str) -> None:
    executable, given = ash.compile(GRAPH, executor="reference"), {option: value}
    found = message_of(OptionError, lambda: executable.run((X,), **given))
    assert found == refused(option, shown, expected)


OPTIONS = [
    ("cache_dir", "folder", "'folder'", "a pathlib.Path, or None to keep no kernels"),
    ("cache_bytes", -1, "'-1'", "a number of bytes"), ("threads", "2", "'2'", THREADS),
    ("perf_map", 1, "'1'", "True or False"), ("calibrate", None, "'None'", "True or False"),
]  # fmt: skip


@pytest.mark.parametrize(("option", "value", "shown", "expected"), OPTIONS)
def test_options_of_the_process(option: str, value: Any, shown: str, expected: str) -> None:
    given: Any = {option: value}
    found = message_of(OptionError, lambda: ash.Options(**given))
    assert found == refused(option, shown, expected)


def test_what_is_no_function() -> None:
    wrong: Any = 5
    assert message_of(InputError, lambda: ash.jit(wrong)) == (
        "input 'fn' is a int, no function\nfix: decorate a function"
    )


def test_numbers_of_numpy_are_numbers() -> None:
    executable = ash.compile(
        GRAPH,
        threads=np.int64(1),  # pyright: ignore[reportArgumentType]
        options=ash.Options(cache_dir=Path("unused"), calibrate=False),
        executor="reference",
    )
    assert executable(X)[0][0, 0] == 2


# --- what only torch models take ------------------------------------------------------------------

KINDS = [
    ("consume", "yes", "'yes'", "True or False"), ("consume", 1, "'1'", "True or False"),
]  # fmt: skip


@pytest.mark.parametrize(("option", "value", "shown", "expected"), KINDS)
def test_how_a_model_is_captured(option: str, value: Any, shown: str, expected: str) -> None:
    model: Any = torch.nn.Linear(3, 2)
    given: Any = {"args": (torch.ones(4, 3),), option: value}
    found = message_of(OptionError, lambda: ash.compile(model, **given))
    assert found == refused(option, shown, expected)
    assert model(torch.ones(4, 3)).shape == (4, 2)  # nothing was taken from it


NO_AXES: list[tuple[Any, str]] = [
    (5, "has the axes 5\nfix: give a tuple: a name or None for each position"),
    ("ab", "has the axes 'ab'\nfix: give a tuple: a name or None for each position"),
    ((b"b", None), "has b'b' as axis 0\nfix: give a name, an ash.Axis or None"),
    ((True, None), "has True as axis 0\nfix: give a name, an ash.Axis or None"),
    ((-1, 3), "has 4 at axis 0, where axes say -1\nfix: pass an example with -1, or give None"),
]


@pytest.mark.parametrize(("axes", "wanted"), NO_AXES, ids=str)
def test_names_of_axes(axes: Any, wanted: str) -> None:
    model, example = torch.nn.Linear(3, 2), (torch.ones(4, 3),)
    found = message_of(InputError, lambda: ash.compile(model, example, axes={"input": axes}))
    assert found == f"input 'input' {wanted}"
    negative = {"input": ("batch", "-1")}
    found = message_of(DimError, lambda: ash.compile(model, example, axes=negative))
    assert found == f"dim '-1': a size is not negative\n{VARIES}"


@pytest.mark.parametrize("option", ["args", "kwargs", "axes", "dynamic_shapes", "names"])
def test_a_graph_is_not_captured(option: str) -> None:
    given: Any = {option: (1,) if option == "args" else {"x": ("n",)}}
    found = message_of(OptionError, lambda: ash.compile(GRAPH, **given))
    expected = "left out: a graph and a jitted function have axes already"
    assert found == refused(option, repr(str(given[option])), expected)


def test_static_parameters() -> None:
    def scaled(x: Any, k: int = 2) -> Any:
        return x * k

    scaled.__annotations__["x"] = ash.f32["n"]
    jitted = ash.jit(scaled)
    lines = message_of(TraceError, lambda: jitted.trace(q=5)).splitlines()
    assert lines[0].endswith(": 'q' is no static parameter (k)")
    assert lines[1] == "fix: leave it out"
    lines = message_of(TraceError, lambda: jitted.trace(k=[5])).splitlines()
    assert lines[0].endswith(": parameter 'k' is static and was given a list")
    assert lines[1] == "fix: pass a bool, int, float, str or None"


# --- sizes of specializations ---------------------------------------------------------------------

LARGEST = 9223372036854775807


@pytest.mark.parametrize("size", [2**63, 2**64, 10**30, np.uint64(2**63)])
def test_a_size_that_no_array_has(size: Any) -> None:
    wanted = f"dim 'a={int(size)}': a size is at most {LARGEST}\nfix: pass a smaller a"
    executable = ash.compile(GRAPH)
    assert message_of(DimError, lambda: executable.specialize(a=size)) == wanted
    assert message_of(DimError, lambda: executable.pre_specialize([{"a": size}])) == wanted
    assert message_of(DimError, lambda: executable.reserve(a=size)) == wanted


@pytest.mark.parametrize("size", ["3", 1.5, True, None])
def test_a_size_that_is_no_integer(size: Any) -> None:
    executable = ash.compile(GRAPH)
    assert message_of(DimError, lambda: executable.specialize(a=size)) == (
        f"dim 'a={size!r}': a size is an integer\nfix: pass an integer for a"
    )


@pytest.mark.parametrize("bindings", [5, [5]])
def test_bindings_that_are_none(bindings: Any) -> None:
    executable = ash.compile(GRAPH)
    assert message_of(InputError, lambda: executable.pre_specialize(bindings)) == (
        "input 'bindings' has a int where a binding stands\n"
        "fix: pass a list of dicts: [{'batch': 8}]"
    )


# --- masked arrays --------------------------------------------------------------------------------

LOST = "is a masked array, whose mask would be lost"


@pytest.mark.parametrize("executor", ["native", "stepwise", "reference"])
def test_a_masked_input(executor: Any) -> None:
    executable, jitted = ash.compile(GRAPH, executor=executor), ash.jit(executor=executor)(plus)
    calls: list[Callable[[], object]] = [
        lambda: executable(MASKED), lambda: executable.run((MASKED,)),
        lambda: executable.run((MASKED,), deadline=10.0), lambda: list(executable.steps(MASKED)),
        lambda: jitted(MASKED), lambda: (jitted(X), jitted(MASKED)),
    ]  # fmt: skip
    for call in calls:
        assert message_of(InputError, call) == (
            f"input 'x' {LOST}\nfix: pass x.filled(value), and its mask as an input of its own"
        )


def test_a_masked_constant() -> None:
    wanted = (
        f"input 'constant' {LOST}\n"
        "fix: pass array.filled(value), and the mask as an array of its own"
    )
    for made in (lambda: ash.asarray(MASKED), lambda: ash.zeros((2, 3)) + MASKED):
        assert message_of(InputError, lambda made=made: ash.jit(made).graph) == wanted


def test_a_masked_result() -> None:
    executable = ash.compile(GRAPH)
    assert message_of(OutputError, lambda: executable.run((X,), out=(MASKED,))) == (
        "out for result 0: expected f32[a, 3], got a masked array, whose mask would stay as it is\n"
        "fix: pass such an array, or None for a new one"
    )


# --- sizes in declarations ------------------------------------------------------------------------

VARIES = "fix: use a name or None for a size that varies"


@pytest.mark.parametrize("size", [-1, "-1", "0 - 1", "n - n - 1", Dim.of(-1)])
def test_a_negative_size_in_an_annotation(size: Any) -> None:
    found = message_of(DimError, lambda: ash.f32[size, 512])
    assert found == f"dim '-1': a size is not negative\n{VARIES}"


@pytest.mark.parametrize("size", ["min(n, -1)", "-n - 1", "-max(n, 1)", "n % 3 - 3"])
def test_a_size_that_is_negative_whatever_its_axes_are(size: str) -> None:
    dim = Dim.of(size)
    for act in (lambda: ash.f32[size], lambda: ash.f32["n", dim]):
        assert message_of(DimError, act) == f"dim '{dim}': a size is not negative\n{VARIES}"
    text = f"graph g(x: f32[{dim}]) -> f32[{dim}] {{ return x }}"
    assert f"'{dim}': a size is not negative\n" in message_of(TextError, lambda: ash.ir.parse(text))
    assert str(ash.f32["min(n, 3) - 3"]) == "f32[min(n, 3) - 3]"  # it may be 0


def test_a_size_that_the_facts_show_to_be_negative() -> None:
    problem = (
        "dim 'n - 5': a size is not negative, and this one of input 'x' always is\n"
        "fix: change it, or the facts that make it so"
    )

    def shifted(x: Any) -> Any:
        return x + 1

    shifted.__annotations__["x"] = ash.f32["n - 5", "n"]
    for axes in ([ash.Axis("n", max=4)], [ash.Axis("n", max=3)]):
        assert message_of(DimError, lambda a=axes: ash.jit(shifted, axes=a).graph) == problem
    assert ash.jit(shifted, axes=[ash.Axis("n", max=5)]).graph.name == "shifted"
    text = "axes { n: 0..4 }\ngraph g(x: f32[n - 5, n]) -> f32[n - 5, n] { return x }"
    assert message_of(DimError, lambda: ash.ir.parse(text)) == problem


def test_a_size_beyond_64_bits_in_an_annotation() -> None:
    found = message_of(DimError, lambda: ash.f32[2**63])
    assert found == f"dim '{2**63}': a size is at most {LARGEST}\n{VARIES}"


@pytest.mark.parametrize("size", ["-1", "0 - 1", "n - n - 1"])
def test_a_negative_size_in_text(size: str) -> None:
    text = f"graph g(x: f32[{size}]) -> f32[{size}] {{ return x }}"
    assert message_of(TextError, lambda: ash.ir.parse(text)) == (
        f"line 1, column 15: '-1': a size is not negative\n  {text}\n  {' ' * 14}^\n"
        "fix: use a name for a size that varies"
    )


@pytest.mark.parametrize("size", [1.5, True, b"n", [3]])
def test_what_is_no_dim(size: Any) -> None:
    assert message_of(DimTypeError, lambda: ash.f32[size, 2]) == (
        f"a dim is an integer, a name or an expression, not {size!r}\n"
        "fix: use an integer, the name of an axis, or an expression over names"
    )


AXIS: list[tuple[dict[str, Any], str]] = [
    ({"min": -3}, "axis 'a' has the negative size -3\nfix: sizes start at 0"),
    ({"min": "3"}, "axis 'a' has '3' where a size stands\nfix: use integers"),
    ({"min": True}, "axis 'a' has True where a size stands\nfix: use integers"),
    ({"max": 2.5}, "axis 'a' has 2.5 where a size stands\nfix: use integers"),
    ({"multiple_of": "8"}, "axis 'a' has '8' where a size stands\nfix: use integers"),
    ({"likely": 5}, "axis 'a' has likely=5\nfix: give a list of sizes"),
    ({"likely": ["x"]}, "axis 'a' has 'x' where a size stands\nfix: use integers"),
    ({"ranges": [5]}, "axis 'a' has the range 5\nfix: give ranges as pairs (low, high)"),
    ({"ranges": [(0, "9")]}, "axis 'a' has '9' where a size stands\nfix: use integers"),
    ({"name": 5}, "axis '5' has no name\nfix: give it a name that is a str"),
    ({"name": ""}, "axis '' has no name\nfix: give it a name that is a str"),
]


@pytest.mark.parametrize(("given", "wanted"), AXIS, ids=str)
def test_a_declaration_of_wrong_kind(given: dict[str, Any], wanted: str) -> None:
    assert message_of(AxisDeclarationError, lambda: ash.Axis(**{"name": "a", **given})) == wanted


# --- dims without end -----------------------------------------------------------------------------


def sums(count: int) -> str:
    return "*".join(f"(a{i} + b{i})" for i in range(count))


def test_a_product_of_many_sums() -> None:
    axes = [Dim.of(f"a{i} + b{i}") for i in range(20)]

    def flat(x: Any) -> Any:
        return x.reshape(-1)

    flat.__annotations__["x"] = ash.f32[tuple(axes)]
    renamed = {Dim.of(f"n{i}").symbol: axes[i] for i in range(20)}
    ways: list[Callable[[], object]] = [
        lambda: ash.f32[sums(20)], lambda: product(axes), lambda: ash.jit(flat).graph,
        lambda: ash.jit(where=f"n == {sums(20)}")(plus).graph,
        lambda: ash.ir.parse(f"graph g(x: f32[{sums(20)}]) -> f32[1] {{ return x }}"),
        lambda: product(f"n{i}" for i in range(20)).substitute(renamed),  # pyright: ignore[reportArgumentType]
    ]  # fmt: skip
    for way in ways:
        first, fix = message_of(DimTooLargeError, way).splitlines()
        assert first.endswith("': this product has 8,192 terms as a sum, more than 4,096")
        assert len(first) < 300
        assert fix == "fix: name one of its factors as an axis of its own"
    assert len(Dim.of(sums(12)).terms) == 1 << 12


@pytest.mark.parametrize("text", ["(" * 100_000 + "n", "-" * 100_000 + "n"], ids=["(", "-"])
def test_a_dim_nested_without_end(text: str) -> None:
    assert "the dim is nested too deeply" in message_of(TextError, lambda: ash.f32[text])
    where = f"{text} > 1"
    found = message_of(TextError, lambda: ash.jit(where=where)(plus).graph)
    assert "the predicate is nested too deeply" in found


# --- text -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [b"graph", bytearray(b"graph"), None, 5, ["graph"]])
def test_text_that_is_none(text: Any) -> None:
    is_bytes = isinstance(text, (bytes, bytearray))
    fix = "text.decode()" if is_bytes else "what graph.as_text() gives, a str"
    found = message_of(InputError, lambda: ash.ir.parse(text))
    assert found == f"input 'text' is a {type(text).__name__}, no text\nfix: pass {fix}"


def test_a_long_line_is_shown_in_part() -> None:
    gap = " " * 1_000_000
    found = message_of(TextError, lambda: ash.ir.parse(f"graph g(x: f32[n]) -> {gap}!{gap}"))
    problem, source, caret, _fix = found.splitlines()
    assert problem.startswith("line 1, column 1000023: ")
    assert source == f"  … {' ' * 60}!{' ' * 59} …"
    assert caret.index("^") == source.index("!")


def test_long_names_are_shown_in_part() -> None:
    name = "n" * 1_000_000
    texts = [
        name, f"graph g(x: {name}[2]) -> f32[2] {{ return x }}",
        f"graph g(x: f32[2]) -> f32[2] {{ return {name} }}",
        f"graph g(x: f32[2]) -> f32[2] {{ %0 = {name}(x) return %0 }}",
        f"graph g(x: f32[2]) -> f32[2] {{ %0 = exp(x) {{{name}=1}} return %0 }}",
    ]  # fmt: skip
    for text in texts:
        with pytest.raises(AnyshapeError) as caught:
            ash.ir.parse(text)
        assert len(str(caught.value)) < 5_000


# --- facts of text are those of `where` -----------------------------------------------------------

CONTRADICTIONS = [
    ["7 < n % 4"], ["n < n//2"], ["3 < min(m, n)", "m*n <= max(n, 3)"],
    ["m//3 + 1 < bcast(m, n)", "bcast(m, n) < m//3 + 1"], ["n == 3", "n == 4"], ["n < n"],
]  # fmt: skip


@pytest.mark.parametrize("facts", CONTRADICTIONS, ids=" and ".join)
def test_contradictions_in_text(facts: list[str]) -> None:
    def same(x: Any) -> Any:
        return x

    same.__annotations__["x"] = ash.f32["n", "m"]
    with pytest.raises(FactConflictError):
        _ = ash.jit(where=facts)(same).graph
    head = "facts { " + "  ".join(facts) + " }"
    with pytest.raises(FactConflictError):
        ash.ir.parse(f"{head} graph g(x: f32[n, m]) -> f32[n, m] {{ return x }}")


def test_a_fact_that_holds_for_no_sizes() -> None:
    text = "facts { n < n } graph g(x: f32[n]) -> f32[n] { return x }"
    assert message_of(FactConflictError, lambda: ash.ir.parse(text)) == (
        "'n < n' holds for no sizes\n  it comes from user\nfix: drop or correct it"
    )


def test_facts_of_a_region_that_contradict_those_around() -> None:
    text = """
    facts { n <= 5 }
    graph g(x: f32[n], p: bool[]) -> f32[n] {
      %0 = cond(p, x)
        then(a: f32[n]) -> f32[n] { facts { n >= 9 } return a }
        else(a: f32[n]) -> f32[n] { return a }
      return %0
    }
    """
    with pytest.raises(FactConflictError) as caught:
        ash.ir.parse(text)
    assert (caught.value.new, caught.value.old) == ("9 <= n", "n <= 5")
    graph = ash.ir.parse(text.replace("n >= 9", "n >= 3"))
    assert ash.ir.parse(graph.as_text()) == graph


def test_an_axis_that_text_declares_twice() -> None:
    text = "axes { n: 1..5  n: 1..5 } graph g(x: f32[n]) -> f32[n] { return x }"
    assert message_of(AxisDeclarationError, lambda: ash.ir.parse(text)) == (
        "axis 'n' is declared twice\nfix: declare it once"
    )
