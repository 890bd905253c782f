"""Results in arrays of the caller: `run(arrays, out=...)`."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

import anyshape as ash
from anyshape.base.errors import DeadlineError, MemoryLimitError, OperandError, OutputError
from anyshape.execute import EXECUTORS, Executable


@ash.jit
def both(x: ash.f32["n", "m"], y: ash.f32["n", "m"]):
    return x + y, x.mT * 2


@ash.jit
def with_host_node(x: ash.f32["n", "m"], y: ash.f32["n", "m"]):
    rows, _ = ash.nonzero(x > 1e9)  # computed on the host
    return x + y + ash.sum(rows).astype(ash.f32), x.mT * 2


FUNCTIONS: Any = {"kernels": both, "host": with_host_node}


def compiled(function: str = "kernels", executor: Any = "native") -> Executable:
    return ash.compile(FUNCTIONS[function], executor=executor)


def inputs(n: int = 3, m: int = 5) -> tuple[Any, Any]:
    rng = np.random.default_rng(n * 100 + m)
    return rng.random((n, m), np.float32), rng.random((n, m), np.float32)


def wanted(x: Any, y: Any) -> tuple[Any, Any]:
    return x + y, x.T * 2


def empty(n: int, m: int) -> Any:
    return np.full((n, m), np.nan, np.float32)


def check(found: Any, expected: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(one), other)


everywhere = pytest.mark.parametrize(
    ("function", "executor"), [(f, e) for f in FUNCTIONS for e in EXECUTORS]
)


@everywhere
@pytest.mark.parametrize(("n", "m"), [(3, 5), (1, 1), (0, 4), (4, 0), (67, 129)])
def test_the_given_arrays_are_filled_and_returned(
    function: str, executor: Any, n: int, m: int
) -> None:
    x, y = inputs(n, m)
    out = empty(n, m), empty(m, n)
    found = compiled(function, executor).run((x, y), out=out)
    assert found[0] is out[0]
    assert found[1] is out[1]
    check(found, wanted(x, y))


@everywhere
def test_none_asks_for_a_new_array(function: str, executor: Any) -> None:
    x, y = inputs()
    out = empty(5, 3)
    first, second = compiled(function, executor).run((x, y), out=(None, out))
    assert second is out
    check((first, second), wanted(x, y))


@everywhere
def test_arrays_with_gaps(function: str, executor: Any) -> None:
    x, y = inputs()
    room = np.full((6, 20), 7, np.float32)
    out = room[::2, 3:13:2], empty(3, 5).T
    check(compiled(function, executor).run((x, y), out=out), wanted(x, y))
    check(out, wanted(x, y))
    assert (room[1::2] == 7).all()
    assert (room[::2, 4:13:2] == 7).all()


@everywhere
def test_two_halves_of_one_array(function: str, executor: Any) -> None:
    x, y = inputs(4, 4)
    whole = empty(4, 8)
    compiled(function, executor).run((x, y), out=(whole[:, :4], whole[:, 4:]))
    np.testing.assert_array_equal(whole, np.concatenate(wanted(x, y), 1))


@everywhere
def test_out_is_an_input_or_a_part_of_one(function: str, executor: Any) -> None:
    run = compiled(function, executor).run
    x, y = inputs(4, 4)
    expected = wanted(x, y)
    for chosen in (lambda a, b: (a, b), lambda a, b: (b, a), lambda a, b: (a.T, b[::-1])):
        a, b = x.copy(), y.copy()
        check(run((a, b), out=chosen(a, b)), expected)
    long = np.concatenate([x, y, x])
    check(run((long[:4], long[4:8]), out=(long[2:6], None)), expected)


@everywhere
def test_misaligned(function: str, executor: Any) -> None:
    x, y = inputs()
    raw = np.zeros(61, np.uint8)
    out = raw[1:].view(np.float32).reshape(3, 5)
    assert not out.flags.aligned
    check(compiled(function, executor).run((x, y), out=(out, None)), wanted(x, y))
    np.testing.assert_array_equal(out, x + y)


@everywhere
def test_torch(function: str, executor: Any) -> None:
    x, y = (torch.from_numpy(array) for array in inputs())
    out = torch.zeros(3, 5), torch.zeros(6, 3)[1:]
    found = compiled(function, executor).run((x, y), out=out)
    assert found[0] is out[0]
    assert found[1] is out[1]
    check(out, wanted(x.numpy(), y.numpy()))
    turned = torch.zeros(5, 3).T
    compiled(function, executor).run((x, y), out=(turned, None))
    np.testing.assert_array_equal(turned.numpy(), (x + y).numpy())


@pytest.mark.parametrize("executor", EXECUTORS)
def test_bfloat16(executor: Any) -> None:
    @ash.jit
    def negated(x: ash.bf16["n"]):
        return -x

    run = ash.compile(negated, executor=executor).run
    x = np.array([1, -2, np.inf], ml_dtypes.bfloat16)
    for out in (torch.zeros(3, dtype=torch.bfloat16), torch.zeros(6, dtype=torch.bfloat16)[::2]):
        assert run((x,), out=(out,))[0] is out
        assert out.tolist() == [-1, 2, -np.inf]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_anything_that_gives_writeable_memory_through_dlpack(executor: Any) -> None:
    class Holder:
        def __init__(self) -> None:
            self.array = empty(3, 5)

        def __dlpack__(self, **options: Any) -> Any:
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self) -> Any:
            return (1, 0)

    x, y = inputs()
    holder = Holder()
    found = compiled(executor=executor).run((x, y), out=(holder, None))
    assert found[0] is holder
    np.testing.assert_array_equal(holder.array, x + y)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_results_that_are_returned_twice_or_are_inputs(executor: Any) -> None:
    @ash.jit
    def same(x: ash.f32["n", "m"]):
        y = x * 2
        return y, x, y, x.reshape(-1), y

    run = ash.compile(same, executor=executor).run
    x, _ = inputs()
    expected = (2 * x, x, 2 * x, x.ravel(), 2 * x)
    flat = np.empty(15, np.float32)
    out = empty(3, 5), empty(3, 5), empty(3, 5), flat, None
    found = run((x,), out=out)
    check(found, expected)
    assert all(one is other for one, other in zip(found, out, strict=True) if other is not None)
    check(run((x,), out=(None, x, None, None, empty(3, 5))), expected)
    doubled = x.copy()
    check(run((doubled,), out=(None, None, doubled, None, None)), expected)


def test_native_code_writes_straight_into_it() -> None:
    """No memory is taken for results, where there is none to be had."""
    x, y = inputs(64, 64)
    executable = compiled()
    limit = executable.specialize(n=64, m=64).memory().arena
    out = empty(64, 64), empty(64, 64)
    executable.run((x, y), out=out, memory_limit=limit)
    check(out, wanted(x, y))
    for copied_in in (out[0].T, x):
        with pytest.raises(MemoryLimitError, match="results 16,384"):
            executable.run((x, y), out=(copied_in, out[1]), memory_limit=limit)


@everywhere
def test_deadlines(function: str, executor: Any) -> None:
    executable = compiled(function, executor)
    x, y = inputs()
    out = empty(3, 5), empty(5, 3)
    with pytest.raises(DeadlineError):
        executable.run((x, y), out=out, deadline=0)
    check(executable.run((x, y), out=out, deadline=60), wanted(x, y))


# --- refused --------------------------------------------------------------------------------------


def refused(out: Any, function: str = "kernels", executor: Any = "native") -> str:
    x, y = inputs()
    with pytest.raises(OutputError) as caught:
        compiled(function, executor).run((x, y), out=out)
    return str(caught.value).splitlines()[0]


def read_only() -> Any:
    array = empty(3, 5)
    array.flags.writeable = False
    return array


@everywhere
def test_what_cannot_be_written(function: str, executor: Any) -> None:
    shape = "out for result 0: expected f32[3, 5], got f32[3, 6]"
    assert refused((empty(3, 6), None), function, executor) == shape
    other = np.empty((3, 5))
    text = "out for result 0: expected f32[n, m], got "
    assert refused((other, None), function, executor) == text + "f64[3, 5]"
    assert refused((np.empty(3, np.float32), None), function, executor) == text + "f32[3]"
    assert refused(([1.0], None), function, executor) == text + "a list, no array"
    assert refused((read_only(), None), function, executor) == (
        "out for result 0: expected a writeable f32[n, m], got an array that is read-only"
    )
    shared = torch.zeros(3, 1).expand(3, 5)
    problem = "an array whose elements share memory"
    assert refused((shared, None), function, executor) == text + problem
    one = np.empty(25, np.float32)
    assert refused((one[:15].reshape(3, 5), one[10:].reshape(5, 3)), function, executor) == (
        "out for result 1: expected memory of its own, not that of result 0, "
        "got an array that overlaps it"
    )


def test_tensors_that_are_elsewhere_or_computed() -> None:
    text = "out for result 0: expected f32[n, m] in this machine's memory, got a tensor on"
    for tensor in (torch.empty(3, 5, device="meta"), torch.zeros(3, 5, requires_grad=True)):
        assert refused((tensor, None)).startswith(text)


def test_the_fix() -> None:
    with pytest.raises(OutputError) as caught:
        compiled().run(inputs(), out=(empty(1, 1), None))
    assert (caught.value.result, caught.value.expected) == ("result 0", "f32[3, 5]")
    assert caught.value.found == "f32[1, 1]"
    assert str(caught.value).splitlines()[1] == "fix: pass such an array, or None for a new one"


def test_a_refused_call_writes_nothing() -> None:
    x, y = inputs()
    first = np.zeros((3, 5), np.float32)
    with pytest.raises(OutputError):
        compiled().run((x, y), out=(first, empty(5, 4)))
    assert (first == 0).all()


def test_the_number_of_arrays() -> None:
    with pytest.raises(OperandError, match="got 1 arrays in out, expected 2"):
        compiled().run(inputs(), out=(None,))
