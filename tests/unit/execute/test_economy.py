"""Calls within a memory limit: parts, steps in a row and values computed again give the same bits,
the checker proves every plan, and what cannot fit is refused."""

from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
import torch
from tests.unit.plan.economy_checking import economical, part_sizes, wrong_with_economy
from tests.unit.plan.random_functions import random_function
from torch import nn

import anyshape as ash
from anyshape.base.errors import IndexRangeError, MemoryLimitError
from anyshape.execute import Executable
from anyshape.execute.native import NativeExecutor
from anyshape.runtime import _native

NUMBERS = np.random.default_rng(0)
SQUARES = [(NUMBERS.standard_normal((64, 64)) / 8).astype(np.float32) for _ in range(4)]
WIDE = (NUMBERS.standard_normal((64, 512)) / 8).astype(np.float32)
BACK = (NUMBERS.standard_normal((512, 64)) / 22).astype(np.float32)


def skips(x: ash.f32["rows", 64]) -> Any:
    """Narrow values that are read again behind a wide one; rows meet, so there are no parts."""
    first = ash.tanh(x @ SQUARES[0])
    second = ash.tanh(first @ SQUARES[1])
    wide = ash.softmax(second @ WIDE, axis=0)
    narrow = ash.softmax(wide @ BACK, axis=0)
    return (narrow + second) @ SQUARES[2] + first


def attention(x: ash.f32["batch", "seq", 64]) -> Any:
    """Batches are each for themselves, rows of one are not."""
    q, k, v = (
        (x @ weight).reshape(x.shape[0], x.shape[1], 4, 16).transpose(0, 2, 1, 3)
        for weight in SQUARES[:3]
    )
    seen = ash.softmax(q @ k.transpose(0, 1, 3, 2) * 0.25, axis=-1) @ v
    joined = seen.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[1], 64)
    return x + ash.gelu((x + joined @ SQUARES[3]) @ WIDE) @ BACK


def compiled(function: Any, **options: Any) -> Executable:
    return ash.compile(ash.jit(function), **options)


def native(executable: Executable) -> NativeExecutor:
    assert isinstance(executable.executor, NativeExecutor)
    return executable.executor


def rows(*shape: int) -> np.ndarray:
    return np.random.default_rng(shape[0]).standard_normal(shape).astype(np.float32)


def limit_at(executable: Executable, share: float, **sizes: int) -> int:
    """Results, and a share of the usual arena."""
    memory = executable.specialize(memory_limit=1 << 60, **sizes).memory()
    return memory.outputs + int(memory.arena * share)


def limits_that_fit(executable: Executable, **sizes: int) -> Iterator[int]:
    for share in (0.97, 0.9, 0.8, 0.6, 0.4, 0.2, 0.05):
        limit = limit_at(executable, share, **sizes)
        if executable.specialize(memory_limit=limit, **sizes).economy is not None:
            yield limit


def bits(results: tuple[np.ndarray, ...]) -> list[bytes]:
    return [result.tobytes() for result in results]


# --- the same bits, in less memory ----------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2])
def test_values_are_computed_again(threads: int):
    executable = compiled(skips, threads=threads)
    x = rows(301, 64)
    limit = limit_at(executable, 0.85, rows=301)
    plan = executable.specialize(memory_limit=limit, rows=301)
    assert plan.economy is not None
    assert plan.economy.again
    assert plan.economy.parts == 1
    assert plan.memory().arena + plan.memory().outputs <= limit
    assert len(plan.steps) == len({step.number for step in plan.steps}) + len(plan.economy.again)
    assert bits(executable.run((x,), memory_limit=limit)) == bits(executable.run((x,)))
    made = economical(native(executable), {"rows": 301}, limit)
    assert wrong_with_economy(native(executable), made) is None


