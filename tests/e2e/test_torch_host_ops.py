"""Ops of torch at sizes that were not captured, 0 and 1 among them, against eager.

Each case says which ops are left to torch's own kernels: none where the table has the op, or torch
decomposes it into those that the table has. A form of ours may take the place of a host op at any
time, so the test asserts that no others are.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch._higher_order_ops.map import map as torch_map
from torch.nn import functional as fn

import anyshape as ash
from anyshape.base.errors import AnyshapeError
from anyshape.ops.torch_call import TorchCallAttrs

pytestmark = pytest.mark.filterwarnings("ignore")  # that torch computes is said; torch warns, too

Make = Callable[[int, int], Any]
SIZES = ((4, 6), (1, 1), (0, 5), (7, 11), (2, 1))


def floats(n: int, m: int) -> Any:
    return torch.randn(n, m)


def rows(n: int, m: int) -> Any:
    """Never none: eager mode cannot transform them."""
    return torch.randn(max(n, 1), m)


def integers(n: int, m: int) -> Any:
    return torch.randint(0, 5, (n, m))


def images(n: int, m: int) -> Any:
    return torch.randn(n, 4, 8, m + 3)


def symmetric(x: Any) -> Any:
    return x @ x.mT + 4 * torch.eye(x.shape[0])


def _written_with_gaps(x: Any) -> Any:
    y = x.clone()
    y[:, ::2] = 0.5
    return y


@dataclass(frozen=True)
class Case:
    name: str
    function: Callable[[Any], Any]
    host: frozenset[str]  # what torch computes, without `aten.`
    make: Make = floats


def case(name: str, function: Callable[[Any], Any], *host: str, make: Make = floats) -> Case:
    return Case(name, function, frozenset(host), make)


def _weighted(x: Any) -> Any:
    """Never of nothing: torch gives integers there, whatever the weights are."""
    index = torch.cat([x.flatten(), torch.tensor([1])])
    return torch.bincount(index, index.half()), torch.bincount(index, index.float())


def _first_columns(x: Any) -> Any:
    count = x[0, 0].item()
    torch._check(count >= 0)
    torch._check(count <= x.shape[1])
    return x[:, :count] * 2, torch.zeros(count, 2), torch.arange(count)


CASES = (
    case("cummax", lambda x: x.cummax(1), "cummax.default"),
    case("cumprod", lambda x: x.cumprod(0), "cumprod.default"),
    case("logcumsumexp", lambda x: x.logcumsumexp(1), "logcumsumexp.default"),
    case("kthvalue", lambda x: x.kthvalue(1, 1), "kthvalue.default"),
    case("median", lambda x: x.median(1), "median.dim"),
    case("nanmedian", lambda x: x.nanmedian(), "nanmedian.default"),
    case("median of all", lambda x: x.median() + x.log().median(), "median.default"),
    case("mode", lambda x: x.mode(1), "mode.default", make=integers),
    case("var_mean", lambda x: torch.var_mean(x, 1), "var_mean.dim"),
    case("atan2", lambda x: torch.atan2(x, x + 1), "atan2.default"),
    case("hypot", lambda x: torch.hypot(x, x - 1), "hypot.default"),
    case("copysign", lambda x: torch.copysign(x.abs(), x), "copysign.Tensor"),
    case("round", lambda x: x.round(decimals=1), "round.decimals"),
    case("shifts", lambda x: (x << 2) + (x >> 1), "__lshift__.Scalar", "__rshift__.Scalar",
         make=integers),
    case("special", lambda x: torch.special.i0(x) + torch.lgamma(x), "special_i0.default",
         "lgamma.default"),
    case("erfinv", lambda x: torch.erfinv(x.tanh()), "erfinv.default"),
    case("renorm", lambda x: x.renorm(2, 0, 1.0)),
    case("histc", lambda x: torch.histc(x, 5, -1, 1)),
    case("count_nonzero", lambda x: x.count_nonzero(1), make=integers),
    case("isin", lambda x: torch.isin(x, torch.tensor([1, 3])), "isin.Tensor_Tensor",
         make=integers),
    case("bucketize", lambda x: torch.bucketize(x, torch.tensor([-1.0, 0.0])), "bucketize.Tensor"),
    case("searchsorted", lambda x: torch.searchsorted(x.sort(1)[0], x), "searchsorted.Tensor"),
    case("masked_select", lambda x: x.masked_select(x > 0) * 2),
    case("masked_scatter", lambda x: x.masked_scatter(x > 0, x + 1), "masked_scatter.default"),
    case("unique", lambda x: torch.unique(x, return_counts=True, return_inverse=True),
         make=integers),
    case("unique floats", torch.unique),
    case("unique rows", lambda x: torch.unique(x, dim=0), "unique_dim.default", make=integers),
    case("unique_consecutive", lambda x: torch.unique_consecutive(x, return_counts=True),
         make=integers),
    case("bincount", lambda x: torch.bincount(x.flatten(), minlength=3) + 1, make=integers),
    case("weighted bincount", _weighted, make=integers),
    case("repeat_interleave", lambda x: x.flatten().repeat_interleave(x.flatten()), make=integers),
    case("rows by a mask", lambda x: x[x[:, 0] > 0] + x[x[:, 0] > 0].sum(0)),
    case("rows written by a mask", lambda x: x.index_put((x[:, 0] > 0,), torch.ones(5)[:1])),
    case("a size of data", _first_columns, make=integers),
    case("one_hot", lambda x: fn.one_hot(x, 7), "one_hot.default", make=integers),
    case("scatter_reduce", lambda x: torch.zeros(x.shape[0], 5).scatter_reduce(
        1, x, x.float(), "amax"), "scatter_reduce.two", make=integers),
    case("diagonal", lambda x: x.diagonal() * 2, "diagonal.default"),
    case("unfold", lambda x: x.unfold(1, 1, 1) * 2, "unfold.default"),
    case("view of another dtype", lambda x: x.view(torch.int32) + 1, "view.dtype"),
    case("as_strided", lambda x: (x + 1).as_strided((1,), (1,)), "as_strided.default"),
    case("arange", lambda x: torch.arange(0, x.shape[1], 0.5), "arange.start_step"),
    case("cdist", lambda x: torch.cdist(x, x + 1), "cdist.default"),
    case("cov", torch.cov, "cov.default"),
    case("cov of one row", lambda x: torch.cov(x[0], correction=0), "cov.default"),
    case("corrcoef", torch.corrcoef, "corrcoef.default"),
    case("kron", lambda x: torch.kron(x, x + 1) * 2, "kron.default"),
    case("kron of other ranks", lambda x: torch.kron(x[0], x), "kron.default"),
    case("kron of constants", lambda x: x * torch.kron(
        torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])).sum().item(), "kron.default"),
    case("multi_dot", lambda x: torch.linalg.multi_dot([x, x.mT, x]), "linalg_multi_dot.default"),
    case("multi_dot of vectors", lambda x: torch.linalg.multi_dot([x[0], x.mT, x, x[0]]),
         "linalg_multi_dot.default"),
    case("take_along_dim", lambda x: torch.take_along_dim(x, x.argsort(1), 1),
         "take_along_dim.default"),
    case("take_along_dim of one", lambda x: x.take_along_dim(x.argmax(1, True), -1),
         "take_along_dim.default"),
    case("take_along_dim of all", lambda x: x.take_along_dim(x.argsort(1)),
         "take_along_dim.default"),
    case("combinations", lambda x: torch.combinations(x[:, 0]), "combinations.default"),
    case("combinations with replacement", lambda x: torch.combinations(x[:, 0], 3, True),
         "combinations.default"),
    case("vander", lambda x: torch.vander(x[:, 0], increasing=True), "vander.default"),
    case("histogram", lambda x: torch.histogram(x, 5), "histogram.bin_ct"),
    case("kernel of any width", lambda x: fn.conv1d(
        torch.ones(1, 1, 20), x.sum(0)[None, None]), "conv1d.default"),
    case("fully masked softmax", lambda x: torch.ops.aten._safe_softmax.default(
        x.masked_fill(x < 0.5, -torch.inf), 1)),
    case("slice_scatter", lambda x: x.slice_scatter(x[:, 1:] * 2, 1, 0, x.shape[1] - 1)),
    case("slice_scatter of another size", lambda x: x.slice_scatter(x[:, 1:] * 2, 1, 0, 5)),
    case("pdist", fn.pdist, "_pdist_forward.default", "pdist.default"),
    case("embedding_bag", lambda x: fn.embedding_bag(x, torch.ones(5, 3)),
         "embedding_bag.padding_idx", "arange.start_step", make=integers),
    case("qr", lambda x: torch.linalg.qr(x)[1].abs(), "linalg_qr.default"),
    case("inv", lambda x: torch.linalg.inv(symmetric(x)), "linalg_inv.default"),
    case("cholesky", lambda x: torch.linalg.cholesky(symmetric(x)), "linalg_cholesky.default"),
    case("svd", torch.linalg.svdvals, "linalg_svdvals.default"),
    case("det", lambda x: torch.linalg.det(symmetric(x)), "linalg_det.default"),
    case("rfft", lambda x: torch.fft.rfft(x, dim=1).abs(), "fft_rfft.default", "abs.default",
         make=rows),
    case("irfft", lambda x: torch.fft.irfft(torch.fft.rfft(x, dim=1), dim=1), "fft_rfft.default",
         "fft_irfft.default", make=rows),
    case("fft of complex", lambda x: torch.fft.fft(torch.fft.fft(x), dim=0).real,
         "fft_fft.default"),
    case("a complex result", torch.fft.fft, "fft_fft.default", make=rows),
    case("polar", lambda x: torch.view_as_real(torch.polar(x.abs(), x) * torch.polar(x, x))),
    case("parts", lambda x: torch.complex(x, torch.ones(1, 1)).imag * torch.complex(x, x).real),
    case("movement of complex", lambda x: torch.view_as_real(
        torch.polar(x, x).unsqueeze(-1).transpose(0, -1)[:, 1:].permute(2, 1, 0)
        .expand(-1, -1, 2).reshape(x.shape[0], -2 + x.shape[1] * 2).clone().unsqueeze(1)
        .select(1, 0))),
    case("complex times real", lambda x: torch.view_as_real(torch.polar(x, x) * 2)),
    case("complex times reals", lambda x: torch.view_as_real(x[:1] * torch.polar(x, x))),
    case("complex times imaginary", lambda x: torch.view_as_real(torch.polar(x, x) * 2j),
         "mul.Tensor"),
    case("complex on its device", lambda x: torch.view_as_real(torch.polar(x, x).to(x.device))),
    case("more precise complex", lambda x: torch.view_as_real(
        torch.polar(x, x).to(torch.complex128)
    )),
    case("item", lambda x: x * x.argmax().item()),
    case("negative item", lambda x: x + x[0, 0].to(torch.int64).sub(5).item()),
    case("write to a slice with gaps", _written_with_gaps, "slice_scatter.default"),
    case("max_pool", lambda x: fn.max_pool2d(x, 2), "max_pool2d.default", make=images),
    case("max_pool with indices", lambda x: fn.max_pool2d(x, 2, return_indices=True),
         "max_pool2d_with_indices.default", make=images),
    case("avg_pool", lambda x: fn.avg_pool2d(x, 2), "avg_pool2d.default", make=images),
    case("adaptive_avg_pool", lambda x: fn.adaptive_avg_pool2d(x, (2, 3)),
         "adaptive_avg_pool2d.default", make=images),
    case("adaptive_max_pool", lambda x: fn.adaptive_max_pool2d(x, (2, 3)),
         "adaptive_max_pool2d.default", make=images),
    case("nearest", lambda x: fn.interpolate(x, scale_factor=2), "upsample_nearest2d.vec",
         make=images),
    case("bilinear", lambda x: fn.interpolate(x, scale_factor=1.5, mode="bilinear"),
         "upsample_bilinear2d.vec", make=images),
    case("bicubic", lambda x: fn.interpolate(x, size=(5, 6), mode="bicubic"), make=images),
    case("area", lambda x: fn.interpolate(x, size=(5, 6), mode="area"),
         "adaptive_avg_pool2d.default", make=images),
    case("group_norm", lambda x: fn.group_norm(x, 2), "group_norm.default", make=images),
    case("instance_norm", fn.instance_norm, "instance_norm.default", make=images),
    case("grid_sample", lambda x: fn.grid_sample(
        x, x.permute(0, 2, 3, 1)[..., :2].tanh(), align_corners=False),
        "grid_sampler.default", make=images),
    case("pad by less than nothing", lambda x: fn.pad(x, (-1, 1)), "constant_pad_nd.default",
         make=images),
    case("reflection", lambda x: fn.pad(x, (1, 1, 1, 1), mode="reflect"), make=images),
)  # fmt: skip


class Calls(torch.nn.Module):
    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


def compiled(function: Callable[[Any], Any], x: Any, **options: Any) -> Any:
    axes = {3: "n", 5: "m", 8: None}  # of `floats`, and the last axis of `images`
    names = tuple(axes.get(size) for size in x.shape[:-1])
    return ash.compile(Calls(function), (x,), axes={"x": (*names, "m")}, **options)


def flat(results: Any) -> Iterator[Any]:
    if isinstance(results, (tuple, list)):
        for item in results:
            yield from flat(item)
    else:
        yield results


def host_ops(model: Any) -> set[str]:
    attrs = (node.attrs for node in model.executable.source.nodes())
    return {a.target.removeprefix("aten.") for a in attrs if isinstance(a, TorchCallAttrs)}


def assert_same(ours: Any, theirs: Any) -> None:
    for found, wanted in zip(flat(ours), flat(theirs), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4, equal_nan=True)


def assert_like_eager(model: Any, function: Callable[[Any], Any], x: Any) -> None:
    try:
        wanted = function(x)
    except (RuntimeError, IndexError):  # torch refuses these sizes: so do we
        with pytest.raises(AnyshapeError):
            model(x)
        return
    assert_same(model(x), wanted)


@pytest.mark.parametrize("each", CASES, ids=lambda each: each.name)
def test_ops_at_other_sizes(each: Case) -> None:
    torch.manual_seed(0)
    model = compiled(each.function, each.make(3, 5), executor="reference")
    assert host_ops(model) <= each.host
    for sizes in SIZES:
        assert_like_eager(model, each.function, each.make(*sizes))


NATIVE = (
    "mode",
    "unique",
    "rfft",
    "item",
    "bincount",
    "negative item",
    "a size of data",
    "rows by a mask",
    "repeat_interleave",
    "unique_consecutive",
    "a complex result",
    "qr",
)


@pytest.mark.parametrize(
    "each", [each for each in CASES if each.name in NATIVE], ids=lambda each: each.name
)
def test_ops_between_native_code(each: Case) -> None:
    def function(x: Any) -> Any:
        return [found * 2 + 1 for found in flat(each.function(x * 2))]

    model = compiled(function, each.make(3, 5))
    for sizes in SIZES:
        assert_like_eager(model, function, each.make(*sizes))


@pytest.mark.parametrize("executor", ["native", "reference"])
def test_transforms_of_no_rows_are_none(executor: Any) -> None:
    """Where MKL fails, and NumPy gives this."""
    model = compiled(lambda x: (torch.fft.fft(x), torch.fft.rfft(x)), rows(3, 5), executor=executor)
    assert_same(model(floats(0, 6)), [torch.zeros(0, size, dtype=torch.cfloat) for size in (6, 4)])


def test_numpy_in_numpy_out() -> None:
    model = compiled(torch.fft.fft, floats(3, 5))
    x = np.random.default_rng(0).standard_normal((2, 7)).astype(np.float32)
    found = model(x)
    assert found.dtype == np.complex64
    np.testing.assert_allclose(found, np.fft.fft(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_complex_inputs(dtype: Any) -> None:
    model = compiled(lambda x: (x * x.mT[0, 0]).abs(), floats(3, 5).to(dtype))
    for x in (torch.randn(2, 9, dtype=dtype), torch.randn(4, 2, dtype=dtype).mT.conj()):
        wanted = (x * x.mT[0, 0]).abs()
        assert_same(model(x), wanted)
        np.testing.assert_allclose(model(x.resolve_conj().numpy()), wanted.numpy(), rtol=1e-4)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_other_floats(dtype: Any) -> None:
    model = compiled(torch.frexp, floats(3, 5).to(dtype))
    assert host_ops(model) == {"frexp.Tensor"}
    x = floats(2, 9).to(dtype)
    assert_same(model(x), torch.frexp(x))


# --- effects --------------------------------------------------------------------------------------


DRAWS: Sequence[tuple[str, Callable[[Any], Any]]] = (
    ("rand_like", lambda x: (torch.rand_like(x), torch.rand_like(x))),
    ("randn", lambda x: torch.randn(x.shape) + x),
    ("randint", lambda x: torch.randint(0, 9, x.shape)),
    ("randperm", lambda x: torch.randperm(x.shape[0])),
    ("bernoulli", lambda x: torch.bernoulli(x.sigmoid())),
    ("multinomial", lambda x: torch.multinomial(x.abs() + 0.1, 1)),
    ("normal", lambda x: torch.normal(x, x.abs())),
    ("one that nobody uses", lambda x: (torch.rand_like(x), torch.rand(3))[1]),
)


@pytest.mark.parametrize(("name", "function"), DRAWS, ids=[name for name, _ in DRAWS])
def test_draws_are_those_of_torch(name: str, function: Callable[[Any], Any]) -> None:
    model = compiled(function, floats(3, 5))
    for sizes in ((4, 6), (1, 1), (0, 5), (7, 11)):
        x = floats(*sizes)
        torch.manual_seed(5)
        wanted = function(x), torch.rand(1)
        torch.manual_seed(5)
        assert_same((model(x), torch.rand(1)), wanted)


calls: list[int] = []


@torch.library.custom_op("anyshape_tests::counted", mutates_args=())
def counted(x: torch.Tensor, by: int, scale: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
    calls.append(by)
    return x[: x.shape[0] - by].mT * scale, x.sum().reshape(1)


@counted.register_fake
def _(x: torch.Tensor, by: int, scale: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
    return x.new_empty(x.shape[1], x.shape[0] - by), x.new_empty(1)


def test_a_custom_op_runs_as_often_as_it_is_called() -> None:
    def function(x: Any) -> Any:
        first, total = counted(x, 1)
        second, _ = counted(x, 1)
        return first + second + counted(x, 0, 0.5)[0][:, 1:], total

    model = compiled(function, floats(3, 5))
    for sizes in ((4, 6), (1, 1), (2, 0), (7, 11)):
        x = floats(*sizes)
        wanted = function(x)
        calls.clear()
        assert_same(model(x), wanted)
        assert calls == [1, 1, 0]


seen: list[int] = []


@torch.library.custom_op("anyshape_tests::remembered", mutates_args=())
def remembered(x: torch.Tensor) -> torch.Tensor:
    seen.append(x.data_ptr())
    return x + 1


@remembered.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


@torch.library.custom_op("anyshape_tests::positive", mutates_args=())
def positive(x: torch.Tensor) -> list[torch.Tensor]:
    return [x[x > 0], (x > 0).nonzero()]


@positive.register_fake
def _(x: torch.Tensor) -> list[torch.Tensor]:
    size = torch.library.get_ctx().new_dynamic_size()
    return [x.new_empty(size), x.new_empty(size, x.dim(), dtype=torch.int64)]


@torch.library.custom_op("anyshape_tests::middle", mutates_args=())
def middle(x: torch.Tensor, low: torch.Tensor | None, at: list[int]) -> int:
    return sum(at) - x.shape[0] + (0 if low is None else int(low[0]))


@middle.register_fake
def _(x: torch.Tensor, low: torch.Tensor | None, at: list[int]) -> int:
    return torch.library.get_ctx().new_dynamic_size(min=0, max=100)


def test_a_custom_op_gives_an_integer() -> None:
    def function(x: Any) -> Any:
        first = middle(x, None, [x.shape[0], x.shape[1]])
        return torch.zeros(first, 2), x * middle(x, x[:, 0].to(torch.int64) * 0, [20])

    model = compiled(function, floats(3, 5))
    for sizes in ((4, 6), (1, 1), (7, 11)):
        assert_like_eager(model, function, floats(*sizes))


def test_a_custom_op_decides_sizes_in_a_list() -> None:
    def function(x: Any) -> Any:
        values, indices = positive(x)
        return values * 2 + indices.sum(1), values.shape[0] + 1

    model = compiled(function, floats(3, 5))
    for sizes in SIZES:
        assert_like_eager(model, function, floats(*sizes))


@pytest.mark.parametrize("executor", ["native", "reference"])
def test_checks_of_indices_beside_effects(executor: Any) -> None:
    """Both the order of effects and what was found wrong are results of the graph."""

    def function(x: Any) -> Any:
        drawn = torch.rand_like(x.float())
        return drawn + torch.arange(5)[x], torch.unique(x)

    model = compiled(function, integers(3, 5), executor=executor)
    x = integers(2, 7)
    torch.manual_seed(5)
    wanted = function(x)
    torch.manual_seed(5)
    assert_same(model(x), wanted)
    with pytest.raises(ash.errors.IndexRangeError):
        model(x + 5)


def test_a_kernel_that_refuses_beside_checks() -> None:
    def function(x: Any) -> Any:
        product = x.float() @ x.float().T
        return torch.arange(5)[x].sum() + torch.linalg.cholesky(product).sum(), torch.rand(2)

    model = compiled(function, integers(3, 5), executor="reference")
    with pytest.raises(ash.errors.EvaluationError, match="cholesky"):
        model(integers(2, 7) * 0)


def test_integers_that_cannot_be_counted() -> None:
    """torch's refusal is a check of the graph here."""
    for executor in ("reference", "native"):
        model = compiled(
            lambda x: torch.bincount(x.flatten() - 1), integers(3, 5), executor=executor
        )
        with pytest.raises(ash.errors.IndexRangeError, match=r"bincount .*: index -1 at"):
            model(integers(2, 7) * 0)


