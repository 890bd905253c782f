"""Buffers and types whose sizes are provably equal share what they can."""

from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.execute import compile_graph
from anyshape.plan.equal_sizes import one_dim_each
from anyshape.sym import Dim, Fact, Facts, parse_predicate

GROUPS = Facts((), (Fact(parse_predicate("a*b == c*d")),))


def test_products_that_a_fact_makes_equal_are_one_dim() -> None:
    sizes = {n: Dim.of(text) for n, text in enumerate(["4*a*b", "4*c*d", "a*b", "4*n", "8*c*d"])}
    found = [str(size) for size in one_dim_each(sizes, GROUPS).values()]
    assert found == ["4*a*b", "4*a*b", "a*b", "4*n", "8*c*d"]
    assert one_dim_each(sizes, Facts()) == sizes


@ash.jit(where="a*b == c*d")
def regrouped(x: ash.f32["a", "b"], z: ash.f32["c", "d"]):
    """The softmax over other rows is written over the one before it."""
    grouped = ash.softmax(x, axis=-1).reshape(z.shape[0], z.shape[1])
    return ash.softmax(ash.softmax(grouped, axis=-1) + z, axis=0)


def test_buffers_of_equal_products_are_written_in_place() -> None:
    executable = compile_graph(regrouped.graph)
    memory = executable.specialize(a=8, b=6, c=4, d=12).memory()
    assert "in place 192 B" in str(memory)
    rng = np.random.default_rng(0)
    x, z = (rng.normal(size=shape).astype(np.float32) for shape in ((8, 6), (4, 12)))
    reference = compile_graph(regrouped.graph, executor="reference")
    np.testing.assert_allclose(executable(x, z)[0], reference(x, z)[0], rtol=1e-5)


@pytest.mark.parametrize("where", ["p == a*b", "a*b == p"])
def test_groups_through_reshape_are_one_size(where: str) -> None:
    def flat(x: Any, y: Any) -> Any:
        return x.reshape(x.shape[0] * x.shape[1]) + y

    flat.__annotations__.update(x=ash.f32["a", "b"], y=ash.f32["p"])
    executable = ash.jit(where=where)(flat).executable
    assert [str(type_) for type_ in executable.graph.body.params] == ["f32[a, b]", "f32[a*b]"]


def test_reshape_to_products_needs_no_fact() -> None:
    @ash.jit
    def grouped(x: ash.f32["a", "b", "c", "d"]):
        a, b, c, d = x.shape
        return x.reshape(a * b, c * d).reshape(a, b, c * d).reshape(a, b, c, d) + x

    assert not grouped.graph.facts.facts
    assert len(grouped.executable.kernels) == 1
    assert "reshape" not in grouped.executable.as_text()


def test_windows_of_stride_1_with_equal_padding_keep_the_size() -> None:
    torch = pytest.importorskip("torch")

    class Same(torch.nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.narrow = torch.nn.Conv1d(8, 8, 3, padding=1)
            self.wide = torch.nn.Conv2d(3, 8, 5, padding="same")

        def forward(self, x: Any, image: Any) -> Any:
            padded = torch.nn.functional.pad(x, (0, 0, 1, 1))
            return self.narrow(x) + x, padded, self.wide(image)

    example = torch.zeros(2, 8, 16), torch.zeros(2, 3, 16, 20)
    axes = {"x": ("b", None, "n"), "image": ("b", None, "h", "w")}
    source = ash.compile(Same().eval(), example, axes=axes).executable.source
    types = [str(type_) for type_ in source.body.result_types]
    assert types == ["f32[b, 8, n]", "f32[b, 10, n]", "f32[b, 8, h, w]"]
