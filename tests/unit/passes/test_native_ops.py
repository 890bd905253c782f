"""Elementwise ops with and without machine code."""

from collections.abc import Iterator

import numpy as np
import pytest
from tests.unit.codegen.emit.harness import HOST, at, buffer, each, kernel, op, put

import anyshape as ash
from anyshape.base.errors import MissingRuleError, UnsupportedError
from anyshape.codegen.llvm.emit import emit_kernel
from anyshape.codegen.llvm.emit.table import GENERATORS
from anyshape.families.lower import lower_region
from anyshape.ir import Graph, opdef, parse
from anyshape.ir.types import f32
from anyshape.ops.elementwise import unary
from anyshape.passes import PASSES, run_passes

TEXT = """
axes { n: 0.. }
graph cubes(x: f32[n, 3]) -> f32[n, 3] {
  %0 = add(x, x) : f32[n, 3]
  %1 = cbrt(%0) : f32[n, 3]
  %2 = mul(%1, x) : f32[n, 3]
  return %2
}
"""


@pytest.fixture
def cubes() -> Iterator[Graph]:
    """An op as its author first writes it: one line, and nothing in code generation."""
    entry = unary("cbrt", np.cbrt)
    try:
        yield parse(TEXT)
    finally:
        del opdef._REGISTRY[entry.name]


def test_the_names_are_those_of_the_generators() -> None:
    assert {*GENERATORS, "cast"} == {op.name for op in opdef.all_ops() if op.generated}


def test_an_op_without_code_runs_on_the_host(cubes: Graph) -> None:
    executable = ash.compile(cubes)
    x = np.linspace(-2, 2, 12, dtype=np.float32).reshape(4, 3)
    (found,) = executable(x)
    np.testing.assert_allclose(found, np.cbrt(2 * x) * x, rtol=1e-6)
    reasons = {str(d.node.op.name): d.why for d in _refused(cubes) if d.node is not None}
    assert reasons["cbrt"] == "it has no native form"


def _refused(graph: Graph):
    return [d for report in run_passes(graph, PASSES).reports for d in report.refused]


def test_strict_refuses_it_by_name(cubes: Graph) -> None:
    with pytest.raises(UnsupportedError, match=r"no native form of cbrt \(1\)"):
        ash.compile(cubes, strict=True)


def test_a_kernel_with_it_is_refused_by_name(cubes: Graph) -> None:
    with pytest.raises(MissingRuleError, match="the op has no lowering rule\nfix: write the") as e:
        lower_region(cubes.body, cubes.facts)
    assert (e.value.op, e.value.rule) == ("cbrt", "lowering rule")
    x, out = buffer("x", f32, ["n0", "n1"]), buffer("out", f32, ["n0", "n1"], written=True)
    made = kernel([x, out], each(put(out, ["t", "j"], op("cbrt", at(x, "t", "j")))))
    with pytest.raises(MissingRuleError, match="kernel 'cbrt' does not compile") as e:
        emit_kernel(made, HOST)
    assert (e.value.op, e.value.rule) == ("cbrt", "generator")