def test_map_over_an_axis() -> None:
    def function(x: Any) -> Any:
        return torch_map(lambda row, y: (torch.frexp(row.sum())[0] * y, row + 1), x, torch.ones(1))

    model = compiled(function, floats(3, 5))
    for sizes in ((4, 6), (1, 1), (7, 11)):
        assert_like_eager(model, function, floats(*sizes))


def test_results_that_are_kept_depend_on_inputs_alone() -> None:
    with pytest.raises(ash.errors.ResultCacheError, match="rand_like"):
        compiled(torch.rand_like, floats(3, 5), result_cache=1 << 20)


# --- the graph ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["qr", "unique", "polar", "one_hot", "scatter_reduce", "item"])
def test_graphs_print_parse_and_verify(name: str) -> None:
    (each,) = (each for each in CASES if each.name == name)
    graph = compiled(each.function, each.make(3, 5), executor="reference").executable.source
    read = ash.ir.parse(graph.as_text(), graph.weights)
    assert read == graph
    ash.ir.verify(read)


def test_equal_calls_are_one_and_draws_are_not() -> None:
    model = compiled(lambda x: torch.frexp(x)[0] + torch.frexp(x)[0], floats(3, 5))
    assert model.explain().host_ops == (("aten.frexp.Tensor", 1),)
    model = compiled(lambda x: torch.rand_like(x) + torch.rand_like(x), floats(3, 5))
    assert model.explain().host_ops == (("aten.rand_like.default", 2),)


