"""What of a PyTorch model cannot be compiled or called, and what the message tells the user."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from tests.errors.messages import line_marked, message_of
from torch.nn.attention.flex_attention import flex_attention

import anyshape as ash
from anyshape.base.errors import (
    AnyshapeError,
    AttributeValueError,
    AxisConflictError,
    AxisDeclarationError,
    AxisNameConflictError,
    DimMismatchError,
    DTypeError,
    EvaluationError,
    ForkedCaptureError,
    HostResultError,
    InputError,
    MissingTorchOpError,
    OptionError,
    RankMismatchError,
    TraceError,
    UnsupportedModelError,
)
from anyshape.ops.torch_kernels import call_torch

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns of its own parts


def test_unknown_parts_are_counted_and_placed() -> None:
    parts = {"aten.b.default": ["m.py:3", "m.py:3", "m.py:9"], "aten.a.default": [""]}

    def fail() -> None:
        raise UnsupportedModelError("the model", parts, "leave them out")

    assert message_of(UnsupportedModelError, fail) == (
        "the model uses what anyshape does not know:\n"
        "  aten.a.default (1)\n"
        "  aten.b.default (3) at m.py:3, m.py:9\n"
        "fix: leave them out"
    )


def test_a_capture_in_a_child_of_another() -> None:
    def fail() -> None:
        raise ForkedCaptureError

    assert message_of(ForkedCaptureError, fail) == (
        "this process was forked while another thread captured a torch model, and here torch is in "
        "the middle of that for ever\n"
        "fix: compile models before forking, or start the process with 'spawn'"
    )


# --- capturing ------------------------------------------------------------------------------------


class Sum(torch.nn.Module):
    def forward(self, x: Any, y: Any) -> Any:
        return x + y  # sum


class Loop(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        total = x.sum(0)
        for row in range(x.shape[0]):  # loop
            total = total + x[row]
        return total


class Chooses(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        if x.sum() > 0:  # data
            return x + 1
        return x


class Fixed(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return x + torch.ones(16)  # fixed


class Long(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return x * 2 if x.shape[0] > 3 else x  # long


class Unknown(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.linalg.qr(x)[0] + torch.linalg.qr(x.mT)[0]  # unknown


def zeros(*shape: int) -> Any:
    return torch.zeros(shape)


line = partial(line_marked, __file__)


def capturing(module: Any, *inputs: Any, **axes: Any) -> Callable[[], object]:
    return lambda: ash.compile(module, inputs, axes=axes, executor="reference")


def test_a_branch_on_data() -> None:
    assert message_of(TraceError, capturing(Chooses(), zeros(2, 3), x=("n", None))) == (
        f"Chooses ({line('data')}): the model's Python code needs the data of a tensor: "
        "`if x.sum() > 0:  # data`\n"
        "fix: choose with torch.where(condition, a, b), or with "
        "torch.cond(condition, true_fn, false_fn, operands)"
    )


def test_a_size_that_the_model_fixes() -> None:
    assert message_of(AxisDeclarationError, capturing(Fixed(), zeros(2, 16), x=("n", "seq"))) == (
        "axis 'seq' (input 'x', axis 1) is dynamic, but the model fixes it to 16 "
        f"at {line('fixed')}: `return x + torch.ones(16)  # fixed`\n"
        "fix: pass axes={'x': ('n', None), ...} and size 16, or change that line"
    )


def test_a_size_that_python_code_takes_as_a_number() -> None:
    assert message_of(AxisDeclarationError, capturing(Loop(), zeros(5, 2), x=("n", None))) == (
        "axis 'n' (input 'x', axis 0) is dynamic, but the model's code takes its size as a number "
        f"at {line('loop')}: `for row in range(x.shape[0]):  # loop`\n"
        "fix: use tensor ops or torch's scan instead of a Python loop over 'n'; or, for one size "
        "only, pass axes={'x': (None, None), ...}"
    )


class Apart(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return x.unbind(0)  # apart


class Length(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return x * len(x)  # length


class Text(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return {f"{int(x.shape[0].__index__())} rows": x}  # text


class Index(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return x * operator.index(x.shape[0])  # index


@pytest.mark.parametrize(
    ("module", "mark", "instead"),
    [
        (Apart, "apart", "use ops of the whole tensor instead of its parts along 'n'"),
        (Length, "length", "take the size of 'n' from .shape, which stays open, instead of len"),
        (Text, "text", "leave the size of 'n' out of texts"),
        (
            Index,
            "index",
            "compute with the size of 'n' by +, -, *, // and %, and compare it, as it is in .shape",
        ),
    ],
)
def test_what_to_write_instead_fits_the_line(module: Any, mark: str, instead: str) -> None:
    code = inspect.getsource(module).splitlines()[-1].strip()
    assert message_of(AxisDeclarationError, capturing(module(), zeros(5, 2), x=("n", None))) == (
        "axis 'n' (input 'x', axis 0) is dynamic, but the model's code takes its size as a number "
        f"at {line(mark)}: `{code}`\n"
        f"fix: {instead}; or, for one size only, pass axes={{'x': (None, None), ...}}"
    )


class Key(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return x * {5: 2.0}.get(x.shape[0], 1.0)  # key


def test_a_size_that_is_looked_up() -> None:
    assert message_of(TraceError, capturing(Key(), zeros(5, 2), x=("n", None))) == (
        f"Key ({line('key')}): its Python code looks a size up, in a dict, a set or a cache of "
        "results: `return x * {5: 2.0}.get(x.shape[0], 1.0)  # key`\n"
        "fix: compute what is looked up with +, -, *, // and % from the size, or give None for "
        "that axis in axes="
    )


class Floats(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return x[: int((x.shape[0] + x.shape[1]) ** 0.4)]  # floats


def test_a_condition_of_floats_on_two_sizes() -> None:
    assert message_of(TraceError, capturing(Floats(), zeros(5, 2), x=("n", "m"))) == (
        f"Floats ({line('floats')}): its code was captured for "
        "Eq(TruncToInt(FloatPow(ToFloat(s27 + s77), 0.4)), 2), which cannot be checked\n"
        "fix: compute with integers: n // 2 instead of int(n / 2)"
    )


def test_training_mode() -> None:
    module = torch.nn.Dropout(0.5).train()
    message = message_of(TraceError, capturing(module, zeros(5, 4), input=("n", None)))
    assert "dropout in training mode\nfix: call model.eval() before compiling" in message


def test_a_refused_model_spills_no_graph(capsys: pytest.CaptureFixture[str]) -> None:
    message_of(TraceError, capturing(Chooses(), zeros(2, 3), x=("n", None)))
    assert "torch.ops.aten" not in capsys.readouterr().err


def test_an_example_that_the_model_does_not_take() -> None:
    message = message_of(TraceError, capturing(Sum(), zeros(2, 4), zeros(3, 5)))
    begin = f"Sum ({line('sum')}): it fails at the example: `return x + y  # sum`: "
    assert message.startswith(begin)  # torch's own words follow
    assert message.endswith("\nfix: pass an example that the model itself takes")
    assert message_of(InputError, capturing(Sum(), zeros(2, 4))) == (
        "input 'y' is missing in the example call\nfix: compile(model, kwargs={..., 'y': ...})"
    )


def test_a_declared_range_that_the_model_does_not_hold_for() -> None:
    axes = {"x": (ash.Axis("n", min=1, max=9), None)}
    action = partial(ash.compile, Long(), (zeros(5, 2),), axes=axes, branches=1)
    assert message_of(AxisDeclarationError, action) == (
        f"axis 'n' is declared 1..9, but the model was captured for 3 < n ({line('long')})\n"
        "fix: declare Axis('n', ...) with a range for which 3 < n holds"
    )


def test_one_name_for_two_sizes() -> None:
    action = capturing(Sum(), zeros(2, 4), zeros(3, 4), x=("n", None), y=("n", None))
    assert message_of(AxisConflictError, action) == (
        "axis 'n' has conflicting sizes: input 'x' has 2 (axis 0), input 'y' has 3 (axis 0)\n"
        "fix: make both sizes agree, or give one of them another axis name than 'n'"
    )


def test_two_names_for_one_size() -> None:
    action = capturing(Sum(), zeros(2, 4), zeros(2, 4), x=("n", None), y=("m", None))
    assert message_of(AxisNameConflictError, action) == (
        "axes 'n' and 'm' have different names but must be equal: add: operands must broadcast at "
        f"axis 0 ({line('sum')})\n"
        "fix: use one name for both: write 'n' instead of 'm' in axes=, or declare where='n == m' "
        "(or where='broadcastable(n, m)' if one of them may be 1)"
    )


def test_axes_that_do_not_fit_the_example() -> None:
    assert message_of(InputError, capturing(Fixed(), zeros(2, 16), z=("n",))) == (
        "input 'z' has axes, but the example has no such argument, only x\nfix: axes={'x': ('n',)}"
    )
    assert message_of(InputError, capturing(Fixed(), zeros(2, 16), x=("n",))) == (
        "input 'x' has 1 axes in ('n',), and 2 in the example\n"
        "fix: a name or None for each of [2, 16]: axes={'x': ('n', None), ...}"
    )
    assert message_of(InputError, capturing(Fixed(), zeros(2, 16), x=("n", 17))) == (
        "input 'x' has 16 at axis 1, where axes say 17\nfix: pass an example with 17, or give None"
    )


def test_strict_refuses_what_torch_would_compute() -> None:
    def strictly() -> object:
        return ash.compile(Unknown(), (zeros(4, 4),), executor="reference", strict=True)

    assert message_of(UnsupportedModelError, strictly) == (
        "the model uses what anyshape does not know:\n"
        f"  aten.linalg_qr.default (2) at {line('unknown')}\n"
        "fix: compile without strict=True, and torch's own kernels compute these on the host"
    )


def test_a_warning_names_what_torch_computes() -> None:
    with pytest.warns(ash.HostOpsWarning) as said:
        capturing(Unknown(), zeros(4, 4))()
    (warning,) = (each.message for each in said if each.category is ash.HostOpsWarning)
    assert isinstance(warning, ash.HostOpsWarning)
    assert warning.ops == {"aten.linalg_qr.default": 2}
    assert str(warning) == (
        "torch's own kernels compute what anyshape has no form of (strict=True refuses it):\n"
        f"  aten.linalg_qr.default (2) at {line('unknown')}"
    )


@torch.library.custom_op("anyshape_errors::writes", mutates_args=("x",))
def writes(x: torch.Tensor) -> None:
    x.add_(1)


@torch.library.custom_op("anyshape_errors::writes_both", mutates_args=("x", "y"))
def writes_both(x: torch.Tensor, y: torch.Tensor) -> None:
    x.add_(1)
    y.mul_(2)


def test_an_op_that_writes_into_a_view() -> None:
    class Writes(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            y = x + 1
            writes(y.mT)  # writes a view
            return y

    assert message_of(UnsupportedModelError, capturing(Writes(), zeros(4, 3), x=("n", None))) == (
        "the model uses what anyshape does not know:\n"
        "  auto_functionalized_v2 of anyshape_errors.writes.default, which writes into a view that "
        f"is no slice (1) at {line('writes a view')}\n"
        "fix: write these parts of the model with other ops, or ask for them to be added"
    )


def test_an_op_that_writes_into_shared_memory() -> None:
    class Writes(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            y = x + 1
            writes_both(y[1:], y[:-1])  # writes both
            return y

    assert message_of(UnsupportedModelError, capturing(Writes(), zeros(4, 3), x=("n", None))) == (
        "the model uses what anyshape does not know:\n"
        "  auto_functionalized_v2 of anyshape_errors.writes_both.default, which writes into "
        f"tensors that share memory (1) at {line('writes both')}\n"
        "fix: write these parts of the model with other ops, or ask for them to be added"
    )


class Flexible(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return flex_attention(x, x, x)  # flexible


def test_flex_attention() -> None:
    fails = capturing(Flexible(), zeros(1, 1, 4, 8), x=(None, None, "n", None))
    assert message_of(UnsupportedModelError, fails) == (
        "the model uses what anyshape does not know:\n"
        f"  flex_attention, which is no op of torch (1) at {line('flexible')}\n"
        "fix: write these parts of the model with other ops, or ask for them to be added"
    )


def test_flex_attention_of_any_width() -> None:
    """torch itself does not follow it there."""
    fails = capturing(Flexible(), zeros(1, 1, 4, 8), x=(None, None, "n", "m"))
    assert message_of(TraceError, fails) == (
        f"Flexible ({line('flexible')}): flex_attention, whose scores are Python functions: "
        "`return flex_attention(x, x, x)  # flexible`\n"
        "fix: scaled_dot_product_attention(query, key, value, attn_mask=...) with what they add"
    )


# --- torch's kernels at run time ------------------------------------------------------------------


@torch.library.custom_op("anyshape_errors::halved", mutates_args=())
def halved(x: torch.Tensor) -> torch.Tensor:
    return x[: (x.shape[0] + 1) // 2].clone()


@halved.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return x.new_empty(x.shape[0] // 2)


class Halves(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return halved(x)  # halves


def test_a_kernel_that_gives_something_else_than_its_meta_kernel_says() -> None:
    fast = ash.compile(Halves(), (zeros(4),), axes={"x": ("n",)})
    assert fast(zeros(8)).shape == (4,)
    assert message_of(HostResultError, lambda: fast(zeros(7))) == (
        f"anyshape_errors.halved.default ({line('halves')}): gives f32[4], and was captured as "
        "giving f32[3]\n"
        "torch's meta kernel of this op says what it gives for the example's case alone\n"
        "fix: compile with an example of these sizes, or declare ranges of axes that exclude them"
    )


def test_a_kernel_that_refuses_its_operands() -> None:
    class Root(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.linalg.cholesky(x @ x.mT)  # root

    fast = ash.compile(Root(), (zeros(4, 5),), axes={"x": ("n", "m")})
    assert message_of(EvaluationError, lambda: fast(zeros(3, 2))) == (
        f"aten.linalg_cholesky.default ({line('root')}): torch refuses it: linalg.cholesky: The "
        "factorization could not be completed because the input is not positive-definite "
        "(the leading minor of order 1 is not positive-definite).\n"
        "fix: pass values that 'aten.linalg_cholesky.default' takes"
    )


def test_an_op_that_this_process_does_not_have() -> None:
    text = """
    graph g(x: f32[n]) -> f32[n] {
      %0 = torch_call(x) {target="nowhere.nothing.default", arguments=x0, dtypes=[f32],
                          shapes=[[n]]}
      return %0
    }
    """
    fast = ash.compile(ash.ir.parse(text))
    assert message_of(MissingTorchOpError, lambda: fast(np.zeros(3, np.float32))) == (
        "the graph calls nowhere.nothing.default (<text>:3): torch has no op of this name\n"
        "fix: import the module that registers it before the call"
    )


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("load_library", "which is no overload of an op of torch"),
        ("aten.add", "which is no overload of an op of torch"),
        ("aten.relu_.default", "which writes into its operands"),
    ],
)
def test_graphs_call_nothing_but_functional_ops(target: str, problem: str) -> None:
    with pytest.raises(MissingTorchOpError, match=problem):
        call_torch(target, "x0", [np.zeros(3, np.float32)], [])


def test_constants_of_a_call_are_dtypes_and_the_like() -> None:
    with pytest.raises(EvaluationError, match=r"torch\.load is no dtype, layout or memory format"):
        call_torch("aten.relu.default", "torch.load", [], [])


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("x0, x1", "has x1, which no operand or size is"),
        ("x0.mean()", "has 'x0.mean()', which is no argument"),
        ("x0, (", "is no list of arguments: '(' was never closed"),
    ],
)
def test_arguments_that_are_none(arguments: str, problem: str) -> None:
    text = f"""
    graph g(x: f32[n]) -> f32[n] {{
      %0 = torch_call(x) {{target="aten.abs.default", arguments="{arguments}", dtypes=[f32],
                          shapes=[[n]]}}
      return %0
    }}
    """
    message = message_of(AttributeValueError, lambda: ash.ir.parse(text))
    assert message.startswith(f"torch_call: attribute 'arguments' {problem}\n")


def test_as_strided_needs_memory_that_lies_row_by_row() -> None:
    class Windows(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.mT.as_strided((2,), (1,))  # windows

    assert message_of(TraceError, capturing(Windows(), zeros(4, 5), x=("n", "m"))) == (
        f"Windows ({line('windows')}): aten.as_strided.default of a tensor that is not contiguous\n"
        "fix: call .contiguous() before"
    )


@pytest.mark.parametrize("function", [lambda x: x + 1, lambda x: x], ids=["of a result", "itself"])
def test_as_strided_refuses_inputs_that_lie_otherwise(function: Any) -> None:
    """Results of ops lie as their operands do: eager mode would read other elements."""

    class Windows(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return function(x).as_strided((x.shape[0], 2), (x.shape[1], 1))  # reads memory

    fast = capturing(Windows(), zeros(4, 5), x=("n", "m"))()
    dense: Any = torch.arange(21.0).reshape(3, 7)
    assert torch.equal(fast(dense), Windows()(dense))
    for other in (torch.rand(7, 3).mT, torch.rand(9, 7)[2:], np.asfortranarray(np.ones((3, 7)))):
        assert message_of(InputError, lambda given=other: fast(given)) == (
            "input 'x' does not lie row by row from the beginning of its memory, which the model "
            f"reads by strides of its own (aten.as_strided.default at {line('reads memory')})\n"
            "fix: pass a copy of it that is contiguous"
        )


def test_as_strided_of_what_the_model_makes_contiguous() -> None:
    class Windows(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.mT.contiguous().as_strided((x.shape[0], 2), (1, 1))

    fast = capturing(Windows(), zeros(4, 5), x=("n", "m"))()
    for x in (torch.rand(7, 3).mT, torch.rand(3, 7), torch.rand(9, 7)[2:]):
        assert torch.equal(fast(x), Windows()(x))


def test_an_effect_in_a_branch() -> None:
    class Draws(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.cond(x.sum() > 0, torch.rand_like, torch.abs, (x,))

    message = message_of(TraceError, capturing(Draws(), zeros(4), x=("n",)))
    assert "aten.rand_like.default inside a branch or loop\n" in message
    assert message.endswith("fix: call it outside of the branch or loop, and pass what it gives")


def test_what_is_no_model() -> None:
    assert message_of(InputError, lambda: ash.compile(3)) == (
        "input 'source' is a int, no model\nfix: pass a Graph, a jitted function, or a torch module"
    )


# --- calling --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pair() -> Any:
    axes = {"x": ("n", None), "y": ("n", None)}
    return ash.compile(Sum(), (zeros(2, 4), zeros(2, 4)), axes=axes)


def test_missing_and_extra_inputs(pair: Any) -> None:
    x = zeros(2, 4)
    assert message_of(InputError, lambda: pair(x)) == (
        "input 'y' is missing; the model was compiled with it\nfix: pass y=..."
    )
    assert message_of(InputError, lambda: pair(x, x, x)) == (
        "input 'number 3' is one too many\nfix: the model takes x, y"
    )
    assert message_of(InputError, lambda: pair(x, x, mask=x)) == (
        "input 'mask' was not given when the model was compiled\n"
        "fix: compile(model, kwargs={..., 'mask': ...})"
    )
    assert message_of(InputError, lambda: pair(x, x=x)) == (
        "input 'x' is given twice\nfix: pass x once"
    )


def test_wrong_tensors(pair: Any) -> None:
    x = zeros(2, 4)
    assert message_of(DTypeError, lambda: pair(x, x.double())) == (
        "input 'y': expected f32, got f64\nfix: pass y.to(torch.float32)"
    )
    assert message_of(RankMismatchError, lambda: pair(x, zeros(2))) == (
        "input 'y' has rank 1, expected rank 2\n"
        "  declared [n, 4], got shape [2]\n"
        "fix: pass an array with 2 axes"
    )
    assert message_of(DimMismatchError, lambda: pair(x, zeros(2, 5))) == (
        "input 'y' has size 5 at axis 1, expected 4\n"
        "fix: pass size 4 there, or name the axis: compile(..., axes={'y': ('n', 'seq'), ...})"
    )
    assert message_of(AxisConflictError, lambda: pair(x, zeros(3, 4))) == (
        "axis 'n' has conflicting sizes: input 'x' has 2 (axis 0), input 'y' has 3 (axis 0)\n"
        "fix: make both sizes agree, or give one of them another axis name than 'n'"
    )


def test_other_containers_and_constants() -> None:
    class Scaled(torch.nn.Module):
        def forward(self, pair: Any, scale: float) -> Any:
            return pair[0] * scale + pair[1]

    given = (zeros(2), zeros(2))
    fast = ash.compile(Scaled(), (given, 2.0), axes={"pair": [("n",), ("n",)]})
    assert message_of(InputError, lambda: fast(given, 3.0)) == (
        "input 'scale' is 3.0, the model was compiled with 2.0\n"
        "fix: pass 2.0, or compile again for 3.0"
    )
    assert message_of(InputError, lambda: fast([*given], 2.0)) == (
        "input 'pair' has a list, the model was compiled with a tuple\n"
        "fix: pass 'pair' in the same containers"
    )


# --- dynamic_shapes -------------------------------------------------------------------------------


class SumOfNested(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: dict[str, torch.Tensor]) -> torch.Tensor:
        return x + y["z"]


BATCH = torch.export.Dim("batch")
PAIR = (torch.ones(3, 4), {"z": torch.ones(3, 4)})


def with_shapes(error: type[AnyshapeError], shapes: Any) -> str:
    return message_of(error, lambda: ash.compile(SumOfNested(), PAIR, dynamic_shapes=shapes))


@pytest.mark.parametrize("shapes", [5, "x", True, 1.5, {0, 1}])
def test_what_is_no_description_of_shapes(shapes: Any) -> None:
    form = (
        "a dict by input or a sequence in their order, such as"
        " {'x': {0: torch.export.Dim('batch')}}"
    )
    assert with_shapes(OptionError, shapes) == (
        f"dynamic_shapes={str(shapes)!r} is not {form}\n"
        f"fix: set dynamic_shapes to {form}, or unset it"
    )


@pytest.mark.parametrize("axis", [7, -3, "q", None])
@pytest.mark.parametrize("in_order", [False, True])
def test_shapes_of_axes_that_are_not_there(axis: Any, in_order: bool) -> None:
    first: Any = {"x": {axis: BATCH}, "y": {"z": {0: BATCH}}}
    second: Any = {"x": {0: BATCH}, "y": {"z": {axis: BATCH}}}
    for shapes, path in ((first, "x"), (second, "y.z")):
        found = with_shapes(InputError, tuple(shapes.values()) if in_order else shapes)
        assert found == (
            f"input '{path}' has no axis {axis!r}, which dynamic_shapes describes\n"
            "fix: describe axes from 0 to 1"
        )


def test_shapes_that_torch_refuses_itself() -> None:
    for shapes in ({"w": {0: BATCH}}, ({0: BATCH},), {"x": {0: "a"}, "y": {"z": None}}):
        found = with_shapes(TraceError, shapes)
        assert "torch.export refuses it: " in found
        assert "\nfix: " in found


def test_shapes_in_every_form_of_torch() -> None:
    both: Any = {"x": {0: BATCH}, "y": {"z": {0: BATCH}}}
    for shapes in (both, tuple(both.values()), {"x": (BATCH, None), "y": {"z": [BATCH, 4]}}):
        summed = ash.compile(SumOfNested(), PAIR, dynamic_shapes=shapes)
        found = summed(torch.ones(7, 4), {"z": torch.ones(7, 4)})
        assert found.tolist() == [[2.0] * 4] * 7


def test_a_container_of_one_tensor_is_no_tensor() -> None:
    summed = ash.compile(SumOfNested(), PAIR)
    assert summed(*PAIR).tolist() == [[2.0] * 4] * 3
    assert message_of(InputError, lambda: summed(PAIR[0], PAIR[0])) == (
        "input 'y' has a Tensor, the model was compiled with a dict\n"
        "fix: pass 'y' in the same containers"
    )


class Both(torch.nn.Module):
    def forward(self, a: Any, b: Any) -> Any:
        return a.sum() + b.sum()


def test_an_axis_that_is_declared_twice() -> None:
    one, other = ash.Axis("n", min=1, max=8), ash.Axis("n", min=2, max=100)
    example = zeros(4), zeros(4)
    axes = {"a": (one,), "b": (other,)}
    assert message_of(AxisDeclarationError, lambda: ash.compile(Both(), example, axes=axes)) == (
        "axis 'n' is declared as 'n: 1..8' and as 'n: 2..100'\n"
        "fix: declare it once, and use its name elsewhere"
    )


@pytest.mark.parametrize(
    ("axis", "declared"),
    [(ash.Axis("n", min=5), "n: 5.."), (ash.Axis("n", multiple_of=8), "n: 0.. multiple_of 8")],
)
def test_an_example_that_its_axes_exclude(axis: ash.Axis, declared: str) -> None:
    example = zeros(4), zeros(4)
    axes = {"a": (axis,), "b": ("n",)}
    assert message_of(InputError, lambda: ash.compile(Both(), example, axes=axes)) == (
        f"input 'a' has 4 at axis 0, which '{declared}' excludes\n"
        "fix: pass an example inside it, or declare more"
    )


class AddsOne(torch.nn.Module):
    def forward(self, a: Any, b: Any) -> Any:
        a.add_(1)
        return a + b


def test_inputs_that_share_memory_of_a_model_that_writes_into_one() -> None:
    model = ash.compile(AddsOne(), (zeros(4), zeros(4)), axes={"a": ("n",), "b": ("n",)})
    memory = torch.arange(12.0)
    for a, b in ((memory, memory), (memory[:5], memory[4:9]), (memory[::2], memory[2:8])):
        assert message_of(InputError, lambda a=a, b=b: model(a, b)) == (
            "input 'a' shares memory with 'b', and the model writes into it\n"
            "fix: pass a copy: b.clone()"
        )
    pairs = memory.reshape(6, 2)  # columns lie between each other, and share nothing
    eager = pairs.clone()
    assert torch.equal(model(pairs[:, 0], pairs[:, 1]), AddsOne()(eager[:, 0], eager[:, 1]))
    assert torch.equal(pairs, eager)
