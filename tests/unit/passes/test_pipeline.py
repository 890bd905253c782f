"""The order of passes, and leaving some of them out."""

from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.base.errors import OptionError
from anyshape.base.options import Options
from anyshape.execute import compile_graph
from anyshape.ir import evaluate, parse
from anyshape.passes import PASSES, pipeline, run_passes
from anyshape.passes.pipeline import KERNELS, PIPELINE, REQUIRED
from anyshape.passes.segments import Segments

RNG = np.random.default_rng(0)
W = RNG.normal(size=(8, 8)).astype(np.float32)

OPTIONAL = dict.fromkeys(step.name for step in PASSES[:-1] if step.name not in REQUIRED)


@ash.jit
def block(x: ash.f32["b", "s", 8], past: ash.f32["b", "p", 8]):
    """Something for each pass: heads, a mask, a slice, a transpose, numbers, a growing result."""
    b, s, _ = x.shape
    present = ash.concat([past, x], axis=1)
    q = (x @ W).reshape(b, s, 2, 4).transpose(0, 2, 1, 3)
    k = present.reshape(b, present.shape[1], 2, 4).transpose(0, 2, 1, 3)
    query = ash.arange(s).reshape(1, 1, s, 1)
    key = ash.arange(k.shape[2]).reshape(1, 1, 1, k.shape[2])
    mixed = ash.attention(q, k, k, mask=key <= query + past.shape[1])
    y = mixed.transpose(0, 2, 1, 3).reshape(b, s, 8) @ (W * 2 + 1)
    return ash.softmax(ash.gelu(y + x * 1))[:, -1:], ash.sum(y), present


def arrays(sizes: tuple[int, int, int]) -> list[Any]:
    b, s, p = sizes
    return [RNG.normal(size=shape).astype(np.float32) for shape in ((b, s, 8), (b, p, 8))]


@pytest.mark.parametrize(
    "left_out", [*((name,) for name in OPTIONAL), tuple(OPTIONAL)], ids="+".join
)
def test_results_do_not_depend_on_what_is_left_out(left_out: tuple[str, ...]) -> None:
    executable = compile_graph(block.graph, without=left_out, donate=("past",))
    for sizes in ((2, 3, 4), (1, 1, 0), (3, 5, 1)):
        given = arrays(sizes)
        expected = evaluate(block.graph, *given)
        for found, wanted in zip(executable(*map(np.copy, given)), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5)


def test_what_is_left_out_does_not_run() -> None:
    executable = compile_graph(block.graph, without=("canonicalize", "fuse"))
    ran = [report.name for report in executable.reports]
    assert ran == [s.name for s in PASSES if s.name not in ("canonicalize", "fuse")]


def test_it_is_left_out_inside_of_regions_too() -> None:
    last = pipeline(["fuse"])[-1]
    assert isinstance(last, Segments)
    assert "fuse" not in [step.name for step in last.inside]


def test_without_fusion_each_op_is_a_kernel() -> None:
    @ash.jit
    def chain(x: ash.f32["n"]):
        return ash.exp(ash.tanh(x) * 2)

    def kernels(*left_out: str) -> int:
        graph = compile_graph(chain.graph, without=left_out).graph
        return [node.op.name for node in graph.nodes()].count("kernel")

    assert (kernels(), kernels("fuse")) == (1, 3)


def test_the_environments_passes_are_left_out_too() -> None:
    options = Options(without=("fold",))
    executable = compile_graph(block.graph, options, without=("fuse",))
    assert not {"fold", "fuse"} & {report.name for report in executable.reports}


@pytest.mark.parametrize("name", ["fusion", "segments", "expand"])
def test_a_pass_that_cannot_be_left_out_is_an_error(name: str) -> None:
    with pytest.raises(OptionError) as caught:
        compile_graph(block.graph, without=(name,))
    assert str(caught.value).splitlines()[0] == (
        f"without='{name}' is not one of {', '.join((*OPTIONAL, PIPELINE))}"
    )


GROUPED = """
graph grouped(x: f32[n, 4]) -> f32[n, 1] {
  %0 = reshape(x) {shape=[n, 4, 1]}
  %1 = mean(%0) {axes=[2], keepdims=true}
  %2 = sub(%0, %1)
  %3 = reshape(%2) {shape=[n, 4]}
  %4 = constant() {value=f32[4] [0.25, 0.5, 2.0, 4.0]}
  %5 = mul(%3, %4)
  %6 = slice(%5) {starts=[0, 0], stops=[n, 1], steps=[1, 1]}
  return %6
}
"""


def test_parts_of_constants_are_folded() -> None:
    """Narrowing takes a part of each operand, constants too: a second run finds nothing to do."""
    before = PASSES[: PASSES.index(KERNELS[0])]
    once = run_passes(parse(GROUPED), before).graph
    shapes = [node.result().tensor.shape for node in once.nodes() if node.op.name == "constant"]
    assert shapes == [(1,)]
    assert run_passes(once, before).graph == once
