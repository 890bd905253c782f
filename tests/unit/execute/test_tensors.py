"""Arrays of other libraries, in and out."""

import subprocess
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

import anyshape as ash
from anyshape.base.errors import DTypeError, InputError
from anyshape.execute import EXECUTORS

DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int8", "uint8", "uint16", "bool")
ASH = {
    "float32": ash.f32, "float64": ash.f64, "float16": ash.f16, "bfloat16": ash.bf16,
    "int64": ash.i64, "int8": ash.i8, "uint8": ash.u8, "uint16": ash.u16, "bool": ash.bool,
}  # fmt: skip


def copy_of(dtype: str, executor: Any = "native") -> Any:
    """x and its transpose, compiled."""

    def both(x: Any) -> Any:
        return x, x.mT

    both.__annotations__["x"] = ASH[dtype]["n", "m"]
    return ash.compile(ash.jit(both), executor=executor)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_torch_in_torch_out(dtype: str, executor: Any) -> None:
    given = torch.arange(6).reshape(2, 3).to(getattr(torch, dtype))
    plain, turned = copy_of(dtype, executor)(given)
    assert plain.dtype == turned.dtype == given.dtype
    assert torch.equal(plain, given)
    assert torch.equal(turned, given.T)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_tensors_that_are_not_dense(executor: Any) -> None:
    executable = copy_of("bfloat16", executor)
    base = torch.arange(24).reshape(4, 6).to(torch.bfloat16)
    for given in (base.T, base[::2, ::3], base[:0], base[1:, 2:], base.expand(3, 4, 6)[1]):
        assert torch.equal(executable(given)[0], given)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_negation_that_torch_has_yet_to_do(executor: Any) -> None:
    """The imaginary part of a conjugate is a view whose elements are negated when they are read."""
    given = torch.tensor([[1 + 2j, 3 - 4j]], dtype=torch.complex64).conj().imag
    assert given.is_neg()
    assert torch.equal(copy_of("float32", executor)(given)[0], torch.tensor([[-2.0, 4.0]]))


def test_results_own_their_memory() -> None:
    given = torch.ones(2, 3)
    executable = copy_of("float32")
    first, second = executable(given)[0], executable(given)[0]
    first += 1
    assert torch.equal(given, torch.ones(2, 3))
    assert torch.equal(second, torch.ones(2, 3))


def test_results_are_not_copied_for_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    executable = copy_of("bfloat16")
    made: list[Any] = []
    run = executable.run_checked

    def kept(arrays: Any) -> Any:
        made.extend(run(arrays))
        return tuple(made)

    monkeypatch.setattr(executable, "run_checked", kept)
    results = executable(torch.ones(2, 3, dtype=torch.bfloat16))
    assert [t.data_ptr() for t in results] == [array.ctypes.data for array in made]


def test_one_tensor_among_arrays_makes_all_results_tensors() -> None:
    @ash.jit
    def both(x: ash.f32["n"], y: ash.f32["n"]):
        return x + y, y

    executable = ash.compile(both)
    x = np.ones(3, np.float32)
    assert all(isinstance(r, torch.Tensor) for r in executable(x, torch.ones(3)))
    assert all(isinstance(r, np.ndarray) for r in executable(x, x))


def test_objects_that_speak_dlpack_or_array_give_numpy() -> None:
    class Dlpack:
        def __dlpack__(self, **options: Any) -> Any:
            return np.ones((2, 3), np.float32).__dlpack__(**options)

        def __dlpack_device__(self) -> Any:
            return (1, 0)

    class Array:
        def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
            return np.ones((2, 3), np.float32)

    class Subclass(np.ndarray[Any, Any]):
        pass

    given: list[Any] = [Dlpack(), Array(), np.ones((2, 3), np.float32).view(Subclass)]
    for executor in EXECUTORS:
        for thing in given:
            (plain, _) = copy_of("float32", executor)(thing)
            assert type(plain) is np.ndarray
            np.testing.assert_array_equal(plain, np.ones((2, 3)))


def test_bfloat16_arrays_of_numpy() -> None:
    given = np.array([[1.5, -2.0]], ml_dtypes.bfloat16)
    (plain, _) = copy_of("bfloat16")(given)
    assert plain.dtype == ml_dtypes.bfloat16
    assert plain.tobytes() == given.tobytes()


# --- what cannot be read --------------------------------------------------------------------------


def refused(*arrays: Any, executor: Any = "native") -> str:
    with pytest.raises(InputError) as caught:
        copy_of("float32", executor)(*arrays)
    return str(caught.value)


def test_tensors_with_gradients() -> None:
    for executor in EXECUTORS:
        assert refused(torch.ones(2, 3, requires_grad=True), executor=executor) == (
            "input 'x' requires grad, and results would be cut off from its gradient\n"
            "fix: pass x.detach()"
        )


def test_tensors_elsewhere() -> None:
    assert refused(torch.ones(2, 3, device="meta")) == (
        "input 'x' is on device 'meta', not in this machine's memory\nfix: pass x.cpu()"
    )


def test_tensors_that_are_no_memory() -> None:
    assert refused(torch.ones(2, 3).to_sparse()) == (
        "input 'x' is a torch.Tensor that is not dense memory of this machine\n"
        "fix: pass x.to_dense()"
    )


def test_what_is_no_array() -> None:
    assert refused([[1.0]]) == ("input 'x' is a list, no array\nfix: pass np.asarray(x, 'float32')")


def test_the_dtype_of_a_tensor() -> None:
    with pytest.raises(DTypeError) as caught:
        copy_of("float32")(torch.ones(2, 3, dtype=torch.bfloat16))
    assert str(caught.value) == ("input 'x': expected f32, got bf16\nfix: pass x.to(torch.float32)")


def test_torch_is_not_imported_for_this() -> None:
    script = (
        "import sys, numpy as np, anyshape as ash\n"
        "def f(x: ash.f32[()]): return x + 1\n"
        "print(ash.jit(f)(np.float32(1)), 'torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("2.0 False\n", "")
