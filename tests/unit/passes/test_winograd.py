"""Which convolutions get weights in Winograd's form, and which are told why not."""

from typing import Any

import numpy as np
import pytest
import torch

import anyshape as ash
from anyshape.analysis.constants import weight_of
from anyshape.execute import compile_graph
from anyshape.ir import Graph
from anyshape.lower.winograd import weights_at_points
from anyshape.ops.conv import WinogradAttrs
from anyshape.ops.known import CONV, WINOGRAD
from anyshape.passes import Passed, pipeline, run_passes
from anyshape.passes.convolution_weights import ConvolutionWeights
from anyshape.passes.winograd import Winograd

RNG = np.random.default_rng(3)


def weights(*shape: int) -> Any:
    return (RNG.standard_normal(shape) / 16).astype(np.float32)


def conv(taps: Any, **numbers: Any) -> Graph:
    channels = taps.shape[0] * taps.shape[-2]

    @ash.jit
    def model(x: ash.f32["n", "h + 8", "w + 8", channels]):
        return ash.conv(x, taps, **numbers)

    return model.graph


def passed(graph: Graph, *steps: Any) -> Passed:
    return run_passes(graph, steps or (Winograd(),), verify=True)


def ops(graph: Graph) -> list[Any]:
    return [node.op for node in graph.nodes() if node.op in (CONV, WINOGRAD)]


@pytest.mark.parametrize(
    ("inside", "outside", "tile"), [(32, 32, 4), (64, 448, 4), (64, 512, 2), (512, 128, 2)]
)
def test_the_largest_tile_whose_weights_are_not_too_large(
    inside: int, outside: int, tile: int
) -> None:
    made = passed(conv(weights(1, 3, 3, inside, outside), padding=[(1, 1), (0, 2)])).graph
    (node,) = (node for node in made.nodes() if node.op is WINOGRAD)
    assert node.attrs == WinogradAttrs((1, 0), (1, 2), tile)
    assert node.operands[2].tensor.shape == ((tile + 2) ** 2, inside, outside)


def test_what_was_done_is_told() -> None:
    (report,) = passed(conv(weights(1, 3, 3, 32, 64))).reports
    (decision,) = report.taken
    assert decision.why == "36 products for tiles of 4 x 4, 294912 bytes of weights for them"


REFUSED = {
    "its weights would take 9437184 bytes, and may take 8388608": weights(1, 3, 3, 288, 512),
    "transforms do not pay for 31 -> 64 channels": weights(1, 3, 3, 31, 64),
    "transforms do not pay for 64 -> 31 channels": weights(1, 3, 3, 64, 31),
}


@pytest.mark.parametrize(("why", "taps"), REFUSED.items(), ids=REFUSED)
def test_what_does_not_suit_is_told(why: str, taps: Any) -> None:
    found = passed(conv(taps))
    assert ops(found.graph) == [CONV]
    assert [decision.why for decision in found.reports[0].refused] == [why]


def test_weights_that_calls_bring_have_one_form() -> None:
    @ash.jit
    def model(x: ash.f32["n", "h + 2", "w + 2", 64], taps: ash.f32[1, 3, 3, 64, 64]):
        return ash.conv(x, taps)

    found = passed(model.graph)
    assert ops(found.graph) == [CONV]
    assert [d.why for d in found.reports[0].refused] == ["its weights are not constant"]


def test_narrow_floats_have_one_form() -> None:
    taps = weights(1, 3, 3, 32, 32).astype(np.float16)

    @ash.jit
    def model(x: ash.f16["n", "h + 2", "w + 2", 32]):
        return ash.conv(x, taps)

    found = passed(model.graph)
    assert ops(found.graph) == [CONV]
    assert [d.why for d in found.reports[0].refused] == ["tiles of f16 would be rounded too often"]


