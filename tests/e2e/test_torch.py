"""PyTorch modules and exported programs: called like the original, at any size."""

from __future__ import annotations

import copy
import dataclasses
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest
import torch
from tests.watchdog import HANGS_AFTER

import anyshape as ash
from anyshape.base.errors import FactViolationError

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns of its own parts

BATCHES = [(2, 5), (1, 1), (0, 3), (7, 33)]


def compiled(module: Any, *inputs: Any, **options: Any) -> Any:
    return ash.compile(module.eval(), inputs, **options)


def close(found: Any, wanted: Any) -> None:
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


class Everything(torch.nn.Module):
    """Containers in and out, a constant argument, a size and None among the results."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)

    def forward(self, x: Any, pair: Any, *, scale: float = 1.0, mask: Any = None) -> Any:
        first, second = pair["first"], pair["second"]
        y = self.layer(x) * scale + first - second
        y = y if mask is None else y.masked_fill(mask, 0.0)
        return {"y": y, "sizes": (x.shape[1], None), "flat": y.reshape(-1, 8)}


def everything(batch: int, seq: int) -> tuple[Any, Any]:
    x, first, second = (torch.randn(batch, seq, 8) for _ in range(3))
    mask = torch.rand(batch, seq, 1) > 0.5
    return (x, {"first": first, "second": second}), {"scale": 0.5, "mask": mask}


PLACES = ("batch", "seq", None)
NAMED = {"x": PLACES, "pair": {"first": PLACES, "second": PLACES}, "mask": PLACES}


def test_called_like_the_module() -> None:
    torch.manual_seed(0)
    module = Everything().eval()
    args, kwargs = everything(1, 1)
    fast = ash.compile(module, args, kwargs, axes=NAMED)
    assert [axis.name for axis in fast.axes] == ["batch", "seq"]
    for sizes in BATCHES:
        args, kwargs = everything(*sizes)
        with torch.no_grad():
            wanted = module(*args, **kwargs)
        found = fast(*args, **kwargs)
        assert found["sizes"] == wanted["sizes"]
        close(found["y"], wanted["y"])
        close(found["flat"], wanted["flat"])
    assert fast.specialize(batch=3, seq=4) is not None
    assert "kernels" in str(fast.explain(batch=3, seq=4))


def test_a_compiled_module_holds_an_executable() -> None:
    """Its arguments are the model's; those of the graph are its Executable's."""
    module = torch.nn.Linear(8, 4).eval()
    fast = ash.compile(module, (torch.zeros(1, 8),), axes={"input": ("n", None)})
    assert isinstance(fast, ash.CompiledModule)
    assert not isinstance(fast, ash.Executable)
    assert not hasattr(fast, "run")
    x = torch.randn(3, 8)
    (result,) = fast.executable.run((x.numpy(),))
    assert np.array_equal(result, fast(input=x).numpy())
    assert fast.metrics().runs == fast.executable.metrics().runs == 2
    assert [step.name for step in fast.steps(x)]


def test_what_every_executable_says_a_compiled_module_says() -> None:
    module = torch.nn.Linear(8, 4).eval()
    fast = ash.compile(module, (torch.zeros(1, 8),), axes={"input": ("n", None)})
    assert [axis.name for axis in fast.axes] == ["n"]
    assert len(fast.pre_specialize([{"n": 2}, {"n": 3}])) == 2
    background = fast.pre_specialize([{"n": 4}], background=True)
    background.wait()
    assert fast.memory().specializations == fast.executable.memory().specializations > 0
    fast.reserve(n=2)
    fast.trim()
    assert fast.memory().specializations == 0
    assert fast.capabilities is fast.executable.capabilities
    assert fast.kernels == fast.executable.kernels
    assert fast.as_text() == fast.executable.graph.as_text()
    fast.specialize(n=2)
    assert str(fast.explain(n=2)) == str(fast.executable.explain(n=2))


def test_numpy_in_numpy_out() -> None:
    module = torch.nn.Linear(8, 4).eval()
    fast = ash.compile(module, (np.zeros((1, 8), np.float32),), axes={"input": ("n", None)})
    x = np.random.default_rng(0).standard_normal((5, 8)).astype(np.float32)
    found = fast(x)
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found, module(torch.from_numpy(x)).detach().numpy(), rtol=1e-5)


class Collecting(torch.nn.Module):
    def forward(self, x: Any, *rest: Any, scale: float = 1.0, **others: Any) -> Any:
        return (x + sum(rest)) * scale - others["less"]


def test_arguments_that_a_model_collects() -> None:
    rows = ("n", None)
    axes = {"x": rows, "rest": (rows, rows), "less": rows}
    x, *more, less = (torch.randn(3, 4) for _ in range(4))
    fast = ash.compile(Collecting(), (x, *more), {"less": less, "scale": 2.0}, axes=axes)
    x, *more, less = (torch.randn(5, 4) for _ in range(4))
    found = fast(x, *more, scale=2.0, less=less)
    close(found, Collecting()(x, *more, scale=2.0, less=less))


@dataclasses.dataclass
class Pair:
    left: Any
    right: Any


torch.export.register_dataclass(Pair)


class Containers(torch.nn.Module):
    def forward(self, named: Any, pair: Any) -> Any:
        return Pair(named["a"] - named["b"], pair.left * pair.right)


def test_dicts_in_any_order_and_dataclasses() -> None:
    a, b = torch.randn(3, 4), torch.randn(3, 4)
    rows = ("n", None)
    axes = {"named": {"a": rows, "b": rows}, "pair": Pair(rows, rows)}
    fast = ash.compile(Containers(), ({"b": b, "a": a}, Pair(a, b)), axes=axes)
    a, b = torch.randn(5, 4), torch.randn(5, 4)
    for named in ({"a": a, "b": b}, {"b": b, "a": a}):
        found, wanted = (each(named, Pair(a, b)) for each in (fast, Containers()))
        assert isinstance(found, Pair)
        close(found.left, wanted.left)
        close(found.right, wanted.right)


@pytest.mark.parametrize(("rank", "padding"), [(2, "valid"), (3, "valid"), (2, "same")])
def test_padding_by_name(rank: int, padding: str) -> None:
    kind = {2: torch.nn.Conv2d, 3: torch.nn.Conv3d}[rank]
    module = kind(2, 3, 3, padding=padding)
    sizes = (6,) * rank
    names = ("n", *(None,) * (rank + 1))
    fast = compiled(module, torch.zeros(2, 2, *sizes), axes={"input": names})
    x = torch.randn(3, 2, *sizes)
    close(fast(x), module(x).detach())


class Counting(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(1, dtype=torch.int64))
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x: Any) -> Any:
        self.calls += 1
        self.total.copy_(self.total + x.sum(0))
        return x + self.total


def test_buffers_that_a_model_updates_are_state() -> None:
    module = Counting().eval()
    fast = compiled(Counting(), torch.zeros(2, 3), axes={"x": ("n", None)})
    for n in (4, 1, 0, 6):
        x = torch.randn(n, 3)
        close(fast(x), module(x))
    assert fast.state["calls"].tolist() == [4]
    np.testing.assert_allclose(fast.state["total"], module.total.numpy(), rtol=1e-5)


class InPlace(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        x.mul_(2)
        y = x[1:]
        y += 1
        return x.sum(0)


def test_inputs_that_a_model_writes_into() -> None:
    fast = compiled(InPlace(), torch.zeros(4, 3), axes={"x": (ash.Axis("n", min=1), None)})
    for n in (3, 1, 8):
        ours = torch.randn(n, 3)
        theirs = ours.clone()
        close(fast(ours), InPlace()(theirs))
        close(ours, theirs)


class Control(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        branch = torch.cond(x.sum() > 0, lambda v: v + 1, lambda v: v * 2, (x,))
        count = torch._higher_order_ops.while_loop(
            lambda i, v: i < 3, lambda i, v: (i + 1, v * 0.5), (torch.tensor(0), branch)
        )
        last, sums = torch._higher_order_ops.scan(
            lambda carry, row: (carry + row, carry * 1.0), torch.zeros(3), x
        )
        return count[1], last, sums


@pytest.mark.parametrize("sign", [1, -1])
def test_control_flow(sign: int) -> None:
    fast = compiled(Control(), torch.zeros(4, 3), axes={"x": ("n", None)}, executor="reference")
    for n in (1, 2, 5):
        x = torch.rand(n, 3) * sign
        for found, wanted in zip(fast(x), Control()(x), strict=True):
            close(found, wanted)


# --- conditions on sizes --------------------------------------------------------------------------


class Branching(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return x * 2 if x.shape[0] > 3 else x


def test_a_branch_on_sizes_is_checked_by_each_call() -> None:
    fast = compiled(Branching(), torch.zeros(3, 2), axes={"x": ("n", None)}, branches=1)
    x = torch.randn(2, 2)
    close(fast(x), Branching()(x))
    with pytest.raises(FactViolationError, match="the model's code was captured for this case"):
        fast(torch.randn(4, 2))


class Indifferent(torch.nn.Module):
    def forward(self, x: Any, mask: Any) -> Any:
        causal = x.shape[-2] > 1 and mask is None
        return torch.nn.functional.scaled_dot_product_attention(x, x, x, mask, is_causal=causal)


def test_a_condition_that_makes_no_difference_is_none() -> None:
    module = Indifferent()
    x, mask = torch.zeros(1, 2, 1, 8), torch.ones(1, 1, 1, 1, dtype=torch.bool)
    axes = {"x": ("batch", None, "seq", None), "mask": ("batch", None, "seq", "seq")}
    fast = compiled(module, x, mask, axes=axes)
    for batch, seq in ((2, 5), (1, 1), (3, 17)):
        x, mask = torch.randn(batch, 2, seq, 8), torch.rand(batch, 1, seq, seq) > 0.3
        mask |= torch.eye(seq, dtype=torch.bool)
        close(fast(x, mask), module(x, mask))


def test_expressions_over_axes() -> None:
    class Join(torch.nn.Module):
        def forward(self, past: Any, new: Any, mask: Any) -> Any:
            return torch.cat([past, new], 1) * mask

    places = {"past": ("b", "past"), "new": ("b", "seq"), "mask": ("b", "past + seq")}
    fast = compiled(Join(), torch.zeros(1, 1), torch.zeros(1, 1), torch.zeros(1, 2), axes=places)
    assert [axis.name for axis in fast.axes] == ["b", "past", "seq"]
    for past, seq in ((0, 1), (4, 1), (3, 2)):
        given = torch.randn(2, past), torch.randn(2, seq), torch.randn(2, past + seq)
        close(fast(*given), Join()(*given))


# --- exported programs ----------------------------------------------------------------------------


def exported(module: Any, *inputs: Any, **shapes: Any) -> Any:
    with torch.no_grad():
        return torch.export.export(module.eval(), inputs, dynamic_shapes=shapes)


def test_names_and_ranges_of_an_exported_program() -> None:
    module = torch.nn.Linear(8, 4)
    rows = torch.export.Dim("rows", min=2, max=64)
    fast = ash.compile(exported(module, torch.zeros(6, 8), input={0: 2 * rows}))
    (axis,) = fast.axes
    assert (axis.name, axis.min, axis.max) == ("rows", 2, 64)
    assert str(fast.executable.source.body.params[0]) == "f32[2*rows, 8]"
    x = torch.randn(10, 8)
    close(fast(x), module(x).detach())


def test_unnamed_symbols_can_be_named() -> None:
    auto = torch.export.Dim.AUTO
    program = exported(torch.nn.Linear(8, 4), torch.zeros(6, 8), input={0: auto})
    by_place = ash.compile(program, axes={"input": ("rows", None)}, executor="reference")
    symbol = str(program.graph_signature.user_inputs[0] and next(iter(program.range_constraints)))
    by_symbol = ash.compile(program, names={symbol: "rows"}, executor="reference")
    assert [a.name for a in by_place.axes] == [a.name for a in by_symbol.axes] == ["rows"]


def test_dynamic_shapes_in_the_form_of_torch() -> None:
    module = torch.nn.Linear(8, 4).eval()
    shapes = {"input": {0: torch.export.Dim("rows", min=1, max=9)}}
    fast = ash.compile(module, (torch.zeros(3, 8),), dynamic_shapes=shapes)
    assert [(axis.name, axis.max) for axis in fast.axes] == [("rows", 9)]
    close(fast(torch.ones(5, 8)), module(torch.ones(5, 8)).detach())


class Wide(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return x * 2 if x.shape[0] % 4 != 1 else x


@pytest.mark.parametrize("saved", [False, True])
def test_conditions_of_an_exported_program(saved: bool, tmp_path: Any) -> None:
    program = exported(Wide(), torch.zeros(6, 2), x={0: torch.export.Dim.AUTO})
    if saved:
        torch.export.save(program, tmp_path / "wide.pt2")
        program = torch.export.load(tmp_path / "wide.pt2")
    fast = ash.compile(program)
    close(fast(torch.ones(8, 2)), torch.full((8, 2), 2.0))
    with pytest.raises(FactViolationError, match="% 4"):
        fast(torch.ones(9, 2))


CONVOLUTIONS: dict[str, dict[str, Any]] = {
    "whole": {"kernel_size": 3, "padding": 1},
    "per channel": {"kernel_size": 4, "padding": 3, "groups": 8},
    "in groups": {"kernel_size": 3, "stride": 2, "dilation": 2, "padding": 2, "groups": 2},
}


@pytest.mark.parametrize("form", CONVOLUTIONS)
def test_convolutions(form: str) -> None:
    torch.manual_seed(0)
    module = torch.nn.Conv1d(8, 8, **CONVOLUTIONS[form])
    fast = compiled(module, torch.zeros(2, 8, 7), axes={"input": ("n", None, "seq")})
    for batch, seq in ((2, 7), (1, 3), (0, 5), (3, 33)):
        x = torch.randn(batch, 8, seq)
        with torch.no_grad():
            close(fast(x), module(x))


def largest_errors(fast: Any, module: Any, x: Any) -> tuple[float, float]:
    """Ours and torch's, against the same weights and inputs in f64."""
    with torch.no_grad():
        own = module(x).double()
        exact = copy.deepcopy(module).double()(x.double())
    scale = 1 + exact.abs()
    ours = torch.as_tensor(np.asarray(fast(x).float())).double()
    return float(((ours - exact) / scale).abs().max()), float(((own - exact) / scale).abs().max())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("form", CONVOLUTIONS)
