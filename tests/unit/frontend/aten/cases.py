"""One case per entry of the importer's table."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import torch
from tests.unit.frontend.aten.one_op import Case, Input

aten: Any = torch.ops.aten
CASES: dict[str, Case] = {}


def op(name: str) -> Any:
    found: Any = torch.ops
    for part in name.split("."):
        found = getattr(found, part)
    return found


def positive(shape: Any) -> Any:
    return torch.rand(shape) + 0.5


def inside(shape: Any) -> Any:
    return torch.rand(shape) * 2 - 1


def integers(shape: Any) -> Any:
    return torch.randint(-6, 7, tuple(shape))


def small(shape: Any) -> Any:
    return torch.randint(-128, 128, tuple(shape), dtype=torch.int8)


def counts(shape: Any) -> Any:
    return torch.randint(1, 5, tuple(shape))


def bools(shape: Any) -> Any:
    return torch.rand(shape) > 0.5


def first_four(shape: Any) -> Any:
    return torch.randint(0, 4, tuple(shape))


def halves(shape: Any) -> Any:
    return torch.randn(shape).to(torch.bfloat16)


def group_ends(shape: Any) -> Any:
    return torch.tensor([2, 2, 5], dtype=torch.int32)


def special(shape: Any) -> Any:
    values = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.5, 3e30])
    return values[torch.randint(0, 7, tuple(shape))]


X, Y = Input(("n", 4)), Input(("n", 4))
NUMBERS, COUNTS = Input(("n", 4), integers), Input(("n", 4), counts)
B, C = Input(("n", 4), bools), Input(("n", 4), bools)


def add(names: str, inputs: tuple[Input, ...], *rest: Any, **named: Any) -> None:
    """Cases that pass the tensors first, then the rest."""
    for name in names.split():
        CASES[name] = Case(functools.partial(_call, op(name), rest, named), inputs)


def pairs(names: str, inputs: tuple[Input, ...], *rest: Any, **named: Any) -> None:
    """Cases of ops with two results."""
    for name in names.split():
        CASES[name] = Case(functools.partial(_pair, op(name), rest, named), inputs)


def _call(overload: Any, rest: Any, named: Any, *tensors: Any) -> Any:
    return overload(*tensors, *rest, **named)


def _pair(overload: Any, rest: Any, named: Any, *tensors: Any) -> tuple[Any, ...]:
    found = overload(*tensors, *rest, **named)
    return operator.getitem(found, 0), operator.getitem(found, 1)


def parts_of(found: Any, count: int) -> tuple[Any, ...]:
    """The results of an op with several, as torch.fx records them."""
    return tuple(operator.getitem(found, index) for index in range(count))


def case(name: str, *inputs: Input) -> Any:
    def put(function: Any) -> Any:
        CASES[name] = Case(function, inputs)
        return function

    return put


def size(x: Any, axis: int = 0) -> Any:
    return aten.sym_size.int(x, axis)


def rounded(function: Any, number: Any) -> Any:
    """A function that torch.fx records, although it is none of torch's."""
    if isinstance(number, torch.fx.Proxy):
        return number.tracer.create_proxy("call_function", function, (number,), {})
    return function(number)


def one_more(number: Any) -> Any:
    return aten.add.Tensor(aten.scalar_tensor.default(number, dtype=torch.int64), 1)


def half_of_all(x: Any) -> Any:
    """Sizes go through a vector, as `torch.tensor([a, b]).prod() // 2` has them."""
    sizes = [aten.scalar_tensor.default(size(x, axis), dtype=torch.int64) for axis in (0, 1)]
    return aten.div.Tensor_mode(
        aten.prod.default(aten.stack.default(sizes)), 2, rounding_mode="floor"
    )


number_in = aten._local_scalar_dense.default


# --- elementwise ----------------------------------------------------------------------------------

for unary in [
    "abs",
    "ceil",
    "cos",
    "erf",
    "exp",
    "expm1",
    "floor",
    "neg",
    "round",
    "sigmoid",
    "sign",
    "sin",
    "square",
    "tanh",
    "trunc",
    "tan",
]:
    add(f"aten.{unary}.default", (X,))
for unary in ["asin", "acos", "atanh"]:
    add(f"aten.{unary}.default", (Input(("n", 4), inside),))
for unary in ["sinh", "cosh", "relu", "silu", "atan", "asinh"]:
    add(f"aten.{unary}.default", (X,))