@pytest.mark.parametrize(
    ("taps", "numbers"),
    [
        (weights(1, 3, 3, 32, 32), {"strides": [2, 1]}),
        (weights(1, 3, 3, 32, 32), {"dilations": [1, 2]}),
        (weights(2, 3, 3, 32, 32), {}),
        (weights(1, 5, 3, 32, 32), {}),
        (weights(1, 3, 1, 32, 32), {}),
    ],
)
def test_other_convolutions_are_left_alone(taps: Any, numbers: Any) -> None:
    found = passed(conv(taps, **numbers))
    assert ops(found.graph) == [CONV]
    assert not found.reports[0].decisions


def test_weights_in_torchs_order_and_scales_behind() -> None:
    """Views of a constant are no work, and what is multiplied when compiling is a constant."""
    taps, scale = weights(48, 32, 3, 3), weights(48) + 1

    @ash.jit
    def model(x: ash.f32["n", "h", "w", 32]):
        turned = ash.asarray(taps).transpose(2, 3, 1, 0).reshape(1, 3, 3, 32, 48)
        return ash.conv(x, turned, padding=[(1, 1), (1, 1)]) * scale

    made = run_passes(model.graph, pipeline(), verify=True)
    assert any(d.taken for r in made.reports if r.name == "winograd" for d in r.decisions)
    executable = compile_graph(model.graph)
    for n, h, w in ((2, 17, 30), (1, 1, 1), (0, 4, 4)):
        x = RNG.standard_normal((n, h, w, 32)).astype(np.float32)
        image, kernel = (torch.from_numpy(a).double() for a in (np.moveaxis(x, -1, 1), taps))
        sums = torch.nn.functional.conv2d(image, kernel, padding=1).movedim(1, -1).numpy()
        (found,) = executable(x)
        np.testing.assert_allclose(found, sums * scale, rtol=0, atol=3e-5)


def test_nobody_holds_weights_that_are_packed_anyway() -> None:
    """They are made from the plain ones, whoever reads them."""
    taps = weights(1, 3, 3, 32, 48)
    made = passed(conv(taps)).graph
    (node,) = (node for node in made.nodes() if node.op is WINOGRAD)
    found = weight_of(node.operands[2].node)
    assert found is not None
    first, again = (made.weights.array(found) for _ in range(2))
    assert not np.shares_memory(first, again)
    np.testing.assert_array_equal(first, weights_at_points(taps, 4))
    np.testing.assert_array_equal(first, again)


def test_it_can_be_left_out() -> None:
    graph = conv(weights(1, 3, 3, 32, 32))
    with_it, without = (compile_graph(graph, without=w) for w in ((), ("winograd",)))
    assert "winograd" in with_it.as_text()
    assert "winograd" not in without.as_text()


def test_passes_before_it_still_see_convolutions() -> None:
    names = [step.name for step in pipeline()]
    assert names.index(ConvolutionWeights().name) < names.index("winograd")


def test_padding_by_another_number_does_not_take_the_form_away() -> None:
    """Patches have zeros outside of the input: a `pad` in front stays with what is before it."""
    first, second = (torch.nn.Conv2d(32, 32, 3) for _ in range(2))

    def network(x: torch.Tensor) -> torch.Tensor:
        return second(torch.nn.functional.pad(first(x).relu(), (1, 2, 1, 1), value=0.5))

    example = torch.randn(2, 32, 21, 33)
    compiled = ash.compile(network, (example,), axes={"x": ("b", None, "h", "w")})
    for size in ((1, 32, 40, 31), (2, 32, 3, 5)):
        x = torch.randn(size)
        np.testing.assert_allclose(compiled(x), network(x).detach(), atol=2e-5)
    names = [kernel.name for kernel in compiled.kernels]
    pads, convolutions = ([name for name in names if op in name] for op in ("pad", "winograd"))
    assert len(convolutions) == 4, "two convolutions, each in two forms"
    assert not {*pads} & {*convolutions}
