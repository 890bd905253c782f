"""What may be passed to run(): layouts, owners, element types; and what is refused, with fields."""

import ml_dtypes
import numpy as np
import pytest
import torch
from tests.unit.runtime.handmade import Handmade, add_program, double_kernel, elementwise, matrices

from anyshape.runtime.dlpack import dlpack_type
from anyshape.runtime.failures import (
    CheckFailedError,
    InputCountError,
    InputDtypeError,
    InputKindError,
    InputRankError,
    RuntimeFailure,
)
from anyshape.runtime.program import Program

ADD = add_program()


def square(n: int = 6) -> np.ndarray:
    return np.random.default_rng(n).random((n, n), np.float32)


def misaligned(array: np.ndarray) -> np.ndarray:
    raw = np.empty(array.nbytes + 8, np.uint8)
    start = 1 - raw.ctypes.data % 4
    shifted = raw[start % 8 :][: array.nbytes].view(np.float32).reshape(array.shape)
    shifted[...] = array
    assert not shifted.flags.aligned
    return shifted


def read_only(array: np.ndarray) -> np.ndarray:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


@pytest.mark.parametrize(
    "change",
    [
        np.asfortranarray,
        lambda a: a[::-1],
        lambda a: a[:, ::-1],
        lambda a: np.repeat(np.repeat(a, 2, 0), 3, 1)[::2, ::3],
        lambda a: np.broadcast_to(a[:1], a.shape),
        lambda a: np.broadcast_to(a[:1, :1], a.shape),
        misaligned,
        read_only,
        lambda a: a.astype("f4").view(np.recarray),
        lambda a: np.array(a, order="C", subok=True).view(np.ndarray),
        torch.from_numpy,
        lambda a: torch.from_numpy(a).requires_grad_().detach(),
        lambda a: torch.from_numpy(a).T,
        lambda a: torch.from_numpy(np.repeat(a, 2, 1).copy())[:, ::2],
        lambda a: torch.from_numpy(a)[:, :1].expand(-1, a.shape[1]),
    ],
)
@pytest.mark.parametrize("n", [0, 1, 2, 6, 131])
def test_layouts(change, n: int):
    if n == 0 and change is misaligned:
        pytest.skip("there is no element to be misaligned")
    a, b = square(n), square(n + 1)[:n, :n]
    changed = change(a)
    (result,) = ADD.run([changed, b])
    np.testing.assert_array_equal(result, np.asarray(changed) + b)


def test_torch_shares_memory_both_ways():
    a = torch.rand(8, 8)
    (result,) = ADD.run((a, a))
    back = torch.from_numpy(result)
    assert back.data_ptr() == result.ctypes.data
    assert torch.equal(back, a + a)


@pytest.mark.parametrize("rank", [0, 1, 3, 4, 5])
def test_strided_copies_of_any_rank(rank: int):
    made = Handmade(symbols=rank)
    for axis in range(rank):
        made.bind.store(made.bind.read(axis))
    count: str | int = 1
    sizes = [made.shape.read(axis) for axis in range(rank)]
    dims = [made.word(size) for size in sizes]
    for size in sizes:
        count = made.shape.op("mul", count, size)
    count_word = made.word(count)
    nbytes = made.word(made.shape.op("mul", count, 4))
    tasks = made.word(made.shape.ceil_div(count, 64))
    made.input("a", rank, nbytes)
    out = made.output(dims, nbytes)
    made.step(double_kernel(), [0, out], count_word, tasks)
    program = made.program()
    shape = [3, 4, 2, 5, 3][:rank]
    a = np.random.default_rng(rank).random(shape, np.float32)
    for array in (
        a,
        a.T,
        a[tuple(slice(None, None, -1) for _ in shape)],
        a[..., ::2] if rank else a,
    ):
        np.testing.assert_array_equal(program.run([array])[0], 2 * array)


def doubling(dtype: np.dtype, kernel: int) -> Program:
    made = Handmade()
    sizes = matrices(made, ["a"], item=dtype.itemsize, dtype=dtype)
    out = made.output([sizes.m, sizes.n], sizes.nbytes, dtype)
    made.step(kernel, [0, out], sizes.count, sizes.tasks)
    return made.program()