for unary in ["log", "log1p", "log2", "log10", "reciprocal", "rsqrt", "sqrt"]:
    add(f"aten.{unary}.default", (Input(("n", 4), positive),))
add("aten.acosh.default", (Input(("n", 4), lambda shape: torch.rand(shape) * 9 + 1),))
add("aten.atan2.default", (Input(("n", 4), special), Input(("n", 4), special)))
add("aten.bitwise_not.default", (NUMBERS,))
add("aten.isnan.default aten.isinf.default", (Input(("n", 4), special),))
add("aten.logical_not.default", (B,))
for binary in ["add", "sub", "rsub", "mul", "eq", "ne", "lt", "le", "gt", "ge"]:
    add(f"aten.{binary}.Tensor", (X, Input((4,))))
    add(f"aten.{binary}.Scalar", (NUMBERS,), 2)
for binary in ["div", "fmod", "remainder"]:
    add(f"aten.{binary}.Tensor", (X, Input(("n", 1), positive)))
    add(f"aten.{binary}.Scalar", (NUMBERS,), 4)
for binary in ["bitwise_and", "bitwise_or", "bitwise_xor"]:
    add(f"aten.{binary}.Tensor", (NUMBERS, COUNTS))
    add(f"aten.{binary}.Scalar", (NUMBERS,), 5)
for shift in ["lshift", "rshift"]:
    add(f"aten.__{shift}__.Scalar", (NUMBERS,), 3)
    add(f"aten.__{shift}__.Tensor", (NUMBERS, COUNTS))
for shift in ["left", "right"]:
    add(f"aten.bitwise_{shift}_shift.Tensor", (NUMBERS, COUNTS))
    case(f"aten.bitwise_{shift}_shift.Scalar_Tensor", COUNTS)(
        functools.partial(op(f"aten.bitwise_{shift}_shift.Scalar_Tensor"), -77)
    )
add("aten.bitwise_left_shift.Tensor_Scalar", (Input(("n", 4), small),), 7)
add("aten.bitwise_right_shift.Tensor_Scalar", (Input(("n", 4), small),), 8)
add("aten.digamma.default aten.erfc.default aten.lgamma.default", (X,))
add("aten.erfinv.default", (Input(("n", 4), inside),))
add("aten.signbit.default", (Input(("n", 4), special),))
add("aten.copysign.Tensor", (X, Input(("n", 4), special)))
add("aten.copysign.Scalar", (X,), -0.0)
add("aten.fmax.default aten.fmin.default", (Input(("n", 4), special), Input((4,), special)))
add("aten.hypot.default", (Input(("n", 4), special), Input(("n", 4), special)))
for _name, _of_number, _by_number in (
    ("aten.xlogy.Tensor", "aten.xlogy.Scalar_Self", "aten.xlogy.Scalar_Other"),
    ("aten.special_xlog1py.default", "aten.special_xlog1py.self_scalar",
     "aten.special_xlog1py.other_scalar"),
):  # fmt: skip
    add(_name, (Input(("n", 4), special), Input(("n", 4), special)))
    case(_of_number, X)(lambda x, name=_of_number: op(name)(0.0, x))
    add(_by_number, (X,), 2.5)
add("aten.round.decimals", (X,), decimals=2)
add("aten.div.Tensor_mode", (NUMBERS, COUNTS), rounding_mode="trunc")
add("aten.div.Scalar_mode", (X,), 0.75, rounding_mode="floor")
add("aten.floor_divide.default", (NUMBERS, COUNTS))
add("aten.pow.Tensor_Tensor", (Input(("n", 4), positive), Y))
add("aten.pow.Tensor_Scalar", (X,), 3)
case("aten.pow.Scalar", X)(lambda x: aten.pow.Scalar(2.0, x))
add("aten.maximum.default aten.minimum.default", (X, Y))
add("aten.logical_and.default aten.logical_or.default aten.logical_xor.default", (B, C))
add("aten.where.self", (B, X, Y))
add("aten.clamp.default", (X,), -0.5, 0.5)
add("aten.clamp.Tensor", (X, Input((4,))))
add("aten.hardtanh.default", (X,), -0.3, 0.7)
add("aten.leaky_relu.default", (X,), 0.2)
add("aten.elu.default", (X,), 0.5)
add("aten._to_copy.default", (X,), dtype=torch.int64)
add("prims.convert_element_type.default", (X,), torch.int64)
add("aten.true_divide.Tensor", (NUMBERS, COUNTS))
add("aten.true_divide.Scalar", (NUMBERS,), 4)
add("aten.clone.default aten.alias.default aten.detach.default", (X,))
add("aten.lift_fresh_copy.default", (X,))
add("aten.copy.default", (X, Input((4,), integers)))
add("aten.fill.Scalar", (X,), 2.5)

