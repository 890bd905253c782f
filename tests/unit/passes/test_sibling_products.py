"""Products of one operand are one product, and nothing else changes."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.unit.passes.stages import FIRST

import anyshape as ash
from anyshape.execute import compile_graph
from anyshape.ir import evaluate
from anyshape.ir.graph import Graph
from anyshape.ops.source import ConstantAttrs
from anyshape.passes import run_passes
from anyshape.passes.sibling_products import SiblingProducts

RNG = np.random.default_rng(0)
F32, F16, BF16 = np.dtype(np.float32), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)
TYPES = {F32: ash.f32, F16: ash.f16, BF16: ash.bf16}
WQ, WK, WV = (RNG.standard_normal((24, n)).astype(np.float32) / 4 for n in (32, 16, 16))
BQ, BK = (RNG.standard_normal(n).astype(np.float32) for n in (32, 16))
GATE, UP = (RNG.standard_normal((40, 24)).astype(np.float32) / 4 for _ in range(2))
X = ash.f32["b", "n", 24]


def heads(x: Any, count: int) -> Any:
    b, n, width = x.shape
    return x.reshape(b, n, count, width // count).transpose(0, 2, 1, 3)


def attends(x: Any) -> Any:
    """Fewer heads of keys, biases of some, a scale of one, weights in both orders."""
    wq, wk, wv, bq, bk = (a.astype(x.dtype.numpy) for a in (WQ, WK.T.copy(), WV, BQ, BK))
    q = heads((x @ wq + bq) * 0.125, 4)
    k, v = heads(x @ ash.asarray(wk).mT + bk, 2), heads(x @ wv, 2)
    return ash.attention(q, k, v)


def gates(x: Any) -> Any:
    gate, up = (ash.asarray(w.astype(x.dtype.numpy)).mT for w in (GATE, UP))
    bias = RNG.standard_normal(40).astype(x.dtype.numpy)
    return ash.silu(x @ gate + bias) * (x @ up)


def gates_by_hand(x: Any) -> Any:
    gate, up = (w.T.astype(x.dtype.numpy) for w in (GATE, UP))
    hidden = x @ gate
    return hidden * ash.sigmoid(hidden) * (x @ up)


def attends_with_normal_weights(x: Any) -> Any:
    """Weights that are computed from constants are constants."""
    normal = [ash.asarray(w) / ash.sqrt((ash.asarray(w) ** 2).sum(0)) for w in (WQ, WK, WV)]
    q, k, v = (heads(x @ w.astype(x.dtype), n) for w, n in zip(normal, (4, 2, 2), strict=True))
    return ash.attention(q, k, v)


def traced(function: Any, dtype: Any = F32) -> Graph:
    def model(x: Any) -> Any:
        return function(x)

    model.__annotations__ = {"x": TYPES[dtype]["b", "n", 24]}
    return ash.jit(model).graph


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize(
    ("function", "dots"),
    [(attends, 3), (gates, 2), (gates_by_hand, 2), (attends_with_normal_weights, 3)],
)
def test_values_stay_bit_for_bit(function: Any, dots: int, dtype: Any) -> None:
    graph = traced(function, dtype)
    one, several = compile_graph(graph), compile_graph(graph, without=("sibling-products",))
    for executable, count in ((one, 1), (several, dots)):
        products = [k for k in executable.kernels if "dot" in k.ops]
        assert len(products) == count
    for sizes in ((2, 5), (1, 1), (0, 3), (3, 0), (2, 17)):
        x = RNG.standard_normal((*sizes, 24)).astype(dtype)
        assert one(x)[0].tobytes() == several(x)[0].tobytes()
        if dtype == F32:
            np.testing.assert_allclose(one(x)[0], evaluate(graph, x)[0], rtol=1e-4, atol=1e-5)


def joined(graph: Graph) -> tuple[Graph, list[str], list[str]]:
    """What the pass makes of a graph, what it says that it did, and what it did not."""
    passed = run_passes(run_passes(graph, FIRST).graph, [SiblingProducts()], verify=True)
    (report,) = passed.reports
    return passed.graph, [d.why for d in report.taken], [d.why for d in report.refused]


def test_slices_of_parts_are_slices_of_the_whole() -> None:
    def model(x: X):  # pyright: ignore[reportInvalidTypeForm]
        q, k = x @ WQ, x @ WK
        return ash.attention(heads(q[:, :, 16:], 2), heads(k, 2), heads(x @ WV, 2))

    graph, taken, _ = joined(ash.jit(model).graph)
    assert taken == ["3 products are one"]
    slices = [node for node in graph.nodes() if node.op.name == "slice"]
    assert {node.operands[0].node.op.name for node in slices} == {"dot"}


def test_it_says_so() -> None:
    assert joined(traced(attends))[1:] == (["3 products are one"], [])
    assert joined(traced(gates))[1:] == (["2 products are one"], [])
    assert "3 products are one" in str(compile_graph(traced(attends)).explain())


@ash.jit
def results(x: X):
    return x @ WQ, heads(x @ WK, 2) @ heads(x @ WV, 2).mT


@ash.jit
def with_epilogues(x: X):
    q, k = (ash.relu(x @ w).reshape(-1, 16) for w in (WK, WV))
    return q @ k.mT


@ash.jit
def read_twice(x: X):
    k, v = heads(x @ WK, 2), heads(x @ WV, 2)
    return k @ v.mT, v.mT @ v


@ash.jit
def other_operands(x: X):
    return heads(x @ WK, 2) @ heads((x * 2) @ WV, 2).mT


@ash.jit
def tied(x: X, ids: ash.i64["k"]):
    """Its weight is looked up as well, so that a joined one would be a second."""
    k, v = heads(x @ WK, 2), heads(x @ WV, 2)
    return k @ v.mT, ash.gather(WV, ids, axis=0)


REFUSED: list[tuple[Any, list[str]]] = [
    (with_epilogues, ["its own epilogue would be a kernel"] * 2),
    (read_twice, ["several kernels would copy it"]),
    (other_operands, []),
]


@pytest.mark.parametrize(("function", "why"), REFUSED)
def test_what_stays_apart(function: Any, why: list[str]) -> None:
    graph, taken, refused = joined(function.graph)
    assert taken == []
    assert refused == why
    assert [node.op.name for node in graph.nodes()].count("slice") == 0


def test_what_leaves_a_gate_keeps_it_apart() -> None:
    def gated(x: Any) -> Any:
        hidden = x @ GATE.T
        share = ash.sigmoid(hidden)
        return hidden * (x @ UP.T), share

    assert joined(traced(gated))[1:] == ([], ["its own epilogue would be a kernel"] * 2)


def test_a_result_stays_apart_and_the_others_are_one() -> None:
    _, taken, refused = joined(results.graph)
    assert taken == ["2 products are one"]
    assert refused == ["it is a result of the graph"]


def test_a_weight_that_is_read_elsewhere_stays_apart() -> None:
    _, taken, _ = joined(tied.graph)
    assert taken == []


def test_narrower_products_are_no_siblings() -> None:
    """The query of the last token alone is needed; keys and values of all."""

    @ash.jit
    def last(x: X):
        return attends(x)[:, :, -1:]

    passed = compile_graph(last.graph)
    assert "2 products are one" in str(passed.explain())


def test_weights_are_held_once_and_can_be_had_back() -> None:
    graph = traced(attends)
    executable = compile_graph(graph)
    plain = sum(array.nbytes for array in (WQ, WK, WV))
    assert executable.memory().weights < 1.5 * plain
    refs = [n.attrs.value for n in graph.nodes() if isinstance(n.attrs, ConstantAttrs)]
    found = [graph.weights.array(ref) for ref in refs if ref.shape in ((24, 32), (16, 24))]
    for array, wanted in zip(found, (WQ, WK.T), strict=True):
        assert np.array_equal(array, wanted)
        assert array.flags.c_contiguous
    x = RNG.standard_normal((2, 3, 24)).astype(np.float32)
    again = compile_graph(graph)
    assert again(x)[0].tobytes() == executable(x)[0].tobytes()


def test_gates_beside_each_other_keep_their_epilogues() -> None:
    """Joined, each half of the whole would be both halves of a gate."""

    def model(x: Any) -> Any:
        first, second = ash.asarray(GATE).mT, ash.asarray(np.concatenate([UP, GATE])).mT
        y, z = x @ second, x @ ash.asarray(UP).mT
        return ash.sigmoid(y[..., :40]) * y[..., 40:], ash.silu(x @ first) * z

    once = run_passes(traced(model), (*FIRST, SiblingProducts())).graph
    assert run_passes(once, [SiblingProducts()]).graph.as_text() == once.as_text()
    assert len(compile_graph(traced(model)).kernels) == 2


def test_readers_that_are_one_product_are_one_reader() -> None:
    """A product whose two readers are joined is a part of another one, in the same run."""

    def model(x: Any) -> Any:
        low = x @ WK
        gate, up = low @ GATE[:16], low @ UP[:16]
        return ash.silu(gate) * up, heads(x @ WV, 2) @ heads(x @ WQ[:, 16:], 2).mT

    graph, taken, _ = joined(traced(model))
    assert taken == ["2 products are one", "3 products are one"]
    assert run_passes(graph, [SiblingProducts()]).graph == graph
    executable = compile_graph(traced(model))
    for sizes in ((2, 5), (1, 1), (0, 3), (3, 0), (2, 17)):
        x = RNG.standard_normal((*sizes, 24)).astype(np.float32)
        for found, wanted in zip(executable(x), evaluate(traced(model), x), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("wide", [False, True])
def test_norms_by_hand_read_parts_of_one_product(wide: bool) -> None:
    """As in OLMo 2, whose norms come between a projection and its heads."""

    def norm(y: Any) -> Any:
        exact = y.astype(ash.f64) if wide else y
        mean = (exact * exact).mean(-1, keepdims=True)
        return (exact * ash.rsqrt(mean + 1e-6)).astype(y.dtype)

    def model(x: Any) -> Any:
        q, k, v = norm(x @ WQ[:, :16]), norm(x @ WK), x @ WV
        return heads(q, 2) @ heads(k, 2).mT @ heads(v, 2)

    graph, taken, _ = joined(traced(model))
    assert taken == ["3 products are one"]
    assert run_passes(graph, [SiblingProducts()]).graph == graph
    executable = compile_graph(traced(model))
    assert [kernel.ops for kernel in executable.kernels].count(("dot",)) == 1
    for sizes in ((2, 5), (1, 1), (0, 3), (3, 0), (2, 17)):
        x = RNG.standard_normal((*sizes, 24)).astype(np.float32)
        q, k, v = (x.astype(np.float64) @ w for w in (WQ[:, :16], WK, WV))
        q, k = (y / np.sqrt((y * y).mean(-1, keepdims=True) + 1e-6) for y in (q, k))
        q, k, v = (y.reshape(*sizes, 2, 8).swapaxes(1, 2) for y in (q, k, v))
        wanted = q @ k.swapaxes(-1, -2) @ v
        np.testing.assert_allclose(executable(x)[0], wanted, rtol=1e-4, atol=1e-3)


def test_an_activation_before_a_norm_is_an_epilogue() -> None:
    def model(x: Any) -> Any:
        q, k = (ash.relu(x @ w) for w in (WK, WV))
        return heads(q / q.sum(-1, keepdims=True), 2) @ heads(k, 2).mT

    assert joined(traced(model))[1:] == ([], ["its own epilogue would be a kernel"] * 2)


@pytest.mark.parametrize("together", [False, True])
def test_a_bias_of_halves_that_nothing_puts_together_stays_in_one_kernel(together: bool) -> None:
    """Divided, each half of it would be added in a kernel of its own."""
    weight, bias = np.concatenate([WK, WV], axis=1), np.concatenate([BK, BK + 1])

    def model(x: Any) -> Any:
        y = x @ weight + bias if together else None
        k = x @ WK + BK if y is None else y[..., :16]
        v = x @ WV + (BK + 1) if y is None else y[..., 16:]
        return heads(k, 2) @ heads(v, 2).mT

    once = run_passes(traced(model), (*FIRST, SiblingProducts())).graph
    assert run_passes(once, [SiblingProducts()]).graph == once
    executable = compile_graph(traced(model))
    moves = ("slice", "transpose") * 2
    assert {kernel.ops for kernel in executable.kernels} == {("dot", "add"), (*moves, "dot")}
    x = RNG.standard_normal((2, 5, 24)).astype(np.float32)
    y = x.astype(np.float64) @ weight + bias
    k, v = (half.reshape(2, 5, 2, 8).swapaxes(1, 2) for half in np.split(y, 2, axis=-1))
    np.testing.assert_allclose(executable(x)[0], k @ v.swapaxes(-1, -2), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("transposed", [False, True])
def test_the_halves_of_one_product_with_a_bias_are_one_kernel(transposed: bool) -> None:
    weight, bias = RNG.standard_normal((24, 300)), RNG.standard_normal(300).astype(np.float32)
    kept = (weight.T if transposed else weight).astype(np.float32).copy()

    @ash.jit
    def gated(x: X):
        y = x @ (ash.asarray(kept).mT if transposed else kept) + bias
        return y[..., :150] * ash.sigmoid(y[..., 150:])

    executable = compile_graph(gated.graph, without=("fold",))
    assert len(executable.kernels) == 1
    for sizes in ((2, 5), (1, 1), (0, 3), (3, 17)):
        x = RNG.standard_normal((*sizes, 24)).astype(np.float32)
        found, wanted = executable(x)[0], evaluate(gated.graph, x)[0]
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


EXPERTS = RNG.standard_normal((3, 24, 70)).astype(np.float32) / 4


@pytest.mark.parametrize("transposed", [False, True])
def test_gates_of_experts_are_the_epilogue_of_their_product(transposed: bool) -> None:
    kept = EXPERTS.transpose(0, 2, 1).copy() if transposed else EXPERTS

    @ash.jit
    def experts(x: ash.f32["n", 24], offsets: ash.i64[3]):
        weights = ash.asarray(kept)
        y = ash.grouped_dot(x, weights.mT if transposed else weights, offsets)
        return ash.silu(y[:, :35]) * y[:, 35:]

    graph = experts.graph
    executable = compile_graph(graph, without=("fold",))
    assert [kernel.ops[0] for kernel in executable.kernels] == ["grouped_dot"]
    for rows, ends in ((7, (2, 2, 6)), (0, (0, 0, 0)), (1, (1, 1, 1)), (150, (3, 100, 150))):
        x = RNG.standard_normal((rows, 24)).astype(np.float32)
        given = x, np.array(ends, np.int64)
        found, wanted = executable(*given)[0], evaluate(graph, *given)[0]
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    (value,) = (n.attrs.value for n in graph.nodes() if isinstance(n.attrs, ConstantAttrs))
    assert np.array_equal(graph.weights.array(value), kept)
