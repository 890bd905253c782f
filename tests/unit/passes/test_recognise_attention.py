"""Products around a softmax become attention, with the values of the ops alone."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.unit.passes.attention_spellings import SPELLINGS, K, Q, Spelling, V, mixed
from tests.unit.passes.stages import FIRST

import anyshape as ash
from anyshape.execute import compile_graph
from anyshape.ir import evaluate
from anyshape.ir.types import wide_of
from anyshape.passes import run_passes

each_spelling = pytest.mark.parametrize("spelling", SPELLINGS, ids=lambda s: s.name)

SIZES = [(1, 1, 1), (2, 5, 7), (2, 70, 67), (0, 3, 3), (1, 0, 2), (1, 3, 0), (1, 3, 200)]


def drawn(function: Any, sizes: tuple[int, int, int]) -> list[Any]:
    """Operands at a batch size, a number of queries and of keys."""
    bound = dict(zip("bst", sizes, strict=True)) | {"h": 2, "w": 6}
    rng = np.random.default_rng(0)
    arrays: list[Any] = []
    for type_ in function.graph.body.params:
        shape = [dim.evaluate({s: bound[s.name] for s in dim.symbols}) for dim in type_.shape]
        numbers = rng.normal(size=shape)
        is_bool = type_.dtype.kind == "bool"
        arrays.append(numbers > -0.5 if is_bool else numbers.astype(type_.dtype.numpy))
    return arrays


def ops(graph: Any) -> Iterator[Any]:
    return (node for node in graph.nodes() if node.op.name not in ("param", "constant"))


@each_spelling
def test_it_is_one_attention(spelling: Spelling) -> None:
    graph = run_passes(spelling.function.graph, FIRST).graph
    names = [node.op.name for node in ops(graph)]
    assert names.count("attention") == 1
    assert not {"dot", "softmax", "exp"} & set(names)
    (attention,) = (node for node in ops(graph) if node.op.name == "attention")
    assert len(attention.operands) == 3 + spelling.masks


@each_spelling
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_values(spelling: Spelling, sizes: tuple[int, int, int]) -> None:
    arrays = drawn(spelling.function, sizes)
    wanted = spelling.expected(*arrays)
    found = spelling.function(*arrays)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


# --- special values -------------------------------------------------------------------------------

MASKED = [s for s in SPELLINGS if s.masks]


@pytest.mark.parametrize("spelling", MASKED, ids=lambda s: s.name)
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_special_values(spelling: Spelling, number: float) -> None:
    """In each operand, and rows that see nothing: NaN by -inf, a mean by a finite number."""
    arrays = drawn(spelling.function, (2, 5, 7))
    for position, array in enumerate(arrays):
        changed = array.copy()
        if array.dtype == np.bool_:
            changed[..., 0, :] = np.isnan(number)
        else:
            changed[..., 0, :] = number
        given = [*arrays[:position], changed, *arrays[position + 1 :]]
        wanted = spelling.expected(*given)
        np.testing.assert_allclose(spelling.function(*given), wanted, rtol=1e-4, atol=1e-5)


# --- refusals -------------------------------------------------------------------------------------


@ash.jit
def weights_returned(q: Q, k: K, v: V):
    weights = ash.softmax(q @ k.mT)
    return weights @ v, weights


@ash.jit
def scores_returned(q: Q, k: K, v: V):
    scores = q @ k.mT
    return ash.softmax(scores) @ v, scores


@ash.jit
def not_of_products(q: Q, v: V, scores: ash.f32["b", 2, "s", "t"]):
    return ash.softmax(scores) @ v


@ash.jit
def scaled_after_mask(q: Q, k: K, v: V, mask: ash.f32["s", "t"]):
    return ash.softmax((q @ k.mT + mask) * 0.5) @ v


@ash.jit
def two_fills(q: Q, k: K, v: V, mask: ash.bool["s", "t"], padding: ash.bool["t"]):
    scores = ash.where(mask, q @ k.mT, -np.inf)
    return ash.softmax(ash.where(padding, scores, -1e9)) @ v


@ash.jit
def along_queries(q: Q, k: K, v: ash.f32["b", 2, "t", 5]):
    return ash.softmax(q @ k.mT, axis=-2) @ v


@ash.jit
def scale_of_each_query(q: Q, k: K, v: V, c: ash.f32["s", 1]):
    return ash.softmax(q @ k.mT * c) @ v


WEIGHTS = np.ones((7, 3), np.float32)


@ash.jit
def keys_are_weights(q: ash.f32["s", 3], v: ash.f32[7, 5]):
    return ash.softmax(q @ ash.asarray(WEIGHTS).mT) @ v


@ash.jit
def without_maximum(q: Q, k: K, v: V):
    """It overflows where a softmax does not."""
    power = ash.exp(q @ k.mT)
    return (power / ash.sum(power, axis=-1, keepdims=True)) @ v


@ash.jit
def in_doubles(q: Q, k: K, v: V):
    return ash.softmax((q @ k.mT).astype(ash.f64)).astype(ash.f32) @ v


@ash.jit
def two_sinks(q: Q, k: K, v: V, sinks: ash.f32["b", 2, "s", 2]):
    return ash.softmax(ash.concat([q @ k.mT, sinks], axis=-1))[..., :-2] @ v


@ash.jit
def sink_with_a_value(q: Q, k: K, v: ash.f32["b", 2, "t + 1", 5], sink: ash.f32["b", 2, "s", 1]):
    return ash.softmax(ash.concat([q @ k.mT, sink], axis=-1)) @ v


@ash.jit
def first_key_left_out(q: Q, k: K, v: V, sink: ash.f32["b", 2, "s", 1]):
    """What is cut off is no sink."""
    return ash.softmax(ash.concat([q @ k.mT, sink], axis=-1))[..., 1:] @ v


REFUSED = [
    (two_sinks, None),
    (sink_with_a_value, "its softmax is not of products"),
    (first_key_left_out, None),
    (weights_returned, "its scores or weights are used elsewhere too"),
    (scores_returned, "its scores or weights are used elsewhere too"),
    (not_of_products, "its softmax is not of products"),
    (scaled_after_mask, "its scores are scaled after a mask"),
    (two_fills, "its scores are replaced by -inf and by -1000000000.0"),
    (scale_of_each_query, "its scores are scaled by more than a number"),
    (keys_are_weights, "its keys or values are weights, which products store for themselves"),
    (in_doubles, "its scores are converted, and not between f32 and what it sums in"),
    (along_queries, None),
    (without_maximum, None),
]


@pytest.mark.parametrize(("function", "why"), REFUSED, ids=lambda x: getattr(x, "__name__", ""))
def test_what_is_refused(function: Any, why: str | None) -> None:
    """With the reason; what is no softmax along the keys is not worth a word."""
    passed = run_passes(function.graph, FIRST)
    assert "attention" not in [node.op.name for node in ops(passed.graph)]
    (report,) = (report for report in passed.reports if report.name == "attention")
    assert [decision.why for decision in report.refused] == ([why] if why else [])


@pytest.mark.parametrize("function", [pair[0] for pair in REFUSED], ids=lambda f: f.__name__)
def test_what_is_refused_is_still_right(function: Any) -> None:
    arrays = drawn(function, (2, 5, 7))
    wanted = evaluate(function.graph, *arrays)
    for found, expected in zip(compile_graph(function.graph)(*arrays), wanted, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


# --- regions --------------------------------------------------------------------------------------


def mixed_by_hand(q: Any, k: Any, v: Any) -> Any:
    row, column = ash.arange(q.shape[-2])[:, None], ash.arange(k.shape[-2])
    return ash.softmax(ash.where(column <= row, q @ k.mT * 0.5, -np.inf)) @ v


@ash.jit
def in_both_branches(p: ash.bool[()], q: Q, k: K, v: V):
    """The same ops, of which one branch gives a part away."""

    def weights_too(q: Any, k: Any, v: Any) -> Any:
        weights = ash.softmax(q @ k.mT)
        return weights @ v, weights.sum()

    return ash.cond(p, lambda q, k, v: (ash.softmax(q @ k.mT) @ v, q.sum()), weights_too, q, k, v)


@ash.jit
def in_a_branch(p: ash.bool[()], q: Q, k: K, v: V):
    return ash.cond(p, mixed_by_hand, lambda q, k, v: ash.zeros((*q.shape[:-1], 5)), q, k, v)


@ash.jit
def in_each_step(q: ash.f32["n", "b", 2, "s", 3], k: K, v: V):
    def step(total: Any, each: Any) -> Any:
        mixed = mixed_by_hand(each, k, v)
        return total + mixed.sum(), mixed

    return ash.scan(step, ash.asarray(np.float32(0)), q)


def regions_of(graph: Any) -> Iterator[Any]:
    for node in graph.nodes():
        yield from node.regions


@pytest.mark.parametrize("function", [in_a_branch, in_each_step], ids=lambda f: f.__name__)
def test_regions_have_attention_too(function: Any) -> None:
    graph = run_passes(function.graph, FIRST).graph
    names = [node.op.name for region in regions_of(graph) for node in region.nodes()]
    assert names.count("attention") == 1
    assert not {"dot", "softmax"} & set(names)


def test_each_region_counts_its_own_uses() -> None:
    """Both branches have the same softmax: one keeps it to itself, the other does not."""
    passed = run_passes(in_both_branches.graph, FIRST)
    counts = [
        [node.op.name for node in region.nodes()].count("attention")
        for region in regions_of(passed.graph)
    ]
    assert counts == [1, 0]
    (report,) = (report for report in passed.reports if report.name == "attention")
    assert [d.why for d in report.refused] == ["its scores or weights are used elsewhere too"]


@pytest.mark.parametrize(
    "function", [in_a_branch, in_both_branches, in_each_step], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("holds", [True, False])
def test_values_in_regions(function: Any, holds: bool) -> None:
    rng = np.random.default_rng(1)
    shapes = [(2, 2, 5, 3), (2, 2, 7, 3), (2, 2, 7, 5)]
    q, k, v = (rng.normal(size=shape).astype(np.float32) for shape in shapes)
    given = (np.stack([q, q * 2]), k, v) if function is in_each_step else (np.array(holds), q, k, v)
    wanted = evaluate(function.graph, *given)
    for found, expected in zip(compile_graph(function.graph)(*given), wanted, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


# --- kernels --------------------------------------------------------------------------------------

RESHAPED = ("rank_5", "rank_5_masked", "heads_of_any_number", "flattened", "heads_share_keys")
COMPUTED = (
    "rank_5_mixed_bias",
    "scale_that_is_an_input",
    "subtracted",
    "filled_finite",
    "first_keys_beside_a_window",
)
ALONE = [s for s in SPELLINGS if s.name not in (*RESHAPED, *COMPUTED)]
"""Nothing is computed before attention, and its result is one of the graph's as it is."""


