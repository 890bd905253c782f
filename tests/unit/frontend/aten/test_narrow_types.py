"""Narrow dtypes meet numbers, sizes and indices that they do not hold: what torch's eager gives."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.unit.frontend.aten.one_op import Case, Input, imported, run

from anyshape.base.errors import FactViolationError
from anyshape.execute import compile_graph

aten: Any = torch.ops.aten
sym_size = aten.sym_size.int
NARROW = [torch.uint8, torch.int8, torch.int16]
HALVES = [torch.float16, torch.bfloat16]


def counting(dtype: Any) -> Callable[..., Any]:
    return lambda shape: (
        torch.arange(torch.Size(shape).numel()).remainder(100).reshape(shape).to(dtype)
    )


def check(function: Callable[..., Any], *tensors: Any, tolerance: float = 0.0) -> None:
    """Interpreted and compiled with symbolic sizes, the function gives what torch does."""
    letters = iter("nmkpqr")
    inputs = [Input(tuple(next(letters) for _ in t.shape), lambda s, t=t: t) for t in tensors]
    program = imported(Case(function, tuple(inputs)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = function(*tensors)
    for executor in ("reference", "native"):
        (found,) = run(program, compile_graph(program.graph, executor=executor), tensors)
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        torch.testing.assert_close(found, wanted, rtol=tolerance, atol=0.0, equal_nan=True)


WRAPPING: dict[str, Callable[..., Any]] = {
    "add": aten.add.Tensor, "sub": aten.sub.Tensor,
    "mul": aten.mul.Tensor, "rsub": aten.rsub.Scalar,
    "floor": lambda x, y: aten.div.Tensor_mode(x, y, rounding_mode="floor"),
    "remainder": aten.remainder.Scalar,
    "and": aten.bitwise_and.Scalar, "lt": aten.lt.Scalar,
    "ge": aten.ge.Scalar, "alpha": lambda x, y: aten.add.Tensor(x, x, alpha=y),
}  # fmt: skip


@pytest.mark.parametrize("name", WRAPPING)
@pytest.mark.parametrize("dtype", NARROW)
def test_numbers_wrap_as_they_do_in_torch(name: str, dtype: Any) -> None:
    function, x = WRAPPING[name], counting(dtype)([300])
    if name != "alpha":  # torch refuses an alpha that wraps
        check(lambda x: function(x, 70_300), x)
        check(lambda x: function(x, sym_size(x, 0)), x)
    check(lambda x: function(x, 3), x)


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int32, torch.int64])
def test_quotients_toward_zero_of_the_least_integer(dtype: Any) -> None:
    """Its magnitude is not in the type. By -1 its quotient is not either, and torch may trap."""
    least, largest = torch.iinfo(dtype).min, torch.iinfo(dtype).max
    numbers = torch.tensor([least, least + 1, -7, -6, -1, 0, 1, 6, 7, largest], dtype=dtype)
    divisors = torch.tensor([least, least + 1, -7, -2, 1, 2, 3, 7, largest], dtype=dtype)
    x, y = (each.flatten() for each in torch.meshgrid(numbers, divisors, indexing="ij"))
    check(lambda x, y: aten.div.Tensor_mode(x, y, rounding_mode="trunc"), x, y)
    check(aten.fmod.Tensor, x, y)
    check(lambda x: aten.fmod.Scalar(x, -3), numbers)


QUOTIENTS: dict[str, Callable[..., Any]] = {
    "div": aten.div.Tensor, "mul": aten.mul.Tensor,
    "add": aten.add.Tensor, "sub": aten.sub.Tensor,
}  # fmt: skip


@pytest.mark.parametrize("name", QUOTIENTS)
@pytest.mark.parametrize("dtype", HALVES)
def test_products_with_numbers_that_16_bits_do_not_hold(name: str, dtype: Any) -> None:
    function, x = QUOTIENTS[name], counting(dtype)([70_001])
    check(lambda x: function(x, 70_001), x)
    check(lambda x: function(x, sym_size(x, 0)), x)
    check(lambda x: function(x, 257), x)


def test_a_size_that_torch_does_not_store_is_refused() -> None:
    full = aten.full_like.default
    program = imported(
        Case(lambda x: full(x, sym_size(x, 0)), (Input(("n",), counting(torch.uint8)),))
    )
    executable = compile_graph(program.graph)
    (found,) = run(program, executable, [torch.zeros(255, dtype=torch.uint8)])
    assert (found == 255).all()
    with pytest.raises(FactViolationError, match="meets u8, which holds"):
        run(program, executable, [torch.zeros(256, dtype=torch.uint8)])


def test_counting_wraps_as_it_does_in_torch() -> None:
    arange = aten.arange.start_step
    check(lambda x: arange(0, sym_size(x, 0), 1, dtype=torch.uint8), torch.zeros(300))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_indices(dtype: Any) -> None:
    x, i = torch.arange(90_000.0).reshape(300, 300), torch.tensor([-1, 299, 0]).to(dtype)
    check(lambda x, i: aten.index.Tensor(x, [i, i]), x, i)
    put, value = aten.index_put.default, torch.tensor(5.0)
    check(lambda x, i, v: put(x, [i, i], v, True), x, i, value)


@pytest.mark.parametrize("dtype", HALVES)
def test_reductions_that_16_bits_do_not_hold(dtype: Any) -> None:
    x = torch.randn(2, 70_001, generator=torch.Generator().manual_seed(0)).to(dtype)
    step = torch.finfo(dtype).eps
    for c in (0, 1, 0.5):
        check(lambda x, c=c: aten.var.correction(x, [1], correction=c), x, tolerance=step)
    check(lambda x: aten.mean.dim(x + 1, [1]), x, tolerance=step)
    check(lambda x: aten.logsumexp.default(x, [1]), x, tolerance=step)
    check(lambda x: aten.linalg_vector_norm.default(x * 5, 2, [1]), x, tolerance=step)
