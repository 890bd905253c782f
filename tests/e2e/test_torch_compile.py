"""torch.compile with this backend: one graph for all sizes, breaks, changes, fallback."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional

from anyshape.api import dynamo_backend
from anyshape.api.dynamo_backend import anyshape, compiled_graphs
from anyshape.base.errors import (
    AxisDeclarationError,
    EvaluationError,
    FactViolationError,
    OptionError,
    UnsupportedModelError,
)
from anyshape.base.warnings import GradientsWarning, HostOpsWarning

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns of its own parts


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    torch._dynamo.reset()
    with torch.no_grad():
        yield


def close(found: Any, wanted: Any) -> None:
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


def compiled(module: Any, **options: Any) -> Any:
    return torch.compile(module, backend=anyshape, dynamic=True, options=options or None)


def layers() -> Any:
    torch.manual_seed(0)
    parts = torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 4)
    return torch.nn.Sequential(*parts).eval()


def test_one_graph_for_all_sizes() -> None:
    module = layers()
    fast = compiled(module)
    for batch, seq in ((3, 5), (2, 9), (11, 4)):
        x = torch.randn(batch, seq, 8)
        close(fast(x), module(x))
    (graph,) = compiled_graphs()
    assert graph.executable is not None
    assert len(graph.executable.axes) == 2
    torch._dynamo.reset()
    assert compiled_graphs() == ()


def test_parameters_are_constants_until_they_change() -> None:
    module = layers()
    fast = compiled(module)
    x = torch.randn(3, 5, 8)
    close(fast(x), module(x))
    (graph,) = compiled_graphs()
    first = graph.executable
    assert first is not None
    assert first.source.inputs == tuple(name for name in first.source.inputs)
    assert len(first.source.inputs) == 1
    close(fast(x), module(x))
    assert graph.executable is first
    module[0].weight.mul_(3)
    close(fast(x), module(x))
    assert graph.executable is not first


class Tied(torch.nn.Module):
    """Tokens in, scores of all tokens out, by one matrix."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table = torch.nn.Embedding(4099, 67)

    def forward(self, ids: Any) -> Any:
        return torch.nn.functional.linear(self.table(ids), self.table.weight)


def test_a_tied_parameter_is_held_once_until_it_changes() -> None:
    module, ids = Tied().eval(), torch.randint(0, 4099, (3, 5))
    fast = compiled(module)
    for _ in range(2):
        torch.testing.assert_close(fast(ids), module(ids), rtol=1e-4, atol=1e-4)
        (graph,) = compiled_graphs()
        assert graph.executable is not None
        assert graph.executable.memory().weights < 1.1 * module.table.weight.nbytes
        module.table.weight[:, 3:] *= -2


class Broken(torch.nn.Module):
    """A graph break, an integer argument, views and sizes among the results, a write to x."""

    def forward(self, x: Any, n: int) -> Any:
        y = torch.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)
        if y.sum() > 0:
            y = y + n
        x.add_(1)
        return y.reshape(-1), y.shape[1] * 2, y[:, :n], y.transpose(1, 2)


def test_graph_breaks_views_and_integers() -> None:
    module = Broken()
    fast = compiled(module)
    for n in (3, 5, 9):
        ours = torch.randn(n, 4, 7 + n, 8)
        theirs = ours.clone()
        found, wanted = fast(ours, n), module(theirs, n)
        assert found[1] == wanted[1]
        for left, right in zip(found[::2], wanted[::2], strict=True):
            close(left, right)
        close(found[3], wanted[3])
        close(ours, theirs)
    assert len(compiled_graphs()) >= 2


@pytest.mark.parametrize(
    "function",
    [
        lambda x, k: x * 2 + k,
        lambda x, k: x[k:] * 2,
        lambda x, k: torch.roll(x, k, 0),
        lambda x, k: x + torch.arange(x.shape[0]) * k,
    ],
    ids=["number", "bound", "distance", "factor"],
)
def test_integers_of_both_signs(function: Any) -> None:
    fast = compiled(function)
    x = torch.randn(7)
    for k in (2, -2, -3, 5, 0, -4, 1, -1, 3):
        close(fast(x, k), function(x, k))


