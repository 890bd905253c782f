"""The text of a kernel is the key of its code: it tells apart whatever code may depend on."""

from dataclasses import replace

import pytest
from tests.unit.codegen import matrix
from tests.unit.codegen.emit import examples
from tests.unit.loop.mutations import mutations

from anyshape.families.lower import lower_region
from anyshape.ir.types import f32
from anyshape.loop import Kernel
from anyshape.loop.printer import kernel_text
from anyshape.sym import Axis, Dim, Facts, Less
from anyshape.sym.facts import Fact, Origin


def with_facts() -> Kernel:
    axes = (Axis("n0", min=1, max=9), Axis("n1", multiple_of=4))
    facts = (Fact(Less(Dim.of("n0"), Dim.of("n1")), Origin.OP, "split", "model.py:3"),)
    return replace(examples.five_ops_kernel(), facts=Facts(axes, facts))


KERNELS = {
    **examples.ALL,
    "facts": with_facts(),
    "workspace": examples.workspace_kernel(),
    "matrix": lower_region(matrix.plain.graph.body, matrix.plain.graph.facts).kernel,
}


@pytest.mark.parametrize("name", KERNELS)
def test_every_field_is_in_the_text(name: str) -> None:
    text = kernel_text(KERNELS[name])
    count = 0
    for place, changed in mutations(KERNELS[name]):
        assert kernel_text(changed) != text, place
        count += 1
    assert count > 10


def test_provenance_is_not() -> None:
    kernel = with_facts()
    elsewhere = Fact(kernel.facts.facts[0].predicate, Origin.USER, "n0 < n1", "other.py:1")
    other = replace(kernel, facts=replace(kernel.facts, facts=(elsewhere,)))
    assert kernel_text(other) == kernel_text(kernel)


def test_text() -> None:
    assert kernel_text(examples.reduce_kernel("add", f32)) == (
        "kernel (n0, n1; x: f32[n0, n1], out: f32[n0] written) tasks t < n0 {\n"
        "  for j < n1 vector with total: f32 add {\n"
        "    total <- x[t, j]\n"
        "  }\n"
        "  out[t] = total\n"
        "}\n"
    )
