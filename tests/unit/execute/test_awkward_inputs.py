"""Inputs that are not simply dense memory, on every executor: read right, and left as they were."""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.lib.stride_tricks import as_strided

import anyshape as ash
from anyshape.execute import EXECUTORS


@ash.jit
def mixed(x: ash.f32["n", "m"], y: ash.f32["n", "m"]):
    return x * 2 - y, ash.sum(x, 1)


@ash.jit
def mixed_with_host(x: ash.f32["n", "m"], y: ash.f32["n", "m"]):
    rows, _ = ash.nonzero(x > 1e9)  # computed on the host
    return x * 2 - y + ash.sum(rows).astype(ash.f32), ash.sum(x, 1)


def dense(n: int, m: int) -> Any:
    return np.random.default_rng(n + m).random((n, m), np.float32)


def misaligned(array: Any) -> Any:
    raw = np.zeros(array.nbytes + 9, np.uint8)
    moved = raw[1 - raw.ctypes.data % 4 + 4 :][: array.nbytes].view(np.float32)
    moved = moved.reshape(array.shape)
    moved[...] = array
    return moved


def read_only(array: Any) -> Any:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def with_odd_strides(array: Any) -> Any:
    """Where there are no elements, strides mean nothing."""
    if array.size:
        return array
    return as_strided(array, array.shape, (-12345, 1))


def copied(array: Any) -> Any:
    return np.array(array.numpy() if isinstance(array, torch.Tensor) else array)


LAYOUTS: dict[str, Any] = {
    "read-only": read_only,
    "misaligned": misaligned,
    "misaligned with gaps": lambda a: misaligned(np.repeat(a, 2, 1))[:, ::2],
    "columns first": np.asfortranarray,
    "gaps": lambda a: np.repeat(np.repeat(a, 3, 0), 2, 1)[::3, ::2],
    "backwards": lambda a: a[::-1, ::-1],
    "repeated rows": lambda a: np.broadcast_to(a[:1], a.shape) if len(a) else a,
    "repeated elements": lambda a: np.broadcast_to(np.float32(1.5), a.shape),
    "part of a row": lambda a: np.pad(a, ((1, 2), (3, 1)))[1:-2, 3:-1],
    "odd strides": with_odd_strides,
    "torch transposed": lambda a: torch.from_numpy(np.ascontiguousarray(a.T)).T,
    "torch gaps": lambda a: torch.from_numpy(np.repeat(a, 2, 1))[:, ::2],
    "torch repeated": lambda a: torch.ones(1).expand(a.shape),
    "torch part": lambda a: torch.from_numpy(np.pad(a, ((1, 2), (3, 1))))[1:-2, 3:-1],
    "torch misaligned": lambda a: torch.from_numpy(misaligned(a)),
}


@pytest.mark.parametrize("function", [mixed, mixed_with_host])
@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str, executor: Any, function: Any) -> None:
    executable = ash.compile(function, executor=executor)
    for n, m in ((3, 5), (1, 1), (1, 7), (7, 1), (0, 3), (3, 0), (65, 33)):
        y = dense(n, m)
        x = LAYOUTS[layout](dense(m, n).T.copy())
        before = copied(x)
        first, second = executable(x, y)
        np.testing.assert_array_equal(copied(first), before * 2 - y)
        np.testing.assert_allclose(copied(second), before.sum(1), rtol=1e-5)
        np.testing.assert_array_equal(copied(x), before)


@pytest.mark.parametrize("function", [mixed, mixed_with_host])
@pytest.mark.parametrize("executor", EXECUTORS)
def test_inputs_that_overlap(executor: Any, function: Any) -> None:
    executable = ash.compile(function, executor=executor)
    memory = dense(9, 4)
    pairs = [(memory[:5], memory[:5]), (memory[:5], memory[2:7]), (memory[:5], memory[4::-1])]
    for x, y in (*pairs, *((torch.from_numpy(a.copy()), b.copy()) for a, b in pairs)):
        np.testing.assert_array_equal(copied(executable(x, y)[0]), copied(x) * 2 - y)


def test_the_misaligned_is_misaligned() -> None:
    assert not misaligned(dense(3, 5)).flags.aligned
    assert torch.from_numpy(misaligned(dense(3, 5))).data_ptr() % 4