# --- movement -------------------------------------------------------------------------------------

Z = Input(("n", 3, "m"))
for view in ("aten.view.default", "aten.reshape.default", "aten._unsafe_view.default"):
    add(view, (Z,), [-1, 3])
add("aten.permute.default", (Z,), [2, 0, 1])
add("aten.transpose.int", (Z,), 0, -1)
add("aten.t.default", (X,))
add("aten.unsqueeze.default", (X,), -1)
add("aten.squeeze.dim", (Input(("n", 1, 4)),), 1)
add("aten.squeeze.dims", (Input((1, "n", 1)),), [0, 2])
case("aten.expand.default", Input(("n", 1)))(lambda x: aten.expand.default(x, [size(x), 3]))
add("aten.repeat.default", (X,), [2, 1, 3])
case("aten.cat.default", X, Input(("m", 4)))(lambda x, y: aten.cat.default([x, y], 0))
case("aten.stack.default", X, Y)(lambda x, y: aten.stack.default([x, y], 1))
add("aten.flip.default", (Z,), [0, 2])
add("aten.slice.Tensor", (X,), 1, 1, 2**63 - 1, 2)
add("aten.select.int", (X,), 1, -1)
case("aten.split_with_sizes.default", X)(
    lambda x: tuple(
        operator.getitem(aten.split_with_sizes.default(x, [1, 3], 1), i) for i in range(2)
    )
)
case("aten.unbind.int", X)(
    lambda x: tuple(operator.getitem(aten.unbind.int(x, 1), i) for i in range(4))
)
add("aten.slice_scatter.default", (X, Input(("n", 2))), 1, 1, 3)
add("aten.select_scatter.default", (X, Input(("n",))), 1, 2)
add("aten.constant_pad_nd.default", (Input((5, 3, 4)),), [1, 2, 0, 1], 0.5)
add("aten.pad.default", (Input(("n", 3, 4)),), [1, 2], "reflect")

# --- indexing and order ---------------------------------------------------------------------------

ROWS = Input((4, "n"))
PICK = Input(("k",), first_four)
case("aten.index.Tensor", ROWS, PICK)(lambda x, i: aten.index.Tensor(x, [i]))
case("aten._unsafe_index.Tensor", ROWS, PICK)(lambda x, i: aten._unsafe_index.Tensor(x, [i]))
case("aten.index_select.default", ROWS, PICK)(lambda x, i: aten.index_select.default(x, 0, i))
ALONG = Input(("k", "n"), first_four)
case("aten.gather.default", ROWS, ALONG)(lambda x, i: aten.gather.default(x, 0, i))
ORDER = Input((4, "n"), lambda shape: torch.rand(shape).argsort(0))
case("aten.scatter.src", ROWS, ORDER, ROWS)(lambda x, i, s: aten.scatter.src(x, 0, i, s))
case("aten.scatter.value", ROWS, ALONG)(lambda x, i: aten.scatter.value(x, 0, i, 2.5))
case("aten.scatter_add.default", ROWS, ALONG, Input(("k", "n")))(
    lambda x, i, s: aten.scatter_add.default(x, 0, i, s)
)
SUMMED = (ROWS, ALONG, Input(("k", "n")))
case("aten.scatter.reduce", *SUMMED)(
    lambda x, i, s: aten.scatter.reduce(x, 0, i, s, reduce="multiply")
)
case("aten.scatter.value_reduce", ROWS, ALONG)(
    lambda x, i: aten.scatter.value_reduce(x, 0, i, 2.5, reduce="add")
)
case("aten.scatter_reduce.two", *SUMMED)(
    lambda x, i, s: aten.scatter_reduce.two(x, 0, i, s, "mean", include_self=False)
)
PUT = (ROWS, PICK, Input(("k", "n")))
case("aten.index_put.default", *PUT)(lambda x, i, v: aten.index_put.default(x, [i], v, True))
PAIR = (Input((4, "m", 4)), PICK, PICK, Input(("k", "m")))
case("aten._unsafe_index_put.default", *PAIR)(
    lambda x, i, j, v: aten._unsafe_index_put.default(x, [i, None, j], v, True)
)
add("aten.nonzero.default", (B,))
add("aten.masked_select.default", (X, Input((4,), bools)))
case("aten._unique2.default", Input(("n", 3), first_four))(
    lambda x: parts_of(aten._unique2.default(x, True, True, True), 3)
)
case("aten.unique_consecutive.default", Input(("n",), first_four))(
    lambda x: parts_of(aten.unique_consecutive.default(x, True, True), 3)
)
add("aten.bincount.default", (Input(("n",), first_four),), None, 3)
case("aten.repeat_interleave.Tensor", Input(("n",), first_four))(aten.repeat_interleave.Tensor)
case("aten.masked_scatter.default", X, Input(("n", 5)))(
    lambda x, s: aten.masked_scatter.default(x, aten.gt.Scalar(x, 0), s)
)
add("aten.take.default", (Input((4, 3)), Input(("n",), integers)))
add("aten.diagonal.default", (Z,), 1, 2, 0)
add("aten.unfold.default", (Input(("n", 7)),), 1, 3, 2)
pairs("aten.sort.default", (X,), 1, True)
pairs("aten.sort.stable", (NUMBERS,), stable=True, dim=1)
pairs("aten.topk.default", (X,), 2, 1)