def test_convolutions_of_16_bits_sum_in_32(form: str, dtype: Any) -> None:
    """Many taps of like sign: sums that are rounded to 16 bits on the way are off by several."""
    torch.manual_seed(0)
    options = {**CONVOLUTIONS[form], "kernel_size": 9}
    module = torch.nn.Conv1d(8, 8, **options)
    with torch.no_grad():
        module.weight.abs_().add_(1)
    module = module.to(dtype)
    example = torch.zeros(2, 8, 29, dtype=dtype)
    fast = compiled(module, example, axes={"input": ("n", None, "seq")})
    for batch, seq in ((2, 29), (1, 20), (3, 40)):
        x = torch.rand(batch, 8, seq).to(dtype)
        assert fast(x).dtype is dtype
        ours, own = largest_errors(fast, module, x)
        assert ours <= own + torch.finfo(dtype).eps / 64


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("affine", [False, True])
def test_batch_norm_of_16_bits_computes_in_32(affine: bool, dtype: Any) -> None:
    """Far from 0 and close together: in 16 bits the difference has hardly any digits."""
    torch.manual_seed(0)
    module = torch.nn.BatchNorm1d(16, affine=affine).eval()
    with torch.no_grad():
        assert module.running_mean is not None
        assert module.running_var is not None
        module.running_mean.uniform_(60, 100)
        module.running_var.uniform_(0.01, 0.1)
        for weight in module.parameters():
            weight.uniform_(0.5, 2)
    module = module.to(dtype)
    example = torch.zeros(2, 16, 5, dtype=dtype)
    fast = compiled(module, example, axes={"input": ("n", None, "seq")})
    for batch, seq in ((2, 5), (1, 1), (3, 33)):
        x = (80 + torch.rand(batch, 16, seq)).to(dtype)
        assert fast(x).dtype is dtype
        ours, own = largest_errors(fast, module, x)
        assert ours <= own + torch.finfo(dtype).eps / 64


