"""Rows: reductions of the same rows and all that is made of them are one kernel, however spelled.

What the compound is for has the compound's loop text; values are those of the unfused ops.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from tests.unit.lower.lowering import all_kernels_of, kernel_of
from tests.unit.passes.test_fuse import kernels

import anyshape as ash
from anyshape.base.options import options_from_environment
from anyshape.execute import Executable, compile_graph
from anyshape.ir import Graph, parse
from anyshape.ir.types import Array
from anyshape.loop.verify import verify_kernel
from anyshape.passes import PASSES, run_passes

jit = ash.jit(axes=[ash.Axis("m", max=4096)])
"""Rows that are never so long that they are divided."""

ROWS = ash.f32["n", "m"]
WEIGHT = ash.f32["m"]
EPS = 1e-5


# --- spellings ------------------------------------------------------------------------------------


@jit
def softmax_by_hand(x: ROWS):
    power = ash.exp(x - x.max(-1, keepdims=True))
    return power / power.sum(-1, keepdims=True)


@jit
def softmax_reshaped(x: ROWS):
    power = ash.exp(x - x.max(-1)[:, None])
    return power / power.sum(-1)[:, None]


@jit
def softmax_unshifted(x: ROWS):
    power = ash.exp(x)
    return power / power.sum(-1, keepdims=True)


@jit
def softmax_of_columns(x: ROWS):
    power = ash.exp(x - x.max(0))
    return power / power.sum(0)


@jit
def log_softmax_by_hand(x: ROWS):
    shifted = x - x.max(-1, keepdims=True)
    return shifted - ash.log(ash.exp(shifted).sum(-1, keepdims=True))


@jit
def logsumexp(x: ROWS):
    greatest = x.max(-1, keepdims=True)
    return (ash.log(ash.exp(x - greatest).sum(-1, keepdims=True)) + greatest) * 2.0


@jit
def layer_norm_by_hand(x: ROWS, w: WEIGHT, b: WEIGHT):
    centred = x - x.mean(-1, keepdims=True)
    variance = (centred * centred).mean(-1, keepdims=True)
    return centred * ash.rsqrt(variance + EPS) * w + b


@jit
def layer_norm_of_squares(x: ROWS, w: WEIGHT, b: WEIGHT):
    mean = x.mean(-1)
    deviation = ash.sqrt((x * x).mean(-1) - mean * mean + EPS)
    return (x - mean[:, None]) / deviation[:, None] * w + b


@jit
def rms_norm_by_hand(x: ROWS, w: WEIGHT):
    return x * ash.rsqrt((x * x).mean(-1, keepdims=True) + EPS) * w


@jit
def rms_norm_divided(x: ROWS, w: WEIGHT):
    return w * (x / ash.sqrt((x**2).mean(-1, keepdims=True) + EPS))


@jit
def unit_length(x: ROWS):
    return x / ash.sqrt((x * x).sum(-1, keepdims=True))


@jit
def masked_mean(x: ash.f32["n", "m", 8], mask: ash.bool["n", "m"]):
    chosen = mask.astype(ash.f32)[:, :, None]
    return (x * chosen).sum(1) / ash.maximum(chosen.sum(1), 1.0)


@dataclass(frozen=True)
class Written:
    """A graph as text, where a function would be."""

    text: str

    @cached_property
    def graph(self) -> Graph:
        return parse(self.text)

    @cached_property
    def executable(self) -> Executable:
        return compile_graph(self.graph, options_from_environment())


CROSS_ENTROPY = Written("""
graph cross_entropy(x: f32[n, 50], target: i64[n, 1]) -> f32[n] {
  %0 = log_softmax(x) {axis=1}
  %1 = take_along(%0, target) {axis=1}
  %2 = reshape(%1) {shape=[n]}
  %3 = neg(%2)
  return %3
}""")

CROSS_ENTROPY_BY_HAND = Written("""
graph cross_entropy_by_hand(x: f32[n, 50], target: i64[n, 1]) -> f32[n] {
  %0 = max(x) {axes=[1], keepdims=true}
  %1 = sub(x, %0)
  %2 = exp(%1)
  %3 = sum(%2) {axes=[1]}
  %4 = log(%3)
  %5 = take_along(%1, target) {axis=1}
  %6 = reshape(%5) {shape=[n]}
  %7 = sub(%4, %6)
  return %7
}""")


@jit
def expectation(x: ROWS, value: ROWS):
    return (ash.softmax(x, axis=-1) * value).sum(-1)


@jit
def two_norms(x: ROWS, y: ROWS, w: WEIGHT):
    return ash.rms_norm(ash.layer_norm(x, axis=-1) + y, w, axis=-1)


SPELLINGS = (
    softmax_by_hand, softmax_reshaped, softmax_unshifted, softmax_of_columns, log_softmax_by_hand,
    logsumexp, layer_norm_by_hand, layer_norm_of_squares, rms_norm_by_hand, rms_norm_divided,
    unit_length, masked_mean, CROSS_ENTROPY, CROSS_ENTROPY_BY_HAND, expectation, two_norms,
)  # fmt: skip


def name_of(function: Any) -> str:
    return function.graph.name


@pytest.mark.parametrize("function", SPELLINGS, ids=name_of)
def test_rows_are_one_kernel(function: Any) -> None:
    assert len(kernels(function)) == 1
    for kernel in all_kernels_of(function):
        assert verify_kernel(kernel) == []


# --- compounds are names --------------------------------------------------------------------------


@jit
def softmax(x: ROWS):
    return ash.softmax(x, axis=-1)


@jit
def softmax_of_first(x: ROWS):
    return ash.softmax(x, axis=0)


@jit
def log_softmax(x: ROWS):
    return ash.log_softmax(x, axis=-1)


@jit
def layer_norm(x: ROWS, w: WEIGHT, b: WEIGHT):
    return ash.layer_norm(x, w, b, axis=-1, eps=EPS)


@jit
def rms_norm(x: ROWS, w: WEIGHT):
    return ash.rms_norm(x, w, axis=-1, eps=EPS)


@pytest.mark.parametrize(
    ("by_hand", "compound"),
    [
        (softmax_by_hand, softmax),
        (softmax_reshaped, softmax),
        (log_softmax_by_hand, log_softmax),
        (layer_norm_by_hand, layer_norm),
        (rms_norm_by_hand, rms_norm),
    ],
    ids=name_of,
)
def test_both_spellings_have_one_text(by_hand: Any, compound: Any) -> None:
    assert kernel_of(by_hand).as_text() == kernel_of(compound).as_text()


# --- values ---------------------------------------------------------------------------------------


def inputs_of(function: Any, binding: dict[str, int], special: bool) -> list[Array]:
    rng = np.random.default_rng(3)
    arrays = list[Array]()
    for type_ in function.graph.body.params:
        shape = tuple(
            dim.evaluate({s: binding[s.name] for s in dim.symbols}) for dim in type_.shape
        )
        x = rng.normal(size=shape) * 3
        if type_.dtype.is_float and special and x.size:
            x.flat[::7] = rng.choice([np.nan, np.inf, -np.inf, -0.0, 0.0], x.flat[::7].shape)
            x[-1:] = -np.inf
        arrays.append(
            np.abs(x).astype(type_.dtype.numpy)
            if type_.dtype.kind == "int"
            else x.astype(type_.dtype.numpy)
        )
    return arrays


BINDINGS = [{"n": n, "m": m} for n, m in ((3, 67), (1, 1), (5, 16), (0, 4), (4, 0))]


def unfused(function: Any) -> Any:
    return compile_graph(function.graph, options_from_environment(), without=("fuse",))


@pytest.mark.parametrize("function", SPELLINGS, ids=name_of)
def test_values_are_those_of_the_unfused_ops(function: Any) -> None:
    """NaN, infinities, rows of nothing but minus infinity, empty rows and no rows."""
    alone = unfused(function)
    for binding in BINDINGS:
        for special in (False, True):
            inputs = inputs_of(function, binding, special)
            (found,), (wanted,) = function.executable(*inputs), alone(*inputs)
            np.testing.assert_allclose(found, wanted, 1e-5, 1e-6)


@jit
def softmax_in_half(x: ash.f16["n", "m"]):
    power = ash.exp(x - x.max(-1, keepdims=True))
    return power / power.sum(-1, keepdims=True)


@jit
def norm_in_brain_floats(x: ash.bf16["n", "m"], w: ash.bf16["m"]):
    return x * ash.rsqrt((x * x).mean(-1, keepdims=True) + 1e-3) * w


@pytest.mark.parametrize("function", [softmax_in_half, norm_in_brain_floats], ids=name_of)
def test_narrow_floats_are_rounded_at_each_op(function: Any) -> None:
    """As the unfused ops do, bit for bit; compounds round once."""
    assert len(kernels(function)) == 1
    inputs = inputs_of(function, {"n": 5, "m": 77}, False)
    (found,), (wanted,) = function.executable(*inputs), unfused(function)(*inputs)
    np.testing.assert_array_equal(found, wanted)


# --- what stays apart -----------------------------------------------------------------------------


@jit
def across(x: ROWS):
    return (ash.softmax(x, axis=-1) * 2.0).sum(0)


@ash.jit
def square_misaligned(x: ash.f32["n", "n"]):
    """A number for each row meets the columns: broadcasting aligns right."""
    return x / x.sum(-1)


@jit
def transposed(x: ROWS):
    power = ash.exp(x)
    return ash.transpose(power / power.sum(-1, keepdims=True))


@jit
def mean_is_kept(x: ROWS):
    mean = x.mean(-1, keepdims=True)
    return mean, x - mean


@jit
def centred_columns(x: ROWS):
    return (x - x.mean(-1, keepdims=True)).sum(0)


@jit
def beside_a_transpose(x: ROWS, y: ash.f32["m", "n"]):
    return ash.softmax(x, axis=-1) + ash.transpose(y)


OTHER_ROWS = "the kernel has rows of another shape or along other axes"


@pytest.mark.parametrize(
    ("function", "expected", "why"),
    [
        (across, [["softmax", "mul"], ["sum"]], "it stays with its rows, sum has others"),
        (square_misaligned, [["sum"], ["div"]], "div has another shape"),
        (
            transposed,
            [["exp", "sum", "div"], ["transpose"]],
            "it stays with its rows, transpose has others",
        ),
        (mean_is_kept, [["mean"], ["sub"]], "it is a result of the graph"),
        (centred_columns, [["mean"], ["sub", "sum"]], OTHER_ROWS),
        (beside_a_transpose, [["softmax"], ["transpose", "add"]], "transpose has another shape"),
    ],
    ids=lambda value: name_of(value) if hasattr(value, "graph") else "",
)
def test_what_stays_apart_and_why(function: Any, expected: list[list[str]], why: str) -> None:
    assert kernels(function) == expected
    reports = run_passes(function.graph, PASSES).reports
    assert why in {decision.why for report in reports for decision in report.refused}


def test_kernels_of_many_reductions_are_cut() -> None:
    @jit
    def chain(x: ROWS):
        for number in range(9):
            x = ash.softmax(x * (number + 2.0), axis=-1)
        return x

    assert [len(ops) for ops in kernels(chain)] == [2, 8, 8]
    reports = run_passes(chain.graph, PASSES).reports
    reasons = {decision.why for report in reports for decision in report.refused}
    assert "the kernel has 8 reductions already" in reasons
