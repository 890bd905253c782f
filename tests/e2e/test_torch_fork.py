"""Forks while another thread captures a torch model or changes its buffers."""

import threading
from collections.abc import Callable

import numpy as np
import pytest
import torch
from tests.forks import in_child
from tests.watchdog import HANGS_AFTER

import anyshape as ash
from anyshape.base.errors import ForkedCaptureError

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns of its own parts, Python of forks


class Twice(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


class Blocked(torch.nn.Module):
    """Captured for as long as one likes."""

    def __init__(self) -> None:
        super().__init__()
        self.inside, self.over = threading.Event(), threading.Event()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.inside.set()
        self.over.wait(HANGS_AFTER)
        return x + 1


def compiled(model: torch.nn.Module) -> Callable[..., np.ndarray]:
    return ash.compile(model, (torch.ones(3),), axes={"x": ("n",)})


@ash.jit
def plus_one(x: ash.f32["n"]):
    return x + 1


X = np.arange(5, dtype=np.float32)


def test_a_capture_that_a_fork_cut_off_is_told():
    before, blocked = compiled(Twice()), Blocked()
    thread = threading.Thread(target=compiled, args=(blocked,))
    thread.start()
    assert blocked.inside.wait(HANGS_AFTER)

    def all_but_capturing() -> bool:
        with pytest.raises(ForkedCaptureError):
            compiled(Twice())
        assert np.array_equal(plus_one(X), X + 1)
        return np.array_equal(before(X), X * 2)

    assert in_child(all_but_capturing)
    blocked.over.set()
    thread.join()
    assert in_child(lambda: np.array_equal(compiled(Twice())(X), X * 2))


class Counter(torch.nn.Module):
    """All elements of its buffer are equal, except while a call changes them."""

    count: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(1_000_000))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(1)
        return x + self.count[0]


def test_a_child_has_buffers_that_are_whole():
    model, over = ash.compile(Counter(), (torch.ones(3),), axes={"x": ("n",)}), threading.Event()

    def call_often() -> None:
        while not over.is_set():
            model(X)

    def goes_on() -> bool:
        count = model.state["count"]
        return bool((count == count[0]).all()) and np.array_equal(model(X), X + count[0] + 1)

    thread = threading.Thread(target=call_often, daemon=True)
    thread.start()
    for _ in range(5):
        assert in_child(goes_on)
    over.set()
    thread.join()