@pytest.mark.parametrize("spelling", ALONE, ids=lambda s: s.name)
def test_it_is_one_kernel(spelling: Spelling) -> None:
    """Before many keys of heads that lie beside each other are divided into parts."""
    graph = compile_graph(spelling.function.graph, without=("long-tasks",)).graph
    assert [node.op.name for node in ops(graph)].count("kernel") == 1


def test_the_kernel_is_that_of_the_compound() -> None:
    @ash.jit
    def compound(q: Q, k: K, v: V):
        return ash.attention(q, k, v, scale=0.3)

    @ash.jit
    def primitives(q: Q, k: K, v: V):
        return ash.softmax(q @ k.mT * 0.3) @ v

    texts = [
        [kernel.as_text() for kernel in compile_graph(function.graph).kernels]
        for function in (compound, primitives)
    ]
    assert len(texts[0]) == len(texts[1])
    assert [len(text.splitlines()) for text in texts[0]] == [len(t.splitlines()) for t in texts[1]]


@pytest.mark.parametrize("dtype", [ash.f16, ash.bf16, ash.f64], ids=str)
def test_dtypes(dtype: Any) -> None:
    """16-bit scores are summed in f32 and rounded once, so they are closer than the ops alone."""

    @ash.jit
    def attend(q: dtype[2, "s", 8], k: dtype[2, "t", 8], v: dtype[2, "t", 5]):
        return ash.softmax(q @ k.mT * 0.25) @ v

    @ash.jit
    def upcast(q: dtype[2, "s", 8], k: dtype[2, "t", 8], v: dtype[2, "t", 5]):
        weights = ash.softmax((q @ k.mT * 0.25).astype(wide_of(dtype)))
        return weights.astype(dtype) @ v

    rng = np.random.default_rng(0)
    shapes = (2, 5, 8), (2, 70, 8), (2, 70, 5)
    arrays = [rng.normal(size=shape).astype(dtype.numpy) for shape in shapes]
    wanted = mixed(*arrays, scale=0.25)
    for function in (attend, upcast):
        names = [node.op.name for node in ops(run_passes(function.graph, FIRST).graph)]
        assert "attention" in names
        tolerance = {"f16": 1e-3, "bf16": 8e-3, "f64": 1e-12}[str(dtype)]
        found = np.asarray(function(*arrays), np.float64)
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def test_explain_says_what_was_done_and_what_was_not() -> None:
    taken = compile_graph(SPELLINGS[0].function.graph).explain()
    refused = compile_graph(weights_returned.graph).explain()
    assert "attention applied to 1 dot: a softmax between two products" in str(taken)
    assert "attention refused for 1 dot: its scores or weights are used elsewhere too" in str(
        refused
    )


def test_queries_may_be_scaled_any_number_of_times() -> None:
    """Looking through factors is a loop: a model is as deep as it likes."""

    @ash.jit
    def scaled(q: Q, k: K, v: V):
        for _ in range(1_500):
            q = q * 1.0001
        return ash.softmax(q @ k.mT) @ v

    names = [node.op.name for node in ops(run_passes(scaled.graph, FIRST).graph)]
    assert names.count("attention") == 1
    assert not {"dot", "softmax", "exp"} & set(names)
