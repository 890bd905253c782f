"""What a model's Python code makes of sizes: captured at one size, compared with eager at others.

A call gives what eager gives, or a typed error that names the axis; never anything else. Every
condition that torch itself noted while it traced is either one that we check, or makes no
difference to the result.
"""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.export import Dim
from torch.fx.experimental import _config as symbolic_config

import anyshape as ash
from anyshape.base.errors import AnyshapeError
from anyshape.frontend.aten.torch_paths import TORCH_FOLDER
from anyshape.frontend.torch_export.guards import shape_environment
from anyshape.frontend.torch_export.size_intervals import holds_at

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns of its own parts

Function = Callable[[Any], Any]
EXAMPLE = (4, 6)
SIZES = [(4, 6), (4, 7), (2, 0), (3, 1), (3, 2), (3, 5), (2, 9), (0, 6), (1, 6), (5, 12), (1, 1)]
SCALES = {"w6": 2.0}


class Calling(torch.nn.Module):
    """A function of one tensor as a module."""

    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


class Sliding(torch.nn.Module):
    """What it takes of its table is one row where there is any; torch must know that there is."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Parameter(torch.randn(1, 8))

    def forward(self, x: Any) -> Any:
        return x + self.table[max(0, 1 - x.shape[0]) :, : x.shape[1]]


def is_not_false(x: Any) -> Any:
    flags = [size % 2 == 0 for size in x.shape]
    return x + 1 if flags[1] is not False else x - 1


def refuses_long(x: Any) -> Any:
    if x.shape[1] > 9:
        raise ValueError("too long")
    return x + 1


def refuses_odd(x: Any) -> Any:
    if x.shape[1] % 2 != 0:
        raise ValueError("odd")
    return x + 1


def reads_broadcast_size(x: Any) -> Any:
    """torch takes n // 2 and n // 3 + 1 to be equal, as they are in the example."""
    size = x.shape[1]
    both = x[:, : size // 2] + x[:, : size // 3 + 1]
    return both.sum() + x.new_ones(both.shape[1] + 1)


def writes_behind(x: Any) -> Any:
    copy = x.clone()
    copy[:, x.shape[0] - 2 :] = 0
    return copy


def asserts_several(x: Any) -> Any:
    assert x.shape[1] > 1
    return x + 1


NUMBERS: dict[str, Function] = {
    "int of a product": lambda x: x[:, : int(x.shape[1] * 0.5)],
    "int of a quotient": lambda x: x[:, : int(x.shape[1] / 2)],
    "ceil": lambda x: x[:, : math.ceil(x.shape[1] / 2)],
    "int of a power": lambda x: x[:, : int(x.shape[1] ** 0.4)],
    "int of a root": lambda x: x[:, : int(x.shape[1] ** 0.5)],
    "a float compared": lambda x: x + 1 if x.shape[1] / 2 > 3.5 else x - 1,
    "sorted": lambda x: x * sorted([x.shape[1], 5])[0],
    "an op's number": lambda x: torch.linspace(0, 1, x.shape[1] // 2),
    "text of a quotient": lambda x: x * len(f"{x.shape[1] // 3} of {x.shape[1] // 4}"),
}
TRUTHS: dict[str, Function] = {
    "odd": lambda x: x + 1 if x.shape[1] % 2 else x - 1,
    "not odd": lambda x: x + 1 if not x.shape[1] % 2 else x - 1,
    "a size": lambda x: x.sum(1) + (1 if x.shape[1] else 2),
    "empty": lambda x: x.sum(1) + (2 if x.numel() == 0 else 1),
    "positive": lambda x: x.sum(1) + (1 if x.shape[1] > 0 else 2),
    "numel": lambda x: x + 1 if x.numel() > 20 else x - 1,
    "stride": lambda x: x + 1 if x.stride(0) > 4 else x - 1,
    "contiguous": lambda x: x.t() + 1 if x.t().is_contiguous() else x.t() - 1,
    "two axes": lambda x: x + 1 if x.shape[0] < x.shape[1] else x - 1,
    "either": lambda x: x + 1 if x.shape[1] == 5 or x.shape[1] > 5 else x - 1,
    "is True": lambda x: x + 1 if (x.shape[1] > 4) is True else x - 1,
    "is not False": is_not_false,
    "refuses long": refuses_long,
    "refuses odd": refuses_odd,
    "asserts": asserts_several,
}


def matched(x: Any) -> Any:
    match x.shape[1]:
        case int():
            return x + 1
        case _:
            return x - 1


TYPES: dict[str, Function] = {
    "isinstance": lambda x: x + 1 if isinstance(x.shape[1], int) else x - 1,
    "of several": lambda x: x + 1 if isinstance(x.shape[1] * 0.5, (str, float)) else x - 1,
    "of a comparison": lambda x: x + 1 if isinstance(x.shape[1] > 99999, bool) else x - 1,
    "of numbers": lambda x: x + 1 if isinstance(x.shape[1], numbers.Integral) else x - 1,
    "class": lambda x: x + 1 if x.shape[1].__class__ is int else x - 1,
    "type": lambda x: x + 1 if type(x.shape[1]) is int else x - 1,
    "type is one of": lambda x: x + 1 if type(x.shape[1]) in {int, float} else x - 1,
    "type of a number": lambda x: x + 1 if type(x.shape[1]) == int else x - 1,  # noqa: E721
    "type as a function": lambda x: x + type(x.shape[1])(3.7),
    "match": matched,
    "int": lambda x: x[:, : int(x.shape[1] // 2)],
    "int in a function": lambda x: x[:, : sum(int(size) for size in x.shape)],
    "int as a class": lambda x: x + torch.ones(int(x.shape[1]), dtype=int),
}
"""Tests of a size's type, which is `int` at any size."""
PARTS: dict[str, Function] = {
    "number of chunks": lambda x: x * len(x.chunk(4, 1)),
    "first chunk": lambda x: x.chunk(2, 1)[0],
    "chunks of rows": lambda x: x.chunk(2)[0],
    "last chunk": lambda x: x.chunk(3, 1)[-1],
    "all of a split": lambda x: torch.cat([p * i for i, p in enumerate(x.split(2, 1))], 1),
    "last of a split": lambda x: x.split(2, 1)[-1],
    "split by a size": lambda x: x.split(x.shape[1] // 2, 1)[-1],
    "one part": lambda x: x.split(8, 1)[-1],
    "tensor_split": lambda x: x.tensor_split(4, 1)[1],
    "last of tensor_split": lambda x: x.tensor_split(4, 1)[-1],
    "unflatten": lambda x: x.unflatten(1, (2, -1)),
    "view": lambda x: x.view(x.shape[0], 2, x.shape[1] // 2),
    "a size of two": reads_broadcast_size,
    "squeeze": lambda x: x[:, :1].squeeze(0),
    "a bound that may be negative": lambda x: x[:, x.shape[0] - 2 :],
    "an end that may be negative": lambda x: x[:, : x.shape[0] - 2],
    "from the end, or all": lambda x: x[:, -x.shape[0] :],
    "written to from a bound": writes_behind,
    "a kernel that must fit": lambda x: torch.conv1d(x[:, None], torch.ones(1, 1, 3)),
}
REFUSED: dict[str, Function] = {
    "f-string": lambda x: x * SCALES.get(f"w{x.shape[1]}", 0.0),
    "str": lambda x: x * len(str(x.shape[1])),
    "str of a shape": lambda x: x * (1.0 if str(x.shape) == "torch.Size([4, 6])" else 2.0),
    "key of a dict": lambda x: x * {6: 2.0}.get(x.shape[1], 1.0),
    "hash": lambda x: x * (hash(x.shape[1]) % 7),
    "in a set": lambda x: x + 1 if x.shape[1] in {6, 8} else x - 1,
    "common divisor": lambda x: x[:, : math.gcd(x.shape[1], 4)],
    "range": lambda x: sum(x[:, i] for i in range(x.shape[1])),
    "number of bits": lambda x: x * x.shape[1].bit_length(),
    "real part": lambda x: x * x.shape[1].real,
}
ACCEPTED = {**NUMBERS, **TRUTHS, **PARTS}
BOUNDED = ("all of a split", "last of a split", "split by a size", "one part")
"""Those with ever more parts."""


def eager(function: Function, x: Any) -> Any:
    """What the model gives; None where it fails itself."""
    try:
        return function(x)
    except (RuntimeError, ValueError, AssertionError, IndexError):
        return None


def outcomes(function: Function) -> dict[tuple[int, int], Any]:
    """By size: None where the call is refused by name, else whether it gives what eager gives."""
    module = function if isinstance(function, torch.nn.Module) else Calling(function)
    bounded = any(function is PARTS[name] for name in BOUNDED)
    axes = {"x": ("b", ash.Axis("n", max=12) if bounded else "n")}
    fast = ash.compile(module, (torch.zeros(EXAMPLE),), axes=axes, executor="reference")
    found: dict[tuple[int, int], Any] = {}
    for size in SIZES:
        x = torch.randn(size)
        try:
            result = fast(x)
        except AnyshapeError as error:
            found[size] = None if "axis" in str(error) else False  # it names the axis
            continue
        wanted = eager(function, x)
        found[size] = wanted is not None and _same(result, wanted)
    return found


def _same(left: Any, right: Any) -> bool:
    return left.shape == right.shape and bool(torch.allclose(left, right, atol=1e-6))


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_call_is_right_or_refused(name: str) -> None:
    found = outcomes(ACCEPTED[name])
    assert False not in found.values(), found
    assert found[EXAMPLE], "the user's own example"
    assert list(found.values()).count(True) > 1, found


@pytest.mark.parametrize("name", TYPES)
def test_sizes_are_of_the_types_that_they_are_in_eager_mode(name: str) -> None:
    assert set(outcomes(TYPES[name]).values()) == {True}


def test_types_are_what_they_were_after_capture() -> None:
    names = set(globals())
    outcomes(TYPES["type"])
    assert set(globals()) == names
    assert "__getattribute__" not in vars(torch.SymInt)


SOURCE = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        if x.shape[1] % 2:
            return x + 1
        return x[:, : int(x.shape[1] * 0.5)]
"""


@pytest.mark.parametrize(
    "file",
    ["<stdin>", "<ipython-input-1-0>", f"{TORCH_FOLDER[:-1]}vision/model.py", "<string>"],
    ids=["interpreter", "notebook", "a package beside torch", "a string"],
)
def test_wherever_a_model_is_written(file: str) -> None:
    names: dict[str, Any] = {}
    exec(compile(SOURCE, file, "exec"), names)
    found = outcomes(names["Model"]())
    assert False not in found.values(), found
    assert found[EXAMPLE]


def test_code_that_torch_has_generated() -> None:
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    size = graph.call_method("size", (x, 1))
    half = graph.call_function(int, (graph.call_function(operator.mul, (size, 0.5)),))
    graph.output(graph.call_function(torch.narrow, (x, 1, 0, half)))
    found = outcomes(torch.fx.GraphModule({}, graph))
    assert False not in found.values(), found
    assert found[EXAMPLE]


def test_what_torch_makes_of_strings_asks_for_torch() -> None:
    """Its decompositions ask through functions in strings. If they counted, sizes were excluded."""

    def function(x: Any) -> Any:
        copy = x.clone()
        copy[:, :1].add_(1)
        return copy.reshape(-1).softmax(0)

    assert set(outcomes(function).values()) == {True}


@pytest.mark.parametrize("name", REFUSED)
def test_a_size_that_must_be_a_number_is_refused(name: str) -> None:
    with pytest.raises(AnyshapeError) as caught:
        outcomes(REFUSED[name])
    assert f"{__file__}:" in str(caught.value)
    assert "\nfix: " in str(caught.value)


@pytest.mark.parametrize("name", ACCEPTED)
def test_no_guard_of_torch_is_dropped(name: str) -> None:
    """Where a size breaks a guard of torch's own list, the call is refused or right."""
    found = outcomes(ACCEPTED[name])
    for guard, symbols in guards_of_torch(ACCEPTED[name]):
        for size, outcome in found.items():
            sizes = {symbol: size[axis] for symbol, axis in symbols.items()}
            if not holds_at(guard, sizes):
                assert outcome is not False, (guard, size)


def guards_of_torch(function: Function) -> list[tuple[Any, dict[Any, int]]]:
    """The guards of a plain export, and which axis each symbol is."""
    shapes = {"x": {0: Dim.AUTO, 1: Dim.AUTO}}
    with torch.no_grad(), symbolic_config.patch(backed_size_oblivious=True):
        program = torch.export.export(
            Calling(function), (torch.zeros(EXAMPLE),), dynamic_shapes=shapes, strict=False
        )
    environment = shape_environment(program)
    *_, placeholder = (node for node in program.graph.nodes if node.op == "placeholder")
    symbols = {size.node.expr: axis for axis, size in enumerate(placeholder.meta["val"].shape)}
    return [(guard.expr, symbols) for guard in environment.guards]


# --- the user's own example -----------------------------------------------------------------------


@pytest.mark.parametrize("size", [(8, 6), (2, 6), (3, 3), (1, 1), (4, 0)])
def test_the_example_is_among_what_works(size: tuple[int, int]) -> None:
    def function(x: Any) -> Any:
        return x * 2 if x.shape[0] > 4 else x

    fast = ash.compile(
        Calling(function), (torch.zeros(size),), axes={"x": ("b", "n")}, executor="reference"
    )
    x = torch.randn(size)
    assert torch.equal(fast(x), function(x))


def test_a_model_that_torch_follows_only_where_nothing_is_empty() -> None:
    module = Sliding()
    axes = {"x": ("b", ash.Axis("n", min=1, max=8))}
    fast = ash.compile(module, (torch.zeros(EXAMPLE),), axes=axes, executor="reference")
    for size in ((1, 1), (5, 8), (3, 2)):
        x = torch.randn(size)
        assert _same(fast(x), module(x).detach())
    with pytest.raises(AnyshapeError, match="captured for this case"):
        fast(torch.zeros(0, 3))


class Cached(torch.nn.Module):
    def length(self, x: Any) -> Any:
        if x.numel() == 0:
            return 0
        return x.shape[1]

    def forward(self, x: Any) -> Any:
        return torch.cat([x + 1, x.new_ones(x.shape[0], self.length(x) + 1)], 1)


def test_a_length_of_nothing_is_0() -> None:
    """The branch returns what the size is anyway, unless the other axis is empty."""
    axes = {"x": ("b", "n")}
    fast = ash.compile(Cached(), (torch.zeros(EXAMPLE),), axes=axes, executor="reference")
    for size in ((2, 0), (1, 1), (5, 8)):
        x = torch.randn(size)
        assert _same(fast(x), Cached()(x))
    with pytest.raises(AnyshapeError, match="captured for this case"):
        fast(torch.zeros(0, 3))


def test_a_refused_call_says_which_axis_and_where() -> None:
    fast = ash.compile(
        Calling(NUMBERS["int of a power"]), (torch.zeros(EXAMPLE),), axes={"x": ("b", "n")},
        executor="reference",
    )  # fmt: skip
    with pytest.raises(AnyshapeError) as caught:
        fast(torch.zeros(4, 16))
    message = str(caught.value)
    assert "'n <= 15' does not hold for n=16" in message
    assert "the model's code was captured for this case" in message
    assert f"{__file__}:" in message


# --- one export -----------------------------------------------------------------------------------


def test_a_text_model_is_exported_once_and_not_decomposed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its attention asks whether there is one token only, and has a mask anyway."""
    import transformers as tf

    sizes: dict[str, int] = {
        "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
        "intermediate_size": 16, "vocab_size": 50,
    }  # fmt: skip
    model: Any = tf.BertModel(tf.BertConfig(**sizes)).eval()
    exports: list[Any] = []
    own = torch.export.export

    def counted(*args: Any, **kwargs: Any) -> Any:
        exports.append(args)
        return own(*args, **kwargs)

    def refused(*_: Any, **__: Any) -> Any:
        raise AssertionError("decomposed")

    monkeypatch.setattr(torch.export, "export", counted)
    monkeypatch.setattr(torch.export.ExportedProgram, "run_decompositions", refused)
    ids = torch.ones(1, 1, dtype=torch.int64)
    rows = ("batch", "seq")
    fast = ash.compile(
        model,
        kwargs={"input_ids": ids, "attention_mask": ids},
        axes={"input_ids": rows, "attention_mask": rows},
    )
    assert len(exports) == 1
    for shape in ((1, 1), (3, 7)):
        ids = torch.randint(0, 50, shape)
        given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        with torch.no_grad():
            wanted = model(**given)[0]
        torch.testing.assert_close(fast(**given)[0], wanted, rtol=1e-4, atol=1e-5)