def test_calls_of_constants_are_folded_and_draws_are_not() -> None:
    model = compiled(lambda x: x + torch.frexp(torch.ones(4, 5))[0].sum(), floats(3, 5))
    assert model.explain().host_ops == ()
    model = compiled(lambda x: x + torch.bernoulli(torch.ones(2, 1) / 2).sum(), floats(3, 5))
    assert dict(model.explain().host_ops)
    assert len({float(model(torch.zeros(1, 1))) for _ in range(64)}) > 1


def test_results_share_no_memory_with_what_a_kernel_was_given() -> None:
    x = torch.zeros(4, 5)
    found = compiled(lambda x: x.view(torch.int32), floats(3, 5))(x)
    found += 1
    assert x.sum() == 0


def test_operands_are_not_copied() -> None:
    x = torch.zeros(4, 5)
    model = compiled(remembered, floats(3, 5))
    model(x)
    assert seen == [x.data_ptr()]


def test_constants_are_not_written_and_not_copied() -> None:
    """What a kernel is given is read-only here, of which torch would warn."""

    class Adds(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("table", torch.randn(40, 5))

        def forward(self, x: Any) -> Any:
            return x + remembered(self.table).sum(0)

    module = Adds()
    model = ash.compile(module, (floats(3, 5),), axes={"x": ("n", None)})
    seen.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            assert_same(model(floats(2, 5) * 0), module(floats(2, 5) * 0))
    assert seen[0] == seen[2]  # between them are eager's calls


def test_explain_names_the_ops_of_torch() -> None:
    text = str(compiled(lambda x: torch.frexp(x)[0] * 2, floats(3, 5)).explain())
    assert "on the host\n  aten.frexp.Tensor: 1" in text


def test_known_ops_of_a_program_that_torch_decomposes_stay_whole() -> None:
    """Only what the table lacks is decomposed, and the number of ops stays what it was."""

    class Normal(torch.nn.LayerNorm):
        def forward(self, input: Any) -> Any:
            return super().forward(input).softmax(-1).renorm(2, 0, 1.0)

    axes = {"input": ("n", None)}
    model = ash.compile(Normal(5), (floats(3, 5),), axes=axes, executor="reference")
    names = [node.op.name for node in model.executable.source.nodes()]
    assert "layer_norm" in names
    assert "softmax" in names