# --- reductions -----------------------------------------------------------------------------------

add("aten.sum.default aten.mean.default", (X,))
add("aten.sum.dim_IntList aten.mean.dim", (Z,), [1], True)
add("aten.prod.default", (Input(("n", 2), positive),))
add("aten.prod.dim_int", (X,), 1)
add("aten.amax.default aten.amin.default", (X,), [1])
add("aten.max.default aten.min.default", (Input((3, 4)),))
add("aten.any.default aten.all.default", (B,))
add("aten.any.dim aten.all.dim", (B,), 1)
add("aten.any.dims aten.all.dims", (B,), [0, 1])
add("aten.argmax.default aten.argmin.default", (X,), 1)
add("aten.logsumexp.default", (X,), [1])
pairs("aten.max.dim aten.min.dim", (X,), 1)
add("aten.var.correction", (X,), [1], correction=0)
add("aten.var.dim", (X,), [1], True)
add("aten.linalg_vector_norm.default", (X,), 2, [1], True)
pairs("aten.var_mean.correction", (X,), [1], correction=0)
add("aten.cumsum.default aten.cumprod.default", (NUMBERS,), 0)
pairs("aten.cummax.default aten.cummin.default", (Input(("n", 4), special),), 0)
add("aten.histc.default", (Input(("n",), inside),), 5, -1.0, 1.0)

# --- products and layers --------------------------------------------------------------------------

W = Input((4, 6))
add("aten.mm.default aten.matmul.default", (X, W))
add("aten.bmm.default", (Input((2, "n", 4)), Input((2, 4, "m"))))
add("aten.mv.default", (X, Input((4,))))
add("aten.addmv.default", (Input(("n",)), X, Input((4,))), beta=2, alpha=0.5)
add("aten.dot.default", (Input(("n",)), Input(("n",))))
add("aten.linear.default", (X, Input((6, 4)), Input((6,))))
add("aten.addmm.default", (Input((6,)), X, W), beta=2, alpha=0.5)
add("aten.baddbmm.default", (Input((2, 5, 3)), Input((2, 5, 4)), Input((2, 4, 3))))
add(
    "aten._grouped_mm.default",
    (Input((5, 16), halves), Input((3, 16, 8), halves), Input((3,), group_ends)),
)
CHANNELS = (Input(("n", 4, 9)), Input((6, 2, 3)), Input((6,)))
add("aten.convolution.default", CHANNELS, [2], [2], [2], False, [0], 2)
HEADS = Input((2, 3, "n", 8))
add("aten.scaled_dot_product_attention.default", (HEADS, HEADS, HEADS))
CASES["aten._scaled_dot_product_flash_attention_for_cpu.default"] = Case(
    lambda q, k, v: operator.getitem(
        aten._scaled_dot_product_flash_attention_for_cpu.default(q, k, v, 0.0, True), 0
    ),
    (HEADS, HEADS, HEADS),
    lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True),
)
CASES["aten.layer_norm.default"] = Case(
    lambda x, w, b: aten.layer_norm.default(x, [4], w, b), (X, Input((4,)), Input((4,)))
)
case("aten.native_layer_norm.default", X)(
    lambda x: operator.getitem(aten.native_layer_norm.default(x, [4], None, None, 1e-5), 0)
)
CHANNEL = Input((4,))
case(
    "aten._native_batch_norm_legit_no_training.default",
    *(Input(("n", 4, "m")), CHANNEL, CHANNEL, CHANNEL, Input((4,), positive)),
)(
    lambda *tensors: operator.getitem(
        aten._native_batch_norm_legit_no_training.default(*tensors, 0.1, 1e-5), 0
    )
)
add("aten.rms_norm.default", (X,), [4])
add("aten.gelu.default", (X,), approximate="tanh")
add("aten.softmax.int aten.log_softmax.int", (X,), 1)
add("aten._softmax.default aten._log_softmax.default", (X,), 1, False)
add("aten._safe_softmax.default", (X,), 1)
add("aten.embedding.default", (Input((4, 3)), Input(("n", "m"), first_four)))
case("aten.native_dropout.default", X)(
    lambda x: operator.getitem(aten.native_dropout.default(x, 0.5, False), 0)
)

