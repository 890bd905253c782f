"""The largest size that fits: it does, and the next one does not."""

from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.base.errors import (
    BindingNamesError,
    CapabilityError,
    FactViolationError,
    InputError,
    MemoryLimitError,
)
from anyshape.execute import Executable


def two_products(x: ash.f32["batch", "seq", 64], w: ash.f32[64, 256], v: ash.f32[256, 64]) -> Any:
    return ash.gelu(x @ w) @ v


@pytest.fixture(scope="module")
def executable() -> Executable:
    return ash.compile(ash.jit(two_products))


def needed(executable: Executable, limit: int, **sizes: int) -> int:
    """By the plan of a specialization within the limit, which the answer does not make."""
    memory = executable.specialize(memory_limit=limit, **sizes).memory()
    return memory.arena + memory.outputs


@pytest.mark.parametrize("memory", [5_000, 100_000, 3_333_333, "1 GiB"])
@pytest.mark.parametrize("seq", [1, 7, 131])
def test_it_fits_and_one_more_does_not(executable: Executable, memory: int | str, seq: int) -> None:
    limit = 1 << 30 if memory == "1 GiB" else int(memory)
    batch = executable.largest("batch", memory=memory, seq=seq)
    assert needed(executable, limit, batch=batch, seq=seq) <= limit
    assert needed(executable, limit, batch=batch + 1, seq=seq) > limit


def test_calls_are_held_to_the_same_number(executable: Executable) -> None:
    batch = executable.largest("batch", memory=100_000, seq=9)
    weights = np.zeros((64, 256), np.float32), np.zeros((256, 64), np.float32)

    def call(batch: int) -> None:
        x = np.zeros((batch, 9, 64), np.float32)
        executable.run((x, *weights), memory_limit=100_000)

    call(batch)
    with pytest.raises(MemoryLimitError):
        call(batch + 1)


def compiled(axis: ash.Axis, where: list[str] | None = None) -> Executable:
    def double(x: ash.f32["n", "k"]) -> Any:
        return x * 2.0

    return ash.compile(ash.jit(double, axes=[axis], where=where or []))


@pytest.mark.parametrize(
    ("axis", "where", "size"),
    [
        (ash.Axis("n", max=100), [], 100),
        (ash.Axis("n", min=1, multiple_of=8), [], 1000),
        (ash.Axis("n", ranges=[(0, 10), (600, 700), (2000, None)]), [], 700),
        (ash.Axis("n"), ["n % 7 == 0"], 1001),
        (ash.Axis("n"), ["n <= 33"], 33),
        (ash.Axis("n"), ["n == 2 * k"], 2),
    ],
    ids=str,
)
def test_only_sizes_that_the_model_takes(axis: ash.Axis, where: list[str], size: int) -> None:
    """Of 1,007 rows that would fit."""
    assert compiled(axis, where).largest("n", memory=4 * 1007, k=1) == size


def test_a_graph_of_no_memory_has_no_limit() -> None:
    assert compiled(ash.Axis("n")).largest("n", memory=0, k=0) > 1 << 40


def test_not_even_the_least_size(executable: Executable) -> None:
    exe = compiled(ash.Axis("n", min=3))
    with pytest.raises(MemoryLimitError) as caught:
        exe.largest("n", memory=100, k=10)
    assert str(caught.value) == (
        "graph 'double' at k=10, n=3 needs 120 bytes (results 120), the limit is 100\n"
        "fix: raise memory_limit to 120"
    )


def test_what_is_asked_must_make_sense(executable: Executable) -> None:
    with pytest.raises(BindingNamesError, match="has no axis 'heads'"):
        executable.largest("heads", memory=100)
    with pytest.raises(BindingNamesError, match="axis 'seq' has no size"):
        executable.largest("batch", memory=100)
    with pytest.raises(InputError, match="'batch' has a size, and is asked for one"):
        executable.largest("batch", memory=100, batch=2, seq=1)
    with pytest.raises(FactViolationError):
        compiled(ash.Axis("n"), ["k > 4"]).largest("n", memory=100, k=1)


def test_sizes_that_data_decide_are_planned_as_they_come() -> None:
    def positive(x: ash.f32["n"]) -> Any:
        return x[x > 0] * 2.0

    exe = ash.compile(ash.jit(positive))
    with pytest.raises(CapabilityError, match="depend on data as it runs"):
        exe.largest("n", memory=1000)