class Written(torch.nn.Module):
    """Elements written at pairs of indices, and at those that a mask chooses."""

    def forward(self, x: Any, rows: Any, columns: Any, values: Any) -> Any:
        pairs, added, chosen = x.clone(), x.clone(), x.clone()
        pairs[rows, columns] = values
        added.index_put_((rows, columns), values, accumulate=True)
        chosen[x > 0] = x[x > 0] * 2
        return pairs, added, chosen, x[x[:, 0] > 0, 1]


def test_writing_to_chosen_elements() -> None:
    module = Written()
    names = {"x": ("n", "m"), "rows": ("k",), "columns": ("k",), "values": ("k",)}
    inputs = torch.zeros(4, 3), *(torch.zeros(2).long(),) * 2, torch.zeros(2)
    fast = compiled(module, *inputs, axes=names)
    for n, m, k in ((4, 3, 2), (1, 2, 1), (5, 9, 0), (9, 4, 3)):
        order = torch.randperm(n * m)[:k]  # no place twice: torch does not say which one stays
        rows, columns = order // m - n, order % m  # counted from the end, and from the start
        given = torch.randn(n, m), rows, columns, torch.randn(k)
        for found, wanted in zip(fast(*given), module(*given), strict=True):
            close(found, wanted)


def test_captures_wait_for_each_other() -> None:
    """They replace functions of torch meanwhile."""
    entered, goes_on, seen = Event(), Event(), list[str]()

    class Slow(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            entered.set()
            assert goes_on.wait(HANGS_AFTER)
            seen.append("slow")
            return x + 1

    class Quick(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            seen.append("quick")
            return x + 2

    def start(module: Any) -> Thread:
        options = {"axes": {"x": ("n",)}, "executor": "reference"}
        thread = Thread(target=lambda: compiled(module, torch.zeros(3), **options))
        thread.start()
        return thread

    first = start(Slow())
    assert entered.wait(HANGS_AFTER)
    second = start(Quick())
    second.join(0.5)
    assert seen == []
    goes_on.set()
    first.join()
    second.join()
    assert seen[0] == "slow"
    assert seen[-1] == "quick"


class ReturnsWhatItWrote(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        x.add_(1)
        return x


def test_an_input_that_is_written_to_and_returned() -> None:
    """The result is in no memory but its own, unlike in eager mode."""
    fast = ash.compile(ReturnsWhatItWrote(), (torch.zeros(3),), axes={"x": ("n",)})
    x = torch.zeros(4)
    result = fast(x)
    assert torch.equal(result, torch.ones(4))
    assert torch.equal(x, torch.ones(4))
    assert result.data_ptr() != x.data_ptr()
