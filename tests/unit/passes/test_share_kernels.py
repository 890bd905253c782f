"""Kernels that differ in numbers share their code: those with contractions from the second on."""

import numpy as np
import torch

import anyshape as ash
from anyshape.execute.compile import compile_graph

RNG = np.random.default_rng(3)
SCALES = (1.25, -0.5, 3.0)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def test_layers_with_a_learned_scale_have_one_kernel() -> None:
    taps, weights = normal(12, 3, 3, 1, 1), normal(12, 12)

    @ash.jit
    def function(x: ash.f32["b", "h", "w", 12]):
        for scale in SCALES:
            x = ash.relu(ash.conv(x, taps, padding=[(1, 1), (1, 1)])) * scale
            x = (x @ weights) * (scale + 1)
        return x

    compiled = compile_graph(function.graph)
    texts = {kernel.as_text() for kernel in compiled.kernels}
    assert sum("met0" in text for text in texts) == 1
    assert sum(" @ " in text for text in texts) == 1
    for b, h, w in ((1, 5, 6), (0, 3, 3), (2, 1, 9)):
        x = normal(b, h, w, 12)
        y = torch.from_numpy(x).permute(0, 3, 1, 2)
        kernel = torch.from_numpy(taps[..., 0].transpose(0, 3, 1, 2))
        for scale in SCALES:
            y = torch.relu(torch.conv2d(y, kernel, padding=1, groups=12)) * scale
            y = ((y.permute(0, 2, 3, 1) @ torch.from_numpy(weights)) * (scale + 1)).permute(
                0, 3, 1, 2
            )
        wanted = y.permute(0, 2, 3, 1).numpy()
        np.testing.assert_allclose(compiled(x)[0], wanted, rtol=1e-4, atol=1e-4)


def test_a_number_that_all_have_stays() -> None:
    weights = normal(8, 8)

    @ash.jit
    def function(x: ash.f32["n", 8]):
        return ash.relu((ash.relu((x @ weights) * 2.5 + 7.5) @ weights) * 3.5 + 7.5)

    (text,) = {k.as_text() for k in compile_graph(function.graph).kernels if " @ " in k.as_text()}
    assert "f32 7.5" in text
    assert "f32 2.5" not in text
    assert "f32 3.5" not in text