# --- sources and sizes ----------------------------------------------------------------------------

case("aten.full.default", X)(lambda x: aten.full.default([size(x), 2], 3))
add("aten.full_like.default", (X,), 1.5)
case("aten.scalar_tensor.default", X)(lambda x: aten.scalar_tensor.default(size(x)))
case("aten.zeros.default", X)(lambda x: aten.zeros.default([size(x)]))
case("aten.ones.default", X)(lambda x: aten.ones.default([size(x), 2]))
case("aten.empty.memory_format", X)(
    lambda x: aten.mul.Tensor(aten.empty.memory_format([size(x), 0]), 1)
)
case("aten.empty_permuted.default", X)(
    lambda x: aten.mul.Tensor(aten.empty_permuted.default([size(x), 0], [0, 1]), 1)
)
case("aten.arange.start_step", X)(lambda x: aten.arange.start_step(size(x), -1, -2.0))
case("aten.sym_size.int", X)(size)
add("aten.sym_numel.default", (X,))
add("aten.sym_storage_offset.default", (X,))
case("aten._local_scalar_dense.default", X)(
    lambda x: aten.full.default([number_in(one_more(size(x))), number_in(half_of_all(x))], 3)
)
case("add", X)(lambda x: operator.add(size(x), 2))
case("sub", X)(lambda x: operator.sub(size(x), 2))
case("mul", X)(lambda x: operator.mul(size(x), size(x)))
case("floordiv", X)(lambda x: operator.floordiv(size(x) + 2, 3))
case("mod", X)(lambda x: operator.mod(size(x) + 2, 3))
case("neg", X)(lambda x: operator.neg(size(x)))
case("pow", X)(lambda x: operator.pow(size(x), 2))
case("truediv", X)(lambda x: aten.mul.Tensor(x, operator.truediv(size(x), 3)))
for rounding in (math.floor, math.ceil, math.trunc):
    case(rounding.__name__, X)(
        lambda x, whole=rounding: rounded(whole, operator.sub(operator.truediv(size(x), 3), 2.5))
    )
case("sym_float", X)(lambda x: aten.add.Tensor(x, torch.sym_float(size(x))))
case("sym_max", X)(lambda x: torch.sym_max(size(x), 3))
case("sym_min", X)(lambda x: torch.sym_min(size(x), 3))
case("sym_sum", X)(lambda x: torch.sym_sum([size(x), 4, size(x)]))
case("getitem", X)(lambda x: operator.getitem(aten.max.dim(x, 1), 1))


def asserting(condition: Any) -> Any:
    def call(x: Any) -> Any:
        aten._assert_scalar.default(condition(size(x)), "")
        return aten.neg.default(x)

    return call


