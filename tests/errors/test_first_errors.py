"""The mistakes of someone who has never seen this code: each message on its whole text, ending in
a line to paste."""

from __future__ import annotations

import copy
import functools
import logging
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
import torch
from tests.errors.messages import line_marked, message_of

import anyshape as ash
from anyshape.base.errors import (
    AxisDeclarationError,
    DimMismatchError,
    InputError,
    NotPicklableError,
    OptionKindError,
    TraceError,
)

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns of its own parts


line = partial(line_marked, __file__)


def capturing(module: Any, *inputs: Any, **axes: Any) -> Callable[[], object]:
    return lambda: ash.compile(module, inputs, axes=axes, executor="reference")


def ones(*shape: int) -> Any:
    return torch.ones(shape)


LAYER: Any = torch.nn.Linear(4, 4)


# --- arguments of compile -------------------------------------------------------------------------

KINDS: list[tuple[str, Any, str]] = [
    ("args", ones(3, 4), "a tuple of the example's arguments, and is a Tensor\n"
     "fix: compile(model, (x,), ...)"),
    ("kwargs", 5, "a dict of the example's arguments, and is a int\n"
     "fix: compile(model, kwargs={'x': x}, ...)"),
    ("axes", [("batch", None)], "a dict from names of inputs to names of axes, and is a list\n"
     "fix: axes={'input': ('batch', None)}"),
    ("axes", ("batch", None), "a dict from names of inputs to names of axes, and is a tuple\n"
     "fix: axes={'input': ('batch', None)}"),
    ("axes", "batch", "a dict from names of inputs to names of axes, and is a str\n"
     "fix: axes={'input': ('batch', None)}"),
    ("names", 5, "a dict from torch's symbols to names of axes, and is a int\n"
     "fix: names={'s43': 'batch'}"),
]  # fmt: skip


@pytest.mark.parametrize(("option", "value", "wanted"), KINDS)
def test_an_argument_of_another_kind(option: str, value: Any, wanted: str) -> None:
    given: Any = {"args": (ones(3, 4),), option: value}
    found = message_of(OptionKindError, lambda: ash.compile(LAYER, **given))
    assert found == f"{option} must be {wanted}"


def test_a_class_instead_of_a_model() -> None:
    assert message_of(InputError, lambda: ash.compile(torch.nn.Linear, (ones(3, 4),))) == (
        "input 'source' is the class Linear, no model\n"
        "fix: make a model of it: compile(Linear(...), args)"
    )


def test_a_function_without_a_signature() -> None:
    assert message_of(InputError, lambda: ash.compile(torch.relu, (ones(3, 4),))) == (
        "input 'source' is relu, whose parameters Python cannot tell\n"
        "fix: compile(lambda x: relu(x), args)"
    )


@pytest.mark.parametrize(
    ("make", "path", "kind"),
    [
        (lambda: torch.jit.script(LAYER), "source", "RecursiveScriptModule"),
        (lambda: torch.jit.trace(LAYER, ones(3, 4)), "source", "TopLevelTracedModule"),
        (
            lambda: torch.nn.Sequential(torch.jit.script(LAYER)),
            "source.0",
            "RecursiveScriptModule",
        ),
    ],
)
def test_scripted_modules(make: Callable[[], Any], path: str, kind: str) -> None:
    assert message_of(InputError, capturing(make(), ones(3, 4))) == (
        f"input '{path}' is a {kind} of TorchScript, whose Python code is gone\n"
        "fix: compile the module before torch.jit.script or torch.jit.trace"
    )


# --- axes -----------------------------------------------------------------------------------------


class Sum(torch.nn.Module):
    def forward(self, x: Any, y: Any) -> Any:
        return x + y  # sum


class Scaled(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(4))

    def forward(self, x: Any) -> Any:
        return x * self.scale  # scaled


def test_axes_of_an_argument_that_is_not_there() -> None:
    assert message_of(
        InputError, capturing(torch.nn.RMSNorm(4), ones(3, 4), input=("n", None))
    ) == (
        "input 'input' has axes, but the example has no such argument, only x\n"
        "fix: axes={'x': ('n', None)}"
    )
    typo = capturing(LAYER, ones(3, 4), inptu=("n", None))
    assert message_of(InputError, typo).endswith("\nfix: axes={'input': ('n', None)}")
    assert message_of(InputError, capturing(Sum(), ones(3), ones(3), mask=("n",))) == (
        "input 'mask' has axes, but the example has no such argument, only x, y\n"
        "fix: name axes of x, y"
    )