def test_bfloat16():
    """Doubling a bfloat16 that is neither zero nor subnormal adds one to its exponent."""
    program = doubling(
        np.dtype(ml_dtypes.bfloat16), elementwise("  %r = add i16 %x0, 128", 1, "i16")
    )
    a = np.linspace(1, 9, 30).reshape(5, 6).astype(ml_dtypes.bfloat16)
    (result,) = program.run([a])
    assert result.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(result.astype(np.float32), 2 * a.astype(np.float32))
    np.testing.assert_array_equal(program.run([a[:, ::2]])[0], result[:, ::2])
    tensor = torch.from_numpy(a.astype(np.float32)).to(torch.bfloat16)
    np.testing.assert_array_equal(program.run([tensor])[0], result)
    with pytest.raises(InputDtypeError) as caught:
        program.run([a.view(np.uint16)])
    assert (caught.value.expected, caught.value.found) == ("bfloat16", "uint16")


def test_dtypes_that_are_the_same_by_another_name():
    program = doubling(np.dtype(np.int64), elementwise("  %r = add i64 %x0, %x0", 1, "i64"))
    a = np.arange(6, dtype=np.longlong).reshape(2, 3)
    np.testing.assert_array_equal(program.run([a])[0], 2 * a)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (np.float32, (2, 32)),
        (np.float16, (2, 16)),
        (np.float64, (2, 64)),
        (np.int8, (0, 8)),
        (np.uint64, (1, 64)),
        (np.bool_, (6, 8)),
        (np.complex64, (5, 64)),
        (ml_dtypes.bfloat16, (4, 16)),
        (ml_dtypes.float8_e4m3fn, (10, 8)),
        (ml_dtypes.float8_e5m2, (12, 8)),
        (ml_dtypes.int4, (0, 8)),
    ],
)
def test_dlpack_types(dtype, expected):
    assert dlpack_type(np.dtype(dtype)) == expected


# ---- refused -----------------------------------------------------------------------------------


def refused(kind: type[RuntimeFailure], inputs) -> RuntimeFailure:
    with pytest.raises(kind) as caught:
        ADD.run(inputs)
    np.testing.assert_array_equal(ADD.run([square(), square()])[0], 2 * square())  # still usable
    return caught.value


@pytest.mark.parametrize("count", [0, 1, 3])
def test_count(count: int):
    error = refused(InputCountError, [square()] * count)
    assert (error.expected, error.found) == (2, count)
    assert str(error) == f"expected 2 inputs, got {count}"


def test_dtype():
    error = refused(InputDtypeError, [square(), square().astype(np.float64)])
    fields = (error.input, error.name, error.expected, error.found)
    assert fields == (1, "b", "float32", "float64")
    assert str(error) == "input 'b' has dtype float64, expected float32"
    error = refused(InputDtypeError, [torch.zeros(2, 2, dtype=torch.int32), square()])
    assert (error.input, error.expected, error.found) == (0, "float32", "int32")
    assert refused(InputDtypeError, [square().astype(">f4"), square()]).found == ">f4"


def test_rank():
    error = refused(InputRankError, [square()[None], square()])
    assert (error.input, error.name, error.expected, error.shape) == (0, "a", 2, (1, 6, 6))
    assert str(error) == "input 'a' has shape (1, 6, 6), expected 2 axes"
    assert refused(InputRankError, [square(), torch.zeros(3)]).shape == (3,)


@pytest.mark.parametrize("value", [None, 3.0, [[1.0]], "text", object(), torch.ones(1).to("meta")])
def test_kind(value):
    error = refused(InputKindError, [square(), value])
    assert (error.input, error.name) == (1, "b")
    assert error.found.endswith(type(value).__name__)
    assert str(error) == f"input 'b' is a {error.found}, not an array in this machine's memory"


def test_inputs_must_be_a_sequence():
    with pytest.raises(TypeError, match="not iterable"):
        ADD.run(3)


def test_failed_check_of_bind():
    error = refused(CheckFailedError, [square(6), square(6)[:, :5]])
    assert (error.stage, error.check, error.values) == ("bind", 1, (6, 6, 6, 5))
    assert str(error) == "check 1 of 'bind' failed for (6, 6, 6, 5)"