case("aten._assert_scalar.default", X)(asserting(lambda n: operator.ge(n, 0)))
case("le", X)(asserting(lambda n: operator.le(n, 100)))
case("lt", X)(asserting(lambda n: operator.lt(n, 100)))
case("ge", X)(asserting(lambda n: operator.ge(n + 1, 1)))
case("gt", X)(asserting(lambda n: operator.gt(n + 1, 0)))
case("eq", X)(asserting(lambda n: operator.eq(n + n, 2 * n)))
case("ne", X)(asserting(lambda n: operator.ne(n + 1, 0)))
case("sym_not", X)(asserting(lambda n: torch.sym_not(operator.lt(n, 0))))
case("and_", X)(asserting(lambda n: operator.and_(operator.ge(n, 0), operator.lt(n, 100))))
case("or_", X)(asserting(lambda n: operator.or_(operator.ge(n, 0), operator.eq(n, 7))))
case("aten.sym_constrain_range.default", X)(
    lambda x: (aten.sym_constrain_range.default(size(x), min=0, max=100), aten.neg.default(x))[1:]
)
case("aten.sym_constrain_range_for_size.default", X)(
    lambda x: (aten.sym_constrain_range_for_size.default(size(x)), aten.neg.default(x))[1:]
)
case("aten._assert_tensor_metadata.default", X)(
    lambda x: (
        aten._assert_tensor_metadata.default(x, None, None, torch.float32),
        aten.neg.default(x),
    )[1:]
)

# --- what torch itself writes with other ops ------------------------------------------------------

add("aten.to.dtype", (X,), torch.int32)
add("aten.to.dtype_layout", (X,), dtype=torch.float64)
add("aten.to.device", (X,), torch.device("cpu"), torch.float16)
add("aten.to.other aten.type_as.default", (X, NUMBERS))
add("aten.contiguous.default", (X,))
case("aten.detach_.default", X)(lambda x: aten.detach_.default(aten.neg.default(x)))
add("aten.dropout.default aten.feature_dropout.default", (X,), 0.5, False)
for logic in ["__and__", "__or__", "__xor__"]:
    add(f"aten.{logic}.Tensor", (NUMBERS, COUNTS))
    add(f"aten.{logic}.Scalar", (NUMBERS,), 5)
add("aten.multiply.Tensor aten.subtract.Tensor", (X, NUMBERS))
add("aten.divide.Tensor", (NUMBERS, COUNTS))
add("aten.max.other aten.min.other", (X, Y))
case("aten.where.ScalarOther", B, X)(lambda b, x: aten.where.ScalarOther(b, x, -1.5))
case("aten.where.ScalarSelf", B, X)(lambda b, x: aten.where.ScalarSelf(b, 2, x))
case("aten.where.Scalar", B)(lambda b: aten.where.Scalar(b, 2.5, 1))
case("aten.masked_fill.Scalar", X, B)(lambda x, b: aten.masked_fill.Scalar(x, b, -3))
case("aten.masked_fill.Tensor", X, B, Input(()))(aten.masked_fill.Tensor)
add("aten.clamp_min.default aten.clamp_max.default", (X,), 0.25)
add("aten.clamp_min.Tensor aten.clamp_max.Tensor", (X, Input((4,))))
case("aten.arange.default", X)(lambda x: aten.arange.default(size(x)))
case("aten.arange.start", X)(lambda x: aten.arange.start(1, size(x) + 3, dtype=torch.float32))
add("aten.zeros_like.default aten.ones_like.default", (X,), dtype=torch.int64)
case("aten.empty_like.default", X)(lambda x: aten.mul.Tensor(aten.empty_like.default(x)[:0], 1))
case("aten.new_zeros.default", X)(lambda x: aten.new_zeros.default(x, [size(x), 2]))
case("aten.new_ones.default", X)(lambda x: aten.new_ones.default(x, [2], dtype=torch.bool))
case("aten.new_full.default", X)(lambda x: aten.new_full.default(x, [3, size(x)], 7))
case("aten.new_empty.default", X)(
    lambda x: aten.mul.Tensor(aten.new_empty.default(x, [size(x), 0]), 1)
)
case("aten.eye.default", X)(lambda x: aten.eye.default(size(x)))
case("aten.eye.m", X)(lambda x: aten.eye.m(3, size(x), dtype=torch.int64))
add("aten.reshape_as.default aten.view_as.default", (Input(("n", 2, 6)), Input(("n", 12))))
add("aten.expand_as.default", (Input(("n", 1)), X))
add("aten.numpy_T.default", (Z,))
add("aten.mT.default", (Z,))
add("aten.flatten.using_ints", (Z,), 0, 1)
add("aten.unflatten.int", (X,), 1, [2, -1])
add("aten.repeat_interleave.self_int", (X,), 3, 0)


def parts(name: str, count: int, *rest: Any) -> None:
    """All results of an op that cuts a tensor up."""
    overload = op(name)
    case(name, X)(lambda x: tuple(operator.getitem(overload(x, *rest), i) for i in range(count)))