def test_an_axis_that_is_forgotten() -> None:
    assert message_of(InputError, capturing(LAYER, ones(2, 3, 4), input=("b", "s"))) == (
        "input 'input' has 2 axes in ('b', 's'), and 3 in the example\n"
        "fix: a name or None for each of [2, 3, 4]: axes={'input': ('b', 's', None), ...}"
    )


def test_axes_of_what_has_none() -> None:
    assert message_of(InputError, capturing(Sum(), ones(3), 2.0, y=("n",))) == (
        "input 'y' has axes ('n',), and is a float in the example\n"
        "fix: leave 'y' out of axes: only tensors have axes"
    )


def test_an_axis_that_a_weight_fixes() -> None:
    assert message_of(AxisDeclarationError, capturing(Scaled(), ones(3, 4), x=("n", "d"))) == (
        "axis 'd' (input 'x', axis 1) is dynamic, but weight 'scale' [4] fixes it to 4 "
        f"at {line('scaled')}: `return x * self.scale  # scaled`\n"
        "fix: pass axes={'x': ('n', None), ...}"
    )


def test_a_weight_inside_a_layer_of_torch() -> None:
    model = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(4, 7))
    text = message_of(AxisDeclarationError, capturing(model, ones(3, 4), input=("n", "d")))
    file = torch.nn.modules.linear.__file__
    begin = (
        "axis 'd' (input 'input', axis 1) is dynamic, but weight '1.weight' [7, 4] fixes it to 4"
    )
    assert text.startswith(f"{begin} at {file}:")
    assert text.endswith(
        ": `return F.linear(input, self.weight, self.bias)`\n"
        "fix: pass axes={'input': ('n', None), ...}"
    )


def test_an_input_without_axes_that_must_vary_too() -> None:
    assert message_of(
        AxisDeclarationError, capturing(Sum(), ones(3, 4), ones(3, 4), x=("n", None))
    ) == (
        "axis 'n' (input 'x', axis 0) is dynamic, but the model fixes it to 3 "
        f"at {line('sum')}: `return x + y  # sum`, and input 'y' has no name for 3 at axis 0\n"
        "fix: pass axes={'x': ('n', None), 'y': ('n', None)} if they vary together; else pass "
        "axes={'x': (None, None), ...} and size 3"
    )


# --- the model ------------------------------------------------------------------------------------


def test_batch_norm_in_training_mode() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4))
    text = message_of(TraceError, capturing(model, ones(3, 4), input=("n", None)))
    file = torch.nn.modules.batchnorm.__file__
    assert text.startswith(f"Sequential ({file}:")
    assert text.endswith("): batch norm in training mode\nfix: call model.eval() before compiling")