def test_mark_dynamic_bounds_become_the_range() -> None:
    module = layers()
    x = torch.randn(4, 8)
    torch._dynamo.mark_dynamic(x, 0, min=2, max=64)
    fast = torch.compile(module, backend=anyshape)
    close(fast(x), module(x))
    (graph,) = compiled_graphs()
    assert graph.executable is not None
    assert [(axis.min, axis.max) for axis in graph.executable.axes] == [(2, 64)]


class Unitary(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.linalg.qr(x)[0].abs()


def test_torch_computes_what_has_no_form() -> None:
    fast = compiled(Unitary())
    with pytest.warns(HostOpsWarning, match="linalg_qr"):
        close(fast(torch.ones(4, 4)), torch.linalg.qr(torch.ones(4, 4))[0].abs())
    for rows, columns in ((5, 3), (2, 7), (9, 9)):
        x = torch.randn(rows, columns)
        close(fast(x), torch.linalg.qr(x)[0].abs())
    assert all(graph.executable is not None for graph in compiled_graphs())


OTHERS: dict[str, Any] = {
    "errors of an inverse are told": lambda x: torch.linalg.inv(x @ x.mT + torch.eye(x.shape[0])),
    "sizes that go through floats": lambda x: functional.interpolate(
        x[None, None], scale_factor=1.5, mode="bilinear"
    ),
    "elements of another dtype": lambda x: functional.interpolate(x[None, None], scale_factor=2),
    "less than nothing is added": lambda x: functional.pad(x, (-1, 1)),
    "what is added goes around": lambda x: functional.pad(x[None], (1, 1), mode="circular"),
    "training": lambda x: functional.dropout(x, 0.5, training=True),
    "complex numbers": lambda x: torch.fft.fft(x) * torch.polar(x.abs(), x),
    "a transposed convolution": lambda x: functional.conv_transpose1d(
        x[:, None], torch.ones(1, 2, 3)
    ),
    "a group norm": lambda x: functional.group_norm(x[:, None], 1),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_eager_does_comes_through(name: str) -> None:
    function = OTHERS[name]
    fast = compiled(function)
    for shape in ((3, 5), (4, 6), (7, 11)):
        x = torch.randn(shape)
        torch.manual_seed(3)
        wanted = function(x)
        torch.manual_seed(3)
        close(fast(x), wanted)
    assert compiled_graphs()
    assert all(graph.executable is not None for graph in compiled_graphs())


def test_a_singular_matrix_is_refused_as_torch_refuses_it() -> None:
    fast = compiled(torch.linalg.inv)
    close(fast(torch.eye(3)), torch.eye(3))
    with pytest.raises(EvaluationError, match="singular"):
        fast(torch.zeros(3, 3))


def test_strict_refuses_what_torch_would_compute() -> None:
    with pytest.raises(UnsupportedModelError, match="linalg_qr"):
        compiled(Unitary(), strict=True)(torch.randn(4, 4))


def test_fallback_only_when_told() -> None:
    x = torch.randn(4, 4)
    with pytest.raises(UnsupportedModelError, match="linalg_qr"):
        compiled(Unitary(), strict=True)(x)
    torch._dynamo.reset()
    with pytest.warns(UserWarning, match="torch runs a graph instead of anyshape"):
        close(compiled(Unitary(), strict=True, fallback=True)(x), torch.linalg.qr(x)[0].abs())


def test_graphs_that_need_gradients_are_run_by_torch() -> None:
    module = layers()
    fast = compiled(module)
    with torch.enable_grad():
        with pytest.warns(GradientsWarning, match="needs gradients") as said:
            fast(torch.ones(2, 8)).sum().backward()
        assert sum(each.category is GradientsWarning for each in said) == 1
        found = [parameter.grad.clone() for parameter in module.parameters()]
        module.zero_grad()
        module(torch.ones(2, 8)).sum().backward()
    for gradient, parameter in zip(found, module.parameters(), strict=True):
        close(gradient, parameter.grad)


def test_draws_are_those_of_torch() -> None:
    class Noisy(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x + torch.rand_like(x), torch.bernoulli(x.sigmoid()), torch.rand_like(x)

    module, fast = Noisy(), compiled(Noisy())
    for shape in ((3, 5), (2, 9)):
        x = torch.randn(shape)
        torch.manual_seed(3)
        wanted = module(x)
        torch.manual_seed(3)
        for ours, theirs in zip(fast(x), wanted, strict=True):
            close(ours, theirs)


def test_sizes_that_data_decide() -> None:
    class Counts(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            values, counts = torch.unique(x, return_counts=True)
            return values * counts, x.masked_select(x > 1) + 1

    module = Counts()
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        fast = compiled(module)
        for shape in ((3, 5), (2, 9)):
            x = torch.randint(0, 4, shape)
            for ours, theirs in zip(fast(x), module(x), strict=True):
                close(ours, theirs)


def axes_of(module: Any, *args: Any) -> list[str]:
    """The names that torch gives."""
    compiled(module)(*args)
    (graph,) = compiled_graphs()
    assert graph.executable is not None
    names = [axis.name for axis in graph.executable.axes]
    torch._dynamo.reset()
    return names


def test_what_holds_between_axes() -> None:
    module, args = torch.nn.Flatten(0), (torch.randn(4, 6),)
    first, second = axes_of(module, *args)
    fast = compiled(module, where=f"{first}*{second} == 24")
    for shape in ((4, 6), (8, 3)):
        x = torch.randn(shape)
        close(fast(x), x.flatten())
    (graph,) = compiled_graphs()
    assert graph.executable is not None
    assert [str(type_) for type_ in graph.executable.graph.body.result_types] == ["f32[24]"]
    expected = rf"'{first}\*{second} == 24' does not hold for {first}=5, {second}=5"
    with pytest.raises(FactViolationError, match=expected):
        fast(torch.randn(5, 5))


def test_an_axis_that_a_graph_does_not_have() -> None:
    x = torch.randn(4, 6)
    names = ", ".join(sorted(axes_of(torch.nn.Flatten(0), x)))
    fast = compiled(torch.nn.Flatten(0), where="rows == 4")
    with pytest.raises(AxisDeclarationError) as refused:
        fast(x)
    assert str(refused.value) == (
        "axis 'rows' is in where='rows == 4', and no input has it\n"
        f"fix: use the names of axes: {names}"
    )


def test_what_is_no_predicate_is_refused_at_once() -> None:
    graph = torch.fx.symbolic_trace(torch.nn.Identity())
    with pytest.raises(OptionError, match="where"):
        anyshape(graph, [torch.zeros(1)], options={"where": 3})


def test_unknown_options_are_refused() -> None:
    graph = torch.fx.symbolic_trace(torch.nn.Identity())
    with pytest.raises(OptionError, match="options"):
        anyshape(graph, [torch.zeros(1)], options={"speed": 11})
    with pytest.raises(OptionError, match="mode"):
        anyshape(graph, [torch.zeros(1)], mode="max-autotune")


def test_the_entry_point_is_the_backend() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    module, name = project["entry-points"]["torch_dynamo_backends"]["anyshape"].split(":")
    assert getattr(import_module(module), name) is anyshape


def test_a_graph_that_falls_back_later_has_its_new_parameters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module, x = torch.nn.Linear(8, 4).eval(), torch.randn(3, 8)
    fast = compiled(module, fallback=True)
    close(fast(x), module(x))
    assert compiled_graphs()[-1].executable is not None

    def unknown(*_: Any) -> Any:
        raise UnsupportedModelError("the model", {"aten.linear.default": [""]}, "none")

    monkeypatch.setattr(dynamo_backend, "import_fx_graph", unknown)
    module.weight.mul_(2)
    with pytest.warns(UserWarning, match="torch runs a graph instead of anyshape"):
        close(fast(x), module(x))
    assert compiled_graphs()[-1].executable is None


def grid(x: Any) -> Any:
    rows, columns = (torch.arange(size) for size in x.shape)
    first, second = torch.meshgrid(rows, columns, indexing="ij")
    return x + first * 10 + second


def identity(x: Any) -> Any:
    return torch.eye(x.shape[0]) @ x


def flat(x: Any) -> Any:
    return x.reshape(x.shape[0] * x.shape[1]), x.reshape(-1, 5)


@pytest.mark.parametrize("function", [grid, identity, flat])
@pytest.mark.parametrize("first", [0, 1, 4])
def test_sizes_0_and_1_first_and_later(function: Any, first: int) -> None:
    fast = compiled(function, executor="reference")
    for rows in (first, 0, 1, 3):
        x = torch.randn(rows, 5)
        close(fast(x), function(x))