parts("aten.split.Tensor", 2, 3, 1)
parts("aten.chunk.default", 2, 3, 1)
parts("aten.tensor_split.sections", 3, 3, 0)
case("aten.item.default", X)(
    lambda x: aten.full.default([aten.item.default(one_more(size(x))), 2], 3)
)
add("aten.conv1d.default", CHANNELS, [2], [2], [2], 2)
add("aten.conv1d.padding", CHANNELS, [1], "same", [2], 2)
TURNED = (Input(("n", 4, 9)), Input((4, 3, 3)), Input((6,)))
add("aten.conv_transpose1d.default", TURNED, [2], [1], [1], 2)
IMAGE = (Input(("n", 3, 6, 5)), Input((4, 3, 3, 2)), Input((4,)))
add("aten.conv2d.default", IMAGE, [2, 1], [1], [1, 2])
STILL = (Input((2, 3, 6, 5)), *IMAGE[1:])  # torch fixes the batch of these
add("aten.conv2d.padding", STILL, [1], "valid")
TURNED_IMAGE = (Input(("n", 3, 6, 5)), Input((3, 4, 3, 2)), Input((4,)))
add("aten.conv_transpose2d.input", TURNED_IMAGE, [2, 3], [1], [1, 0], 1, [1, 2])
TURNED_VOLUME = (Input(("n", 2, 4, 5, 3)), Input((2, 3, 2, 2, 2)))
add("aten.conv_transpose3d.input", TURNED_VOLUME, None, [2, 1, 1])
VOLUME = (Input(("n", 2, 4, 5, 3)), Input((3, 2, 2, 2, 2)))
add("aten.conv3d.default", VOLUME)
add("aten.conv3d.padding", (Input((2, 2, 4, 5, 3)), VOLUME[1]), None, [1], "same")
case(
    "aten.batch_norm.default",
    *(Input(("n", 4, "m")), CHANNEL, CHANNEL, CHANNEL, Input((4,), positive)),
)(lambda *tensors: aten.batch_norm.default(*tensors, False, 0.1, 1e-5, False))

# --- images ---------------------------------------------------------------------------------------

SPATIAL = {1: Input(("n", 4, 9)), 2: Input(("n", 4, 6, 5)), 3: Input(("n", 2, 4, 5, 3))}
FIXED = {rank: Input((2, *image.shape[1:])) for rank, image in SPATIAL.items()}
"""For ops whose batch torch fixes if it is traced like this; e2e/test_torch_pools.py has others."""
for rank, image in SPATIAL.items():
    add(f"aten.avg_pool{rank}d.default", (image,), [2] * rank, [1] * rank, [1] * rank)
    add(f"aten.max_pool{rank}d.default", (image,), [2] * rank, [1] * rank, [1] * rank)
    add(f"aten.adaptive_avg_pool{rank}d.default", (image,), [3] * rank)
    for name, rest in (
        (f"aten.max_pool{rank}d_with_indices.default", ([2] * rank,)),
        (f"aten.adaptive_max_pool{rank}d.default", ([2] * rank,)),
    ):
        CASES[name] = Case(functools.partial(_pair, op(name), rest, {}), (image,))
    for kind in ("upsample_nearest", "_upsample_nearest_exact"):
        add(f"aten.{kind}{rank}d.default", (image,), [7] * rank)
        add(f"aten.{kind}{rank}d.vec", (FIXED[rank],), None, [2.0] * rank)
for rank, kind in ((1, "linear1d"), (2, "bilinear2d"), (2, "bicubic2d"), (3, "trilinear3d")):
    add(f"aten.upsample_{kind}.default", (SPATIAL[rank],), [7] * rank, False)
    add(f"aten.upsample_{kind}.vec", (FIXED[rank],), None, True, [2.0] * rank)
for rank in (2, 3):
    add(f"aten._adaptive_avg_pool{rank}d.default", (SPATIAL[rank],), [3] * rank)
add("aten.one_hot.default", (Input(("n", 3), first_four),), 5)
add("aten.im2col.default", (FIXED[2],), [2, 2], [1, 1], [1, 0], [2, 1])
add("aten.group_norm.default", (SPATIAL[2],), 2, None, None)
case("aten.native_group_norm.default", FIXED[1])(
    lambda x: operator.getitem(aten.native_group_norm.default(x, None, None, 2, 4, 9, 2, 1e-5), 0)
)
add(
    "aten.instance_norm.default",
    (FIXED[2],),
    *(None, None, None, None, True, 0.1, 1e-5, False),
)