class Cached(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return x * _factor(x.shape[0])  # cached


@functools.lru_cache
def _factor(size: int) -> float:
    return 2.0 * size


def test_a_size_in_a_cache_of_results() -> None:
    assert message_of(TraceError, capturing(Cached(), ones(3, 4), x=("n", None))) == (
        f"Cached ({line('cached')}): its Python code looks a size up, in a dict, a set or a cache "
        "of results: `return x * _factor(x.shape[0])  # cached`\n"
        "fix: compute what is looked up with +, -, *, // and % from the size, or give None for "
        "that axis in axes="
    )


class Leaves(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.from_numpy(x.numpy() + 1)  # leaves


def test_a_model_that_computes_with_numpy() -> None:
    assert message_of(TraceError, capturing(Leaves(), ones(3, 4), x=("n", None))) == (
        f"Leaves ({line('leaves')}): its Python code leaves torch for NumPy: "
        "`return torch.from_numpy(x.numpy() + 1)  # leaves`\n"
        "fix: compute that part with torch's ops"
    )


class Truth(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return x if x else -x  # truth


def test_the_truth_of_a_tensor() -> None:
    for example in (ones(1), ones(3)):
        assert message_of(TraceError, capturing(Truth(), example, x=("n",))) == (
            f"Truth ({line('truth')}): the model's Python code needs the data of a tensor: "
            "`return x if x else -x  # truth`\n"
            "fix: choose with torch.where(condition, a, b), or with "
            "torch.cond(condition, true_fn, false_fn, operands)"
        )


@dataclass
class Pair:
    first: Any
    second: Any


class Paired(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return Pair(x, x + 1)


def test_dataclasses_that_torch_does_not_know() -> None:
    assert message_of(TraceError, capturing(Paired(), ones(3), x=("n",))) == (
        "Paired: it returns a Pair, a class that torch does not take apart\n"
        "fix: torch.export.register_dataclass(Pair), or return a tuple or a dict"
    )
    assert message_of(InputError, capturing(Paired(), Pair(ones(3), ones(3)))) == (
        "input 'x' is a Pair, a class that torch does not take apart\n"
        "fix: torch.export.register_dataclass(Pair)"
    )


def test_a_cache_that_torch_does_not_know() -> None:
    transformers: Any = pytest.importorskip("transformers")

    class DynamicCache(transformers.cache_utils.DynamicCache):
        """Not registered, whatever other tests have registered."""

    DynamicCache.__module__, DynamicCache.__qualname__ = "transformers.cache_utils", "DynamicCache"

    class Remembers(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x, DynamicCache()

    assert message_of(TraceError, capturing(Remembers(), ones(3), x=("n",))) == (
        "Remembers: it returns a DynamicCache, a class that torch does not take apart\n"
        "fix: pass kwargs={..., 'use_cache': False}; to have the cache, compile it with "
        "anyshape.api.transformers_exporter.AnyshapeExporter"
    )


def test_a_refused_size_spills_no_traceback() -> None:
    """torch logs the whole traceback of an op that refuses sizes which we try."""
    logged: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: logged.append(record.getMessage())
    logger = logging.getLogger("torch._subclasses.fake_tensor")
    logger.addHandler(handler)
    try:
        message_of(AxisDeclarationError, capturing(LAYER, ones(3, 4), input=("n", "d")))
    finally:
        logger.removeHandler(handler)
    assert logged == []


# --- calls ----------------------------------------------------------------------------------------


class Masked(torch.nn.Module):
    def forward(self, x: Any, mask: Any = None) -> Any:
        return x if mask is None else x * mask


def test_none_for_a_tensor() -> None:
    axes = {"x": ("n",), "mask": ("n",)}
    model = ash.compile(Masked(), (ones(3), ones(3)), axes=axes)
    assert message_of(InputError, lambda: model(ones(5), mask=None)) == (
        "input 'mask' is None, and the model was compiled with a tensor\n"
        "fix: pass a tensor, or compile a second model, with mask=None in its example"
    )
    second = ash.compile(Masked(), (ones(3), None), axes={"x": ("n",)})
    assert torch.equal(second(ones(5), mask=None), ones(5))


def test_a_size_that_axes_left_out() -> None:
    model = ash.compile(LAYER, (ones(2, 3, 4),), axes={"input": ("batch", None, None)})
    assert message_of(DimMismatchError, lambda: model(ones(2, 5, 4))) == (
        "input 'input' has size 5 at axis 1, expected 3\n"
        "fix: pass size 3 there, or name the axis: "
        "compile(..., axes={'input': ('batch', 'seq', None), ...})"
    )


# --- copies ---------------------------------------------------------------------------------------


class Counts(torch.nn.Module):
    total: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(()))

    def forward(self, x: Any) -> Any:
        self.total += x.sum()
        return x + self.total


def test_what_cannot_be_pickled() -> None:
    session = ash.InferenceSession.__new__(ash.InferenceSession)
    assert message_of(NotPicklableError, functools.partial(pickle.dumps, session)) == (
        "InferenceSession objects cannot be pickled: they hold machine code and memory of this "
        "process\nfix: pickle the model, and compile it in the other process: its kernels are "
        "found on disk"
    )


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_has_a_state_of_its_own(copied: Callable[[Any], Any]) -> None:
    model = ash.compile(Counts(), (ones(3),), axes={"x": ("n",)})
    model(ones(5))
    other = copied(model)
    assert other.executable is model.executable
    model(ones(2))
    assert (float(model.state["total"]), float(other.state["total"])) == (7, 5)
    assert torch.equal(other(ones(1)), torch.full((1,), 7.0))
    assert float(model.state["total"]) == 7
    assert copied(model.executable) is model.executable