def most_parts(executable: Executable, x: np.ndarray, **sizes: int) -> int:
    """The most parts that a call is run in, at limits from its usual memory down: each with the
    bits of the call without a limit."""
    wanted, seen = bits(executable.run((x,))), 0
    for limit in limits_that_fit(executable, **sizes):
        made = economical(native(executable), sizes, limit)
        assert made.economy is not None
        assert wrong_with_economy(native(executable), made) is None
        assert bits(executable.run((x,), memory_limit=limit)) == wanted
        seen = max(seen, made.economy.parts)
    return seen


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("batch", "seq"), [(2, 33), (7, 16), (12, 5), (33, 1)])
def test_calls_are_run_in_parts(threads: int, batch: int, seq: int):
    executable = compiled(attention, threads=threads)
    assert most_parts(executable, rows(batch, seq, 64), batch=batch, seq=seq) > 1


def test_parts_are_of_sizes_that_the_axis_allows():
    axes = [ash.Axis("batch", min=4, multiple_of=2)]
    executable = ash.compile(ash.jit(attention, axes=axes))
    x, sizes = rows(26, 9, 64), {"batch": 26, "seq": 9}
    for limit in limits_that_fit(executable, **sizes):
        made = economical(native(executable), sizes, limit)
        parts = [size for size in part_sizes(native(executable), made) if size is not None]
        assert all(size >= 4 and size % 2 == 0 for size in parts)
        assert bits(executable.run((x,), memory_limit=limit)) == bits(executable.run((x,)))