for kind in ("reflection", "replication"):
    for rank, image in SPATIAL.items():
        add(f"aten.{kind}_pad{rank}d.default", (image,), [1, 2] * rank)
add("aten.tril.default", (X,), 1)
add("aten.triu.default", (X,), -1)
add("aten.softplus.default", (X,), 2, 1.5)
add("aten.roll.default", (X,), [2, -1], [0, 1])
add("aten.diff.default", (X,), 2)
case("aten.einsum.default", Input(("n", 3, "m")), Input(("n", "m", 2)))(
    lambda x, y: aten.einsum.default("...ij,...jk", [x, y])
)
PROBABILITIES = Input(("n", "m"), torch.rand)
add("aten.binary_cross_entropy.default", (PROBABILITIES, PROBABILITIES))

# --- into new memory ------------------------------------------------------------------------------

case("aten.relu_.default", X)(lambda x: aten.relu_.default(aten.clone.default(x)))
case("aten.masked_fill_.Scalar", X, B)(
    lambda x, b: aten.masked_fill_.Scalar(aten.clone.default(x), b, 2.5)
)
case("aten.add_.Tensor", X, Y)(lambda x, y: aten.add_.Tensor(aten.clone.default(x), y))
case("aten.mul_.Tensor", X, Y)(lambda x, y: aten.mul_.Tensor(aten.clone.default(x), y))

# Entries that need bodies, or a package beside torch: tests/e2e/test_torch*.py has them.


def windows(name: str, *numbers: Any) -> None:
    overload = op(name)
    case(name, X)(lambda x: overload(7, *numbers) * 1)  # torch takes the size as a number


for window in ("hann", "hamming", "blackman", "bartlett", "kaiser"):
    windows(f"aten.{window}_window.default")
    windows(f"aten.{window}_window.periodic", False)
windows("aten.kaiser_window.beta", True, 7.5)
windows("aten.hamming_window.periodic_alpha", True, 0.6)
windows("aten.hamming_window.periodic_alpha_beta", False, 0.6, 0.3)

ELSEWHERE = frozenset(
    {"cond", "while_loop", "scan", "map_impl", "transformers.grouped_mm_fallback.default",
     "aten._native_batch_norm_legit_functional.default",  # it is refused
     "sym_ite"}  # e2e/test_torch_truths.py
    | {f"aten.{kind}.{form}" for kind in ("lstm", "gru", "rnn_tanh", "rnn_relu")
       for form in ("input", "data")}  # e2e/test_torch_recurrent.py
    | {"aten.cov.default", "aten.corrcoef.default"}  # e2e/test_torch_host_ops.py
    | {"wrap_with_autocast", "wrap_with_set_grad_enabled"}  # e2e/test_torch_regions.py
    | {"aten.soft_margin_loss.default", "aten.multi_margin_loss.default",
       "aten.multilabel_margin_loss_forward.default"}
    # e2e/test_torch_losses.py
    | {"_sym_log2", "_sym_sqrt", "sym_sqrt", "abs", "round", "lshift", "rshift"}
    # e2e/test_torch_size_numbers.py
    | {"aten.stft.default", "aten.fft_fftshift.default", "aten.fft_ifftshift.default",
       "aten.col2im.default", "aten.kthvalue.default", "aten.mode.default",
       "aten.isin.Tensor_Tensor", "aten.cdist.default", "aten._cdist_forward.default",
       "aten.renorm.default"}  # e2e/test_torch_breadth.py
    | {f"aten.{kind}.{form}" for kind in ("median", "nanmedian") for form in ("dim", "default")}
    | {f"aten.{kind}.{form}" for kind in ("searchsorted", "bucketize")
       for form in ("Tensor", "Scalar")}
    | {f"aten.fft_{kind}.default" for kind in ("irfft", "hfft", "irfft2", "irfftn")}
    | {f"aten.grid_sampler{rank}.default" for rank in ("", "_2d", "_3d")}
    | {f"aten._upsample_{kind}2d_aa.{form}" for kind in ("bilinear", "bicubic")
       for form in ("default", "vec")}
    | {f"aten.embedding_bag.{form}" for form in ("default", "padding_idx")}
    | {f"aten._embedding_bag{form}.default" for form in ("", "_forward_only")}
)  # fmt: skip
