"""Products that compute an operand: against NumPy, their definition, and one task at a time."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from tests.unit.codegen.emit.harness import TARGETS
from tests.unit.codegen.matrix import arrays_of, assert_product, computed, lowered
from tests.unit.plan.planning import scheduled

import anyshape as ash
from anyshape.codegen.llvm.target import LlvmTarget
from anyshape.execute import compile_graph
from anyshape.families.dot.task_runs import Run
from anyshape.families.lower import lower_region
from anyshape.loop import Kernel, Prepare
from anyshape.loop.printer import kernel_text
from anyshape.loop.verify import verify_kernel
from anyshape.lower.tiling import WIDE
from anyshape.passes import PASSES, run_passes
from anyshape.plan.costs import MachineCosts
from anyshape.sym import Dim, Symbol

Arrays = list[NDArray[Any]]
SIZES = [
    (1, 1, 1), (1, 64, 7), (7, 65, 3), (97, 63, 5), (101, 330, 1), (2, 1, 64), (5, 16, 0),
    (0, 5, 5), (5, 0, 5), (400, 70, 9), (800, 3, 2),
]  # fmt: skip


@ash.jit
def rows(x: ash.f32["m", "k"], w: ash.f32["k", "n"], s: ash.f32["k"], t: ash.f32["m", 1]):
    return ((ash.relu(x) + t) * s) @ w


@ash.jit
def columns(x: ash.f32["m", "k"], w: ash.f32["k", "n"], s: ash.f32["n"], t: ash.f32["k", 1]):
    return x @ ((ash.relu(w) + t) * s)


@ash.jit
def columns_apart(x: ash.f32["m", "k"], w: ash.f32["n", "k"], s: ash.f32["k"]):
    return (x - s) @ w.mT


@ash.jit
def masked(x: ash.f64["m", "k"], w: ash.f64["k", "n"], keep: ash.bool["m", "k"]):
    return ash.where(keep, x, 0.0) @ w


@ash.jit
def rounded(x: ash.f32["m", "k"], w: ash.bf16["k", "n"], s: ash.bf16["k"]):
    return (x.astype(ash.bf16) * s) @ w


@ash.jit
def integers(x: ash.i8["m", "k"], w: ash.i8["k", "n"], s: ash.i8["k"]):
    return (x + s).astype(ash.i32) @ w.astype(ash.i32)


@ash.jit
def turned(x: ash.f32["m", "k"], w: ash.f32["n", "k"], s: ash.f32["k"]):
    return (w @ (x * s).mT).mT


@ash.jit
def residual(x: ash.f32["m", "k"], w: ash.f32["k", "k"], s: ash.f32["k"]):
    return x * s + (x * s) @ w


@ash.jit
def heads(
    q: ash.f32["b", "m", 2, "k"], w: ash.f32["b", 2, "k", "n"], s: ash.f32["b", 1, 1, 1],
    rest: ash.f32["b", 2, "m", "n"],
):  # fmt: skip
    return (q.transpose(0, 2, 1, 3) * s) @ w + rest


@ash.jit
def sequence(x: ash.f32["b", "m", "k"], w: ash.f32["k", "n"], s: ash.f32["b", 1, "k"]):
    return (x * s) @ w


FUNCTIONS = [
    rows, columns, columns_apart, masked, rounded, integers, turned, residual, heads, sequence,
]  # fmt: skip


def name(function: Any) -> str:
    return function.graph.name


@pytest.mark.parametrize("function", FUNCTIONS, ids=name)
def test_every_access_is_proved(function: Any) -> None:
    made = lowered(function)
    for kernel in (made.kernel, *(other.kernel for other in made.others)):
        assert any(isinstance(statement, Prepare) for statement in kernel.body)
        assert verify_kernel(kernel) == []


@pytest.mark.parametrize("function", FUNCTIONS, ids=name)
def test_machine_code_does_what_the_loops_say(function: Any) -> None:
    sizes = {"b": 2, "m": 13, "n": 67, "k": 5}
    arrays = arrays_of(function, sizes)
    found, expected = (computed(function, arrays, sizes, interpret=i) for i in (False, True))
    np.testing.assert_allclose(
        found.astype(np.float64), expected.astype(np.float64), rtol=1e-2 * (found.itemsize == 2)
        + 1e-5, atol=1e-5,
    )  # fmt: skip


def _affine(x: Any, s: Any, t: Any) -> Any:
    return (np.maximum(x, 0) + t) * s


@pytest.mark.parametrize("constants", [frozenset({1}), frozenset[int]()], ids=["packed", "not"])
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_sizes_of_computed_rows(target: LlvmTarget, constants: frozenset[int]) -> None:
    for seed, (m, n, k) in enumerate(SIZES):
        sizes = {"m": m, "n": n, "k": k}
        x, w, s, t = arrays_of(rows, sizes, seed)
        found = computed(
            rows, (x, w, s, t), sizes, constants=constants, target=target, at_end=bool(seed % 2)
        )
        assert_product(found, _affine(x, s, t), w)


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_sizes_of_computed_columns(target: LlvmTarget) -> None:
    for seed, (m, n, k) in enumerate(SIZES):
        sizes = {"m": m, "n": n, "k": k}
        x, w, s, t = arrays_of(columns, sizes, seed)
        found = computed(columns, (x, w, s, t), sizes, target=target, at_end=bool(seed % 2))
        assert_product(found, x, _affine(w, s, t))


@pytest.mark.parametrize("few_rows", [False, True])
def test_copied_panels_and_sums(few_rows: bool) -> None:
    for m in (1, 2, 7, 500):
        sizes = {"m": m, "n": 70, "k": 33}
        x, w, s = arrays_of(columns_apart, sizes)
        assert_product(computed(columns_apart, (x, w, s), sizes, few_rows=few_rows), x - s, w.T)


def test_every_op_rounds_to_its_own_dtype() -> None:
    sizes = {"m": 9, "n": 5, "k": 40}
    x, w, s = arrays_of(rounded, sizes)
    operand = (x.astype(ml_dtypes.bfloat16) * s).astype(np.float64)
    assert_product(computed(rounded, (x, w, s), sizes), operand, w)


def test_integers_wrap_in_their_own_dtype() -> None:
    sizes = {"m": 4, "n": 3, "k": 2}
    x, w = np.full((4, 2), 127, np.int8), np.ones((2, 3), np.int8)
    found = computed(integers, (x, w, np.ones(2, np.int8)), sizes)
    np.testing.assert_array_equal(found, np.full((4, 3), -256))


CASES: list[tuple[Any, Callable[..., Any]]] = [
    (masked, lambda x, w, keep: np.where(keep, x, 0) @ w),
    (turned, lambda x, w, s: (x * s) @ w.T),
    (residual, lambda x, w, s: x * s + (x * s) @ w),
    (heads, lambda q, w, s, rest: (q.transpose(0, 2, 1, 3) * s) @ w + rest),
    (sequence, lambda x, w, s: (x * s) @ w),
]


@pytest.mark.parametrize(("function", "reference"), CASES, ids=[name(f) for f, _ in CASES])
def test_operands_of_every_shape(function: Any, reference: Callable[..., Any]) -> None:
    for b, m, n, k in [(3, 14, 66, 9), (1, 1, 1, 1), (2, 0, 5, 3), (0, 3, 3, 3), (2, 100, 3, 130)]:
        sizes = {"b": b, "m": m, "n": n, "k": k}
        arrays = arrays_of(function, sizes)
        found = computed(function, arrays, sizes)
        expected = reference(*(a if a.dtype == bool else a.astype(np.float64) for a in arrays))
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_special_values_spread() -> None:
    sizes = {"m": 8, "n": 70, "k": 6}
    x, w, s, t = arrays_of(rows, sizes)
    x[1, 2], x[3, 0], w[4, 69] = np.nan, np.inf, -np.inf
    found = computed(rows, (x, w, s, t), sizes)
    with np.errstate(all="ignore"):
        expected = (_affine(x, s, t)[:, :, None] * w).sum(axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


# --- tasks ----------------------------------------------------------------------------------------


def test_text() -> None:
    graph = rows.graph
    text = kernel_text(lower_region(graph.body, graph.facts).kernel)
    assert "tasks t < runs*((n0 + 95)//96)" in text
    assert "scratch block: f32[min(n0, 96), n1]" in text
    assert "  prepare for b {\n    for i < h {\n      for k < n1 vector {\n" in text


def test_code_does_not_depend_on_threads() -> None:
    graph = rows.graph
    kernels: list[Kernel] = []
    sizes: list[Dim] = []
    for threads in (1, 8):
        tiling = type(WIDE)(WIDE.rows, WIDE.vectors, WIDE.vector_bytes, threads=threads)
        made = lower_region(graph.body, graph.facts, frozenset(), tiling)
        kernels.append(made.kernel)
        sizes.append(made.sizes[-1])
    assert kernels[0] == kernels[1]
    assert sizes[0] != sizes[1]


def test_level_two_divides_by_the_threads_of_the_machine() -> None:
    graph = run_passes(rows.graph, PASSES).graph
    sizes = {Symbol(name): size for name, size in {"m": 8, "n": 768, "k": 5}.items()}
    for threads, tasks in (1, 3), (2, 2), (4, 4):
        _, step = scheduled(graph, costs=MachineCosts(threads=threads)).steps  # no parts here
        assert step.lowered.of_graph(step.variants[0].tasks).evaluate(sizes) == tasks


@pytest.mark.parametrize("executor", ["native", "stepwise"])
@pytest.mark.parametrize("m", [1, 7, 97, 700])
def test_compiled_graphs(m: int, executor: Any) -> None:
    """The residual is the operand that is computed, and may be written over by nobody."""
    sizes = {"m": m, "k": 66}
    x, w, s = arrays_of(residual, sizes)
    (found,) = compile_graph(residual.graph, executor=executor)(x, w, s)
    np.testing.assert_allclose(found, x * s + (x * s) @ w, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("panels", "others", "threads", "runs"),
    [
        (0, 1, 2, 0),  # no columns: no tasks
        (1, 1, 8, 1),
        (8, 1, 1, 2),
        (8, 1, 2, 2),  # one for each thread, though four would not be too short
        (12, 1, 2, 2),  # not three, which would be two for one thread
        (48, 1, 2, 12),
        (48, 3, 2, 12),
        (8, 8, 2, 8),  # many parts: neighbouring tasks of a thread share one
        (8, 1, 64, 8),
    ],
)
def test_how_many_runs(panels: int, others: int, threads: int, runs: int) -> None:
    run = Run(Symbol("p"), Dim.of("panels"), Dim.of("others"))
    sizes = {Symbol("panels"): panels, Symbol("others"): others}
    assert run.count(threads).evaluate(sizes) == runs