@pytest.mark.parametrize("seed", range(12))
def test_random_functions(seed: int):
    function = random_function(seed, rows_meet=seed % 2 == 1)
    executable = ash.compile(function, threads=seed // 2 % 2 + 1)
    for count in (1, 7, 130):
        x = rows(count, 32)
        wanted = bits(executable.run((x,)))
        for limit in limits_that_fit(executable, n=count):
            made = economical(native(executable), {"n": count}, limit)
            assert wrong_with_economy(native(executable), made) is None
            assert made.memory.arena + made.memory.outputs <= limit
            assert bits(executable.run((x,), memory_limit=limit)) == wanted


def test_the_checker_finds_what_is_wrong(monkeypatch: pytest.MonkeyPatch):
    """A buffer that lies where another one is in use; and steps that do not wait for each other."""
    executable = compiled(skips, threads=1)
    made = economical(native(executable), {"rows": 301}, limit_at(executable, 0.85, rows=301))
    check = _native._wrong_with_accesses

    def moved(steps: Any, ranges: Any, window: int) -> str | None:
        first = min(at for base, at, size in ranges if base == 1 and size)
        everywhere = [(base, first if base == 1 else at, size) for base, at, size in ranges]
        return check(steps, everywhere, window)

    def overlapping(steps: Any, ranges: Any, window: int) -> str | None:
        return check(steps, ranges, window + 3)

    for broken in (moved, overlapping):
        monkeypatch.setattr(_native, "_wrong_with_accesses", broken)
        assert wrong_with_economy(native(executable), made) is not None


def test_calls_at_once_with_and_without_a_limit():
    executable = compiled(attention, threads=2)
    x = rows(9, 17, 64)
    wanted = bits(executable.run((x,)))
    limit = limit_at(executable, 0.4, batch=9, seq=17)
    wrong: list[int] = []

    def call(number: int) -> None:
        for turn in range(20):
            within = limit if (number + turn) % 2 else None
            if bits(executable.run((x,), memory_limit=within)) != wanted:
                wrong.append(number)

    threads = [Thread(target=call, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_step_by_step_and_with_an_array_for_the_result():
    stepwise = compiled(attention, executor="stepwise")
    x = rows(8, 32, 64)
    limit = limit_at(stepwise, 0.5, batch=8, seq=32)
    wanted = bits(stepwise.run((x,)))
    assert bits(stepwise.run((x,), memory_limit=limit)) == wanted
    executable, out = compiled(attention), np.zeros_like(x)
    room = limit_at(executable, 0.5, batch=8, seq=32) - out.nbytes
    executable.run((x,), memory_limit=room, out=(out,))
    assert [out.tobytes()] == wanted


def test_saved_executables_fit_too(tmp_path: Path):
    executable = compiled(attention)
    x, limit = rows(8, 32, 64), limit_at(executable, 0.5, batch=8, seq=32)
    executable.save(tmp_path / "attention.ash")
    loaded = ash.load(tmp_path / "attention.ash")
    plan = loaded.specialize(memory_limit=limit, batch=8, seq=32)
    assert str(plan.economy) == str(
        executable.specialize(memory_limit=limit, batch=8, seq=32).economy
    )
    assert bits(loaded.run((x,), memory_limit=limit)) == bits(executable.run((x,)))


def test_donated_inputs_are_not_divided():
    def grown(x: ash.f32["n", 64]) -> Any:
        return x + ash.tanh(x @ SQUARES[0]) @ SQUARES[1]

    executable = ash.compile(ash.jit(grown), donate=["x"])
    assert reasons(executable) == [
        (False, "axis 'n': inputs are donated, and results written over them")
    ]
    x = rows(40, 64)
    wanted = bits(executable.run((x.copy(),)))
    for limit in limits_that_fit(executable, n=40):
        assert bits(executable.run((x.copy(),), memory_limit=limit)) == wanted


def test_other_calls_keep_the_usual_plan():
    executable = compiled(attention)
    x = rows(8, 32, 64)
    before = executable.specialize(batch=8, seq=32).memory().arena
    executable.run((x,), memory_limit=limit_at(executable, 0.5, batch=8, seq=32))
    assert executable.specialize(batch=8, seq=32).economy is None
    assert executable.specialize(batch=8, seq=32).memory().arena == before


class Tokens(nn.Module):
    """Ids are looked up, and checked: the check sees the ids of all parts."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(64, 4, 256, dropout=0.0, batch_first=True)
        self.words, self.places = nn.Embedding(50, 64), nn.Embedding(512, 64)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.layers(self.words(ids) + self.places.weight[: ids.shape[1]])


def test_checks_of_indices_see_all_parts():
    torch.manual_seed(0)
    module = Tokens().eval()
    ids = torch.randint(0, 50, (9, 21))
    make: Any = ash.compile
    executable = make(module, (ids[:3],), axes={"ids": ("batch", "seq")}).executable
    usual = executable.specialize(batch=9, seq=21).memory()
    limit = usual.outputs + usual.arena // 2
    economy = executable.specialize(memory_limit=limit, batch=9, seq=21).economy
    assert economy is not None
    assert economy.parts > 1
    (found,) = executable.run((ids.numpy(),), memory_limit=limit)
    with torch.no_grad():
        assert np.abs(np.asarray(found) - module(ids).numpy()).max() < 1e-5
    assert np.asarray(found).tobytes() == np.asarray(executable.run((ids.numpy(),))[0]).tobytes()
    program = next(
        each.executor
        for each in getattr(executable.executor, "executables", [executable])
        if each.executor.notes.bindings.allows(
            dict(zip(each.executor.symbols, (9, 21), strict=True))
        )
    )
    made = economical(program, {"batch": 9, "seq": 21}, limit)
    assert wrong_with_economy(program, made) is None
    for row in (0, 4, 8):
        wrong = ids.numpy().copy()
        wrong[row, 3] = 77
        with pytest.raises(IndexRangeError) as caught:
            executable.run((wrong,), memory_limit=limit)
        with pytest.raises(IndexRangeError) as wanted:
            executable.run((wrong,))
        assert str(caught.value) == str(wanted.value)


@pytest.mark.parametrize("groups", [1, 8])
def test_padded_convolutions_are_run_in_parts(groups: int):
    """Their places exist where there is an image at all: a fact that every part keeps."""
    torch.manual_seed(0)
    layers = [nn.Conv2d(8, 8, 3, padding=1, groups=groups) for _ in range(3)]
    module = nn.Sequential(layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2]).eval()
    make: Any = ash.compile
    axes = {"input": ("batch", None, "h", "w")}
    executable = make(module, (torch.randn(3, 8, 17, 19),), axes=axes).executable
    for batch, height, width in ((33, 1, 1), (5, 7, 3), (8, 16, 9)):
        x = rows(batch, 8, height, width)
        with torch.no_grad():
            expected = module(torch.from_numpy(x)).numpy()
        assert np.abs(executable.run((x,))[0] - expected).max() < 1e-5
        assert most_parts(executable, x, batch=batch, h=height, w=width) > 1


# --- what is told ---------------------------------------------------------------------------------


def test_the_text_tells_what_was_chosen():
    limited = compiled(attention, memory_limit=limit_at(compiled(attention), 0.5, batch=8, seq=32))
    plan = limited.specialize(batch=8, seq=32)
    assert plan.economy is not None
    size = plan.economy.size
    assert f"  to fit: {plan.economy.parts} parts along 'batch', {size} in the first, one step" in (
        plan.as_text()
    )
    assert f"f32[{size}, 32, 64]" in plan.as_text()
    assert "to fit: " in str(limited.explain(batch=8, seq=32))
    again = compiled(skips)
    limit = limit_at(again, 0.85, rows=301)
    assert "computed again: 1 (dot+tanh)" in str(again.specialize(memory_limit=limit, rows=301))


def reasons(executable: Executable) -> list[tuple[bool, str]]:
    return [(d.taken, d.why) for d in native(executable).decisions() if d.rule == "parts"]


def test_explain_tells_which_axes_are_divided():
    may = "calls within a memory limit may be run in parts"
    assert reasons(compiled(attention)) == [(True, f"axis 'batch': {may}")]
    assert reasons(compiled(skips)) == [
        (False, "axis 'rows': softmax: elements along it meet, as far as is known")
    ]

    def counted(x: ash.f32["n", 4]) -> Any:
        return x + ash.arange(x.shape[0]).reshape(-1, 1).astype(ash.f32)

    assert reasons(compiled(counted)) == [(False, "axis 'n': iota: it counts along it")]

    def mean(x: ash.f32["n", 4]) -> Any:
        return x / x.shape[0]

    ((taken, why),) = reasons(compiled(mean))
    assert not taken
    assert why.endswith("it computes with the size")


# --- what does not fit ----------------------------------------------------------------------------


def test_what_cannot_fit_is_refused_with_what_would():
    executable = compiled(attention)
    x = rows(8, 32, 64)
    with pytest.raises(MemoryLimitError) as caught:
        executable.run((x,), memory_limit=100_000)
    needed = sum(caught.value.parts.values())
    assert needed < limit_at(executable, 1.0, batch=8, seq=32) // 2
    assert f"raise memory_limit to {needed}" in str(caught.value)
    assert bits(executable.run((x,), memory_limit=needed)) == bits(executable.run((x,)))
    with pytest.raises(MemoryLimitError):
        executable.run((x,), memory_limit=needed - 1)


@pytest.mark.parametrize("memory", [300_000, 1_000_000, 30_000_000])
def test_the_largest_batch_fits_in_parts(memory: int):
    executable = compiled(attention)
    batch = executable.largest("batch", memory=memory, seq=16)
    for more, fits in ((0, True), (1, False)):
        plan = executable.specialize(memory_limit=memory, batch=batch + more, seq=16).memory()
        assert (plan.arena + plan.outputs <= memory) is fits
    x = np.zeros((batch, 16, 64), np.float32)
    executable.run((x,), memory_limit=memory)
    whole = executable.specialize(batch=batch, seq=16).memory()
    assert whole.arena + whole.outputs > 1.5 * memory
