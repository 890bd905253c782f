"""Depth is no limit: 10,000 ops of torch in a row.

torch.export itself follows that many, in about 2 ms each; the graph is written by hand here, which
leaves what we do with it. Nothing may recurse for each op, and nothing grow faster than the graph.
"""

from __future__ import annotations

import numpy as np
import torch
from tests.unit.execute.test_depth import few_frames

import anyshape as ash
from anyshape.passes.fuse_groups import MOST_OPS

DEPTH = 10_000


class Step(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 1.0001 + 0.0625


def repeated(times: int) -> torch.export.ExportedProgram:
    """The step so many times, as torch would have recorded it."""
    dynamic = ({0: torch.export.Dim.AUTO},)
    program = torch.export.export(Step(), (torch.ones(3, 4),), dynamic_shapes=dynamic)
    graph = program.graph
    *_, multiplied, added, output = graph.nodes
    last = added
    with graph.inserting_before(output):
        for _ in range(times - 1):
            for op in (multiplied, added):
                last = graph.call_function(op.target, (last, *op.args[1:]))
                last.meta = dict(op.meta)
    output.args = ((last,),)
    return program


def test_ten_thousand_ops_in_a_row() -> None:
    program = repeated(DEPTH // 2)
    with few_frames():
        compiled = ash.compile(program, axes={"x": ("n", None)})
    x = np.linspace(-1, 1, 28).reshape(7, 4)
    result = compiled(torch.from_numpy(x.astype(np.float32))).numpy()
    for _ in range(DEPTH // 2):
        x = x * 1.0001 + 0.0625
    np.testing.assert_allclose(result, x, rtol=1e-4)
    assert len(compiled.executable.kernels) >= DEPTH // MOST_OPS, "all of them are computed"
