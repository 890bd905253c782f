"""Which regions compute row by row: what is accepted gives the same on slices, and each refusal."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.analysis.row_slices import image_lead_of, lead_of, why_not_by_rows
from anyshape.ir import evaluate
from anyshape.sym import Dim

RNG = np.random.default_rng(41)
LEAD = (Dim.of("b"), Dim.of("s"))
W = RNG.normal(size=(6, 4)).astype(np.float32)
V = RNG.normal(size=6).astype(np.float32)
X = ash.f32["b", "s", 6]

BY_ROWS: dict[str, Callable[[Any], Any]] = {
    "elementwise": lambda x: ash.tanh(x) * 2 + V,
    "a weight with axes of 1": lambda x: x + V.reshape(1, 1, 6),
    "a product": lambda x: x @ W,
    "a reduction": lambda x: ash.sum(x, axis=-1),
    "a kept reduction": lambda x: x - ash.max(x, axis=2, keepdims=True),
    "an index": lambda x: ash.argmax(x, axis=-1),
    "softmax": lambda x: ash.softmax(x, axis=-1),
    "a norm": lambda x: ash.layer_norm(x, V, V),
    "a running total along the row": lambda x: ash.cumsum(x, axis=2),
    "a slice of each row": lambda x: x[:, :, 1:5:2],
    "a reshape of rows": lambda x: x.reshape(x.shape[0], x.shape[1], 2, 3),
    "a transpose of rows": lambda x: x.reshape(x.shape[0], x.shape[1], 2, 3).transpose(0, 1, 3, 2),
}

NOT_BY_ROWS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a reduction over rows": (
        lambda x: x - ash.sum(x, axis=1, keepdims=True),
        "sum: it has other sizes than rows",
    ),
    "softmax over rows": (lambda x: ash.softmax(x, axis=1), "softmax: its rows depend"),
    "a running total of rows": (lambda x: ash.cumsum(x, axis=1), "cumsum: its rows depend"),
    "a norm over rows": (
        lambda x: ash.layer_norm(x.reshape(x.shape[0], x.shape[1], 6), axis=1),
        "layer_norm: its rows depend",
    ),
    "transposed rows": (lambda x: x.transpose(1, 0, 2), "transpose: it has other sizes than rows"),
    "a product of rows": (lambda x: x @ x.mT, "transpose: it has other sizes than rows"),
    "a slice of the rows": (lambda x: x + x[:, :1], "slice: it has other sizes than rows"),
    "reversed rows": (lambda x: ash.flip(x, axis=1), "reverse: its rows depend"),
    "numbers of rows": (
        lambda x: x + ash.arange(x.shape[1]).reshape(1, x.shape[1], 1).astype(ash.f32),
        "it has other sizes than rows",
    ),
    "a size": (lambda x: x * x.shape[1], "it computes with a size"),
    "a sum of everything": (ash.sum, "its rows depend"),
}


def graph_of(function: Callable[[Any], Any]) -> Any:
    def model(x: X):  # pyright: ignore[reportInvalidTypeForm]
        return function(x)

    return ash.jit(model).graph


@pytest.mark.parametrize("name", BY_ROWS)
def test_what_is_accepted_is_the_same_on_slices(name: str) -> None:
    graph = graph_of(BY_ROWS[name])
    assert why_not_by_rows(graph.body, LEAD) is None
    x = RNG.normal(size=(3, 5, 6)).astype(np.float32)
    whole = evaluate(graph, x)[0]
    rows = whole.reshape(15, *whole.shape[2:])
    for first, last in ((0, 15), (2, 9), (14, 15), (4, 4)):
        part = evaluate(graph, x.reshape(15, 6)[None, first:last])[0]
        np.testing.assert_array_equal(part[0], rows[first:last])


@pytest.mark.parametrize("name", NOT_BY_ROWS)
def test_what_is_refused_says_which_op(name: str) -> None:
    function, why = NOT_BY_ROWS[name]
    assert why in str(why_not_by_rows(graph_of(function).body, LEAD))


@pytest.mark.parametrize(
    ("type_", "lead"),
    [
        (ash.f32["b", "s", 6], ("b", "s")),
        (ash.f32["b", 6], ("b",)),
        (ash.f32["b"], ("b",)),
        (ash.f32[6, "b"], ()),
        (ash.f32["b", 6, "s"], ()),
        (ash.f32["b", "b"], ()),
        (ash.f32["2*b", 6], ()),
    ],
)
def test_the_lead(type_: Any, lead: tuple[str, ...]) -> None:
    def model(x: type_):
        return x + 1

    assert lead_of(ash.jit(model).graph.results[0].type) == tuple(map(Dim.of, lead))


def test_numbers_of_rows_are_not_those_of_a_slice() -> None:
    def model(x: ash.f32["n"]):
        return x + ash.arange(x.shape[0]).astype(ash.f32)

    why = why_not_by_rows(ash.jit(model).graph.body, (Dim.of("n"),))
    assert "iota: its rows depend on each other" in str(why)


# --- images: rows whose sizes are symbols, too ----------------------------------------------------

IMAGES = (Dim.of("b"),)
TAPS = RNG.normal(size=(1, 3, 3, 6, 6)).astype(np.float32)

BY_IMAGES: dict[str, Callable[[Any], Any]] = {
    "a convolution": lambda x: ash.conv(x, TAPS, padding=[(1, 1), (1, 1)]),
    "channels first": lambda x: ash.tanh(x.transpose(0, 3, 1, 2)) * x.shape[2],
    "padding": lambda x: ash.pad(x, [(0, 0), (1, 2), (0, x.shape[2]), (0, 0)]),
    "a pool": lambda x: ash.max(ash.windows(x.transpose(0, 3, 1, 2), (2, 2)), axis=(4, 5)),
    "a mean over places": lambda x: x - ash.mean(x, axis=(1, 2), keepdims=True),
    "channels side by side": lambda x: ash.concat([x, x * 2], axis=3),
    "places in a row": lambda x: x.reshape(x.shape[0], x.shape[1] * x.shape[2], 6) @ W,
    "a table of places": lambda x: x + ash.arange(x.shape[2]).reshape(-1, 1).astype(ash.f32),
    "a slice of places": lambda x: x[:, 1 : x.shape[1], ::2],
}

NOT_BY_IMAGES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "padding with images": (
        lambda x: ash.pad(x, [(0, 1), (0, 0), (0, 0), (0, 0)])[: x.shape[0]],
        "pad: it has other sizes than rows",
    ),
    "images side by side": (
        lambda x: ash.concat([x, x], axis=0)[x.shape[0] :],
        "concat: it has other sizes than rows",
    ),
    "a mean over images": (
        lambda x: x - ash.mean(x, axis=0, keepdims=True),
        "mean: its rows depend",
    ),
    "the number of images": (lambda x: x * x.shape[0], "it computes with a size"),
}


def graph_of_images(function: Callable[[Any], Any]) -> Any:
    def model(x: ash.f32["b", "h", "w", 6]):
        return function(x)

    return ash.jit(model).graph


@pytest.mark.parametrize("name", BY_IMAGES)
def test_what_is_accepted_is_the_same_for_some_images(name: str) -> None:
    graph = graph_of_images(BY_IMAGES[name])
    assert why_not_by_rows(graph.body, IMAGES) is None
    x = RNG.normal(size=(5, 4, 7, 6)).astype(np.float32)
    whole = evaluate(graph, x)[0]
    for first, last in ((0, 5), (2, 4), (4, 5)):
        np.testing.assert_array_equal(evaluate(graph, x[first:last])[0], whole[first:last])


@pytest.mark.parametrize("name", NOT_BY_IMAGES)
def test_what_is_refused_of_images_says_which_op(name: str) -> None:
    function, why = NOT_BY_IMAGES[name]
    assert why in str(why_not_by_rows(graph_of_images(function).body, IMAGES))


@pytest.mark.parametrize(
    ("type_", "lead"),
    [
        (ash.f32["b", "h", "w", 6], ("b",)),
        (ash.f32["b", 6, "2*h"], ("b",)),
        (ash.f32["b", 6, 7], ("b",)),
        (ash.f32["b", 6], ()),
        (ash.f32["b", "h", "b"], ()),
        (ash.f32["2*b", "h", "w"], ()),
        (ash.f32[6, "h", "w"], ()),
    ],
)
def test_the_lead_of_images(type_: Any, lead: tuple[str, ...]) -> None:
    def model(x: type_):
        return x + 1

    assert image_lead_of(ash.jit(model).graph.results[0].type) == tuple(map(Dim.of, lead))
