"""Models whose code branches on sizes: each case has a program, and results are those of eager.

Compiled at several examples and compared at every size in a square that includes 0 and 1. Where
eager raises, the call raises a typed error with the model's own words.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

import anyshape as ash
from anyshape.api.transformers_exporter import AnyshapeExporter
from anyshape.base.errors import (
    AnyshapeError,
    BindingNamesError,
    BranchLimitError,
    CancelledError,
    MemoryLimitError,
    OptionError,
    RefusedCaseError,
    ResultCacheError,
    UncapturedCaseError,
)
from anyshape.execute import BranchedExecutable, Executable

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns of its own parts

Function = Callable[[Any], Any]
AXES = {"x": ("b", "n")}
EXAMPLES = [(4, 6), (8, 5), (1, 1), (3, 3), (0, 2)]
SQUARE = list(itertools.product(range(11), range(11)))


class Calling(torch.nn.Module):
    """A function of one tensor as a module."""

    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


def three_ways(x: Any) -> Any:
    if x.shape[0] > 7:
        return x + 1
    if x.shape[0] > 3:
        return x * 2
    return x - 1


def nested(x: Any) -> Any:
    if x.shape[0] > 4:
        if x.shape[1] % 2:
            return x + 1
        return x + 2
    return x + 3


def in_a_loop(x: Any) -> Any:
    for _ in range(5):
        x = x * 2 if x.shape[0] > 4 else x + 1
    return x


def two_axes(x: Any) -> Any:
    y = x + 1 if x.shape[0] > 2 else x - 1
    return y * 2 if x.shape[1] > 5 else y * 3


def pads_to_even(x: Any) -> Any:
    if x.shape[1] % 2:
        x = torch.nn.functional.pad(x, (0, 1))
    return x.reshape(x.shape[0], x.shape[1] // 2, 2).amax(-1)


def refuses_long(x: Any) -> Any:
    if x.shape[1] > 8:
        raise ValueError("too long")
    return x + 1


def asserts_several(x: Any) -> Any:
    assert x.shape[1] > 1, "one is no sequence"
    return x + 1


def raises_in_a_branch(x: Any) -> Any:
    if x.shape[0] > 4:
        if x.shape[1] > 6:
            raise ValueError("too large")
        return x * 2
    return x


FOLLOWED: dict[str, Function] = {
    "if": lambda x: x * 2 if x.shape[0] > 4 else x,
    "three ways": three_ways,
    "nested": nested,
    "in a loop": in_a_loop,
    "two axes": two_axes,
    "odd": lambda x: x + 1 if x.shape[1] % 2 else x - 1,
    "pads to even": pads_to_even,
    "one": lambda x: x + 1 if x.shape[0] == 1 else x - 1,
    "one certain size": lambda x: x + 1 if x.shape[1] == 6 else x - 1,
    "one of two sizes": lambda x: x + 1 if x.shape[1] in (6, 8) else x - 1,
    "axes compared": lambda x: x + 1 if x.shape[0] < x.shape[1] else x - 1,
    "a square": lambda x: x + x.t() if x.shape[0] == x.shape[1] else x - 1,
    "a float": lambda x: x + 1 if x.shape[1] / 2 > 3.5 else x - 1,
    "numel": lambda x: x + 1 if x.numel() > 20 else x - 1,
    "empty": lambda x: x + 2 if x.numel() == 0 else x + 1,
    "stride": lambda x: x + 1 if x.stride(0) > 4 else x - 1,
    "squeeze": lambda x: x.squeeze(0) + 1,
    "squeeze all": lambda x: x.squeeze() + 1,
    "rounded up": lambda x: x + 1 if math.ceil(x.shape[1] / 2) * 2 != x.shape[1] else x - 1,
    "rounded down": lambda x: x + 1 if math.floor(x.shape[1] / 4) * 4 != x.shape[1] else x - 1,
    "cut off": lambda x: x + 1 if int(x.shape[1] / 3) * 3 != x.shape[1] else x - 1,
    "cut off below 0": lambda x: x + 1 if int((x.shape[1] - 5) / 2) > -1 else x - 1,
    "number of chunks": lambda x: x * len(x.chunk(4, 1)),
    "number of chunks beside ops in parts": lambda x: x.logit(0.1) * len(x.chunk(4, 1)),
    "rank beside ops in parts": lambda x: x.logit(0.1) * x.squeeze().dim(),
    "refused for want of 4": lambda x: x.logit(0.1) * x.reshape(-1, 4).shape[0],
    "last chunk": lambda x: x.chunk(3, 1)[-1],
    "refuses long": refuses_long,
    "asserts": asserts_several,
    "raises in a branch": raises_in_a_branch,
}


def eager(function: Function, x: Any) -> Any:
    """What the model gives; None where it raises itself."""
    try:
        return function(x)
    except (RuntimeError, ValueError, AssertionError, IndexError):
        return None


def compiled(function: Function, example: tuple[int, int] = (4, 6), **chosen: Any) -> Any:
    chosen = {"executor": "reference", "axes": AXES, **chosen}
    return ash.compile(Calling(function), (torch.zeros(example),), **chosen)


def differences(function: Function, fast: Any) -> Iterator[tuple[int, int]]:
    """The sizes at which a compiled model does not do what eager does."""
    for size in SQUARE:
        x = torch.randn(size)
        wanted = eager(function, x)
        try:
            result = fast(x)
        except AnyshapeError:
            result = None
        if (result is None) != (wanted is None) or (wanted is not None and _differ(result, wanted)):
            yield size


def _differ(left: Any, right: Any) -> bool:
    return left.shape != right.shape or not torch.allclose(left, right, atol=1e-6)


@pytest.mark.parametrize("name", FOLLOWED)
def test_every_branch_is_followed(name: str) -> None:
    for example in EXAMPLES:
        if eager(FOLLOWED[name], torch.zeros(example)) is not None:
            fast = compiled(FOLLOWED[name], example)
            assert list(differences(FOLLOWED[name], fast)) == [], example


@pytest.mark.parametrize("name", ["nested", "squeeze all", "a square", "raises in a branch"])
@pytest.mark.parametrize("executor", ["native", "stepwise"])
def test_compiled_code_follows_them_too(name: str, executor: str) -> None:
    fast = compiled(FOLLOWED[name], executor=executor)
    assert list(differences(FOLLOWED[name], fast)) == []


def test_the_interpreter_of_loops_does() -> None:
    options = ash.Options(target="interpreter")
    fast = compiled(nested, executor="native", options=options)
    for size in ((5, 3), (5, 4), (2, 2), (0, 1)):
        x = torch.randn(size)
        assert torch.equal(fast(x), nested(x))


def test_splits_are_followed_within_a_range() -> None:
    def function(x: Any) -> Any:
        return torch.cat([part * i for i, part in enumerate(x.split(2, 1))], 1)

    axes = {"x": ("b", ash.Axis("n", max=10))}
    fast = compiled(function, axes=axes)
    assert list(differences(function, fast)) == []


COUNTED: dict[str, Function] = {
    "chunk": lambda x: x.chunk(x.shape[1] // 2, 1),
    "chunk by name": lambda x: torch.chunk(x, chunks=min(x.shape[1], 4), dim=1),
    "chunk of a product": lambda x: x.reshape(-1).chunk(x.shape[0] * x.shape[1]),
    "chunk, one of them": lambda x: x.chunk(x.shape[1] // 2, 1)[:1],
    "unsafe_chunk": lambda x: torch.unsafe_chunk(x, x.shape[1] // 2, 1),
    "tensor_split": lambda x: x.tensor_split(x.shape[1] // 2, 1),
    "hsplit": lambda x: torch.hsplit(x[:, : x.shape[1] // 2], x.shape[1] // 2),
    "range": lambda x: [x * i for i in range(x.shape[1] // 2)],
}
"""Parts, of which the model's code computes how many there are."""


@pytest.mark.parametrize("name", COUNTED)
def test_a_number_of_parts_that_is_computed_from_sizes_is_a_case(name: str) -> None:
    function, same = COUNTED[name], []
    fast = compiled(function, (4, 6))
    for size in SQUARE:
        x = torch.randn(size)
        try:
            result = fast(x)
        except AnyshapeError:
            continue
        wanted = eager(function, x)
        assert wanted is not None, size
        assert len(result) == len(wanted), size
        assert not any(map(_differ, result, wanted)), size
        same.append(size)
    assert (4, 6) in same


# --- how many -------------------------------------------------------------------------------------


def programs(fast: Any) -> int:
    executable = fast.executable
    return len(executable.executor.executables) if _is_branched(executable) else 1


def _is_branched(executable: Executable) -> bool:
    return isinstance(executable, BranchedExecutable)


@pytest.fixture
def exports(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Grows with each export."""
    done: list[Any] = []
    own = torch.export.export

    def counted(*args: Any, **kwargs: Any) -> Any:
        done.append(args)
        return own(*args, **kwargs)

    monkeypatch.setattr(torch.export, "export", counted)
    return done


def test_a_model_without_branches_is_captured_once(exports: list[Any]) -> None:
    fast = compiled(lambda x: torch.softmax(x @ x.t(), -1))
    assert len(exports) == 1
    assert type(fast.executable) is Executable


def test_a_decoder_with_a_cache_is_captured_once(exports: list[Any]) -> None:
    """What it asks of sizes makes no difference, or follows from its axes."""
    import transformers as tf

    sizes: dict[str, int] = {"vocab_size": 50, "n_embd": 16, "n_layer": 2, "n_head": 2}
    model: Any = tf.GPT2LMHeadModel(tf.GPT2Config(**sizes)).eval()
    cache = tf.DynamicCache(config=model.config)
    for layer in range(2):
        cache.update(torch.randn(1, 2, 3, 8), torch.randn(1, 2, 3, 8), layer)
    ids = torch.zeros(1, 2, dtype=torch.long)
    mask = torch.ones(1, 5, dtype=torch.long)
    given = {"input_ids": ids, "attention_mask": mask, "past_key_values": cache}
    fast = AnyshapeExporter().export(model, given)
    assert len(exports) == 1
    assert type(fast.executable) is Executable


def test_a_condition_that_axes_settle_is_no_branch(exports: list[Any]) -> None:
    axes = {"x": (ash.Axis("b", min=5), "n")}
    fast = compiled(FOLLOWED["if"], (6, 6), axes=axes)
    assert len(exports) == 1
    assert type(fast.executable) is Executable


def test_what_an_op_needs_is_no_branch(exports: list[Any]) -> None:
    table = torch.randn(16, 3)
    fast = compiled(lambda x: x[:, :3] + table[: x.shape[0]])
    assert len(exports) == 1
    assert type(fast.executable) is Executable


@pytest.mark.parametrize(
    ("name", "wanted"), [("if", 2), ("in a loop", 2), ("nested", 3), ("two axes", 4), ("odd", 2)]
)
def test_as_many_programs_as_cases(name: str, wanted: int, exports: list[Any]) -> None:
    fast = compiled(FOLLOWED[name])
    assert programs(fast) == wanted
    assert len(exports) == wanted


def test_one_branch_only() -> None:
    fast = compiled(FOLLOWED["if"], branches=1)
    assert type(fast.executable) is Executable
    assert torch.equal(fast(torch.ones(4, 2)), torch.ones(4, 2))
    with pytest.raises(AnyshapeError, match="'b <= 4' does not hold for b=5"):
        fast(torch.ones(5, 2))


# --- what cases share -----------------------------------------------------------------------------


class TwoWays(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(64, 64)
        self.more = torch.nn.Linear(64, 64)

    def forward(self, x: Any) -> Any:
        y = self.linear(x)
        return self.more(torch.relu(y)) if x.shape[0] > 4 else y


ROWS = {"x": ("b", None)}


@pytest.mark.parametrize("consume", [False, True])
def test_weights_are_held_once(consume: bool) -> None:
    module = TwoWays()
    small, large = torch.randn(2, 64), torch.randn(9, 64)
    with torch.no_grad():
        wanted = module(small), module(large)
    fast = ash.compile(module, (torch.zeros(3, 64),), axes=ROWS, consume=consume)
    torch.testing.assert_close((fast(small), fast(large)), wanted)
    first, second = (each.executor.weights for each in fast.executable.executor.executables)
    assert sum(first.values()) > 64 * 64 * 4, "the weights of the first layer"
    assert first.items() <= second.items(), "the same memory"
    assert fast.memory().weights == sum(second.values())


class NormedWays(TwoWays):
    def forward(self, x: Any) -> Any:
        y = x @ torch.tanh(self.linear.weight)
        return torch.relu(y) if x.shape[0] > 4 else y


def test_computed_weights_are_held_once() -> None:
    module = NormedWays()
    small, large = torch.randn(2, 64), torch.randn(9, 64)
    with torch.no_grad():
        wanted = module(small), module(large)
    fast = ash.compile(module, (torch.zeros(3, 64),), axes=ROWS, without=("fold",))
    torch.testing.assert_close((fast(small), fast(large)), wanted)
    first, second = (each.executor.weights for each in fast.executable.executor.executables)
    assert first == second, "the same memory"
    assert fast.memory().weights == 64 * 64 * 4


class Counting(torch.nn.Module):
    """One branch updates a buffer, the other one reads it."""

    total: Any

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(1))

    def forward(self, x: Any) -> Any:
        if x.shape[0] > 4:
            self.total += x.sum()
            return x
        return x + self.total


def test_state_is_that_of_all_cases() -> None:
    module = Counting()
    fast = ash.compile(module, (torch.zeros(2, 3),), axes=AXES)
    for rows in (2, 6, 3, 7, 1):
        x = torch.randn(rows, 3)
        torch.testing.assert_close(fast(x), module(x))
    np.testing.assert_allclose(fast.state["total"], module.total.numpy(), rtol=1e-6)
    with pytest.raises(ResultCacheError, match="buffer 'total'"):
        ash.compile(Counting(), (torch.zeros(2, 3),), axes=AXES, result_cache=1000)


def test_results_may_differ_in_all() -> None:
    def function(x: Any) -> Any:
        if x.shape[0] == 1:
            return {"only": x[0]}
        return x, (x.argmax(0), x.shape[0])

    fast = compiled(function, executor="native")
    one = fast(torch.ones(1, 3))
    assert list(one) == ["only"]
    assert torch.equal(one["only"], torch.ones(3))
    same, (index, rows) = fast(torch.eye(3))
    assert torch.equal(same, torch.eye(3))
    assert torch.equal(index, torch.arange(3))
    assert rows == 3


class LookingUp(torch.nn.Module):
    """An index is checked in one branch only."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Parameter(torch.randn(5, 3))

    def forward(self, x: Any) -> Any:
        return self.table[x] if x.shape[0] > 4 else x * 2


@pytest.mark.parametrize("example", [2, 6])
def test_values_are_checked_in_their_case(example: int) -> None:
    module = LookingUp()
    ids = torch.zeros(example, dtype=torch.long)
    fast = ash.compile(module, (ids,), axes={"x": ("b",)})
    few, many = torch.tensor([7, 9]), torch.tensor([0, 1, 2, 3, 4, 0])
    for given in (few, many):
        assert torch.equal(fast(given), module(given).detach())
        (result,) = fast.executable.run((given.numpy(),), deadline=60)
        np.testing.assert_array_equal(result, module(given).detach().numpy())
    out = np.empty((6, 3), np.float32)
    assert fast.executable.run((many.numpy(),), out=(out,))[0] is out
    with pytest.raises(AnyshapeError, match="7"):
        fast(torch.tensor([0, 1, 2, 3, 7, 0]))


class Writing(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        if x.shape[0] > 4:
            x.add_(1)
        return x * 2


def test_an_input_is_written_in_one_branch_only() -> None:
    fast = ash.compile(Writing(), (torch.zeros(2, 3),), axes=AXES)
    for rows in (2, 6):
        mine, theirs = torch.zeros(rows, 3), torch.zeros(rows, 3)
        assert torch.equal(fast(mine), Writing()(theirs))
        assert torch.equal(mine, theirs)


# --- the Executable -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def branched() -> Any:
    return ash.compile(Calling(FOLLOWED["if"]), (torch.zeros(4, 6),), axes=AXES).executable


def array(*shape: int) -> Any:
    return np.random.default_rng(0).random(shape, np.float32)


def test_a_call_takes_the_program_of_its_sizes(branched: Any) -> None:
    assert branched.specialize(b=4, n=3).binding == {"b": 4, "n": 3}
    x = array(5, 2)
    np.testing.assert_array_equal(branched(x)[0], x * 2)
    np.testing.assert_array_equal(branched.run((x[:3],))[0], x[:3])
    assert [axis.name for axis in branched.axes] == ["b", "n"]
    with pytest.raises(BindingNamesError, match="'n'"):
        branched.specialize(b=4)


def test_memory_and_counters_are_of_all_programs(branched: Any) -> None:
    before = branched.metrics().runs
    for rows in (3, 6):
        branched.reserve(b=rows, n=7)
        branched(array(rows, 7))
    assert branched.metrics().runs == before + 2
    assert branched.memory().code > 0
    assert branched.memory().idle_arenas >= 0
    branched.trim()
    assert branched.metrics().entries == 0


def test_results_are_written_where_the_caller_says(branched: Any) -> None:
    for rows in (3, 6):
        x, out = array(rows, 7), np.empty((rows, 7), np.float32)
        assert branched.run((x,), out=(out,))[0] is out
        np.testing.assert_array_equal(out, x * 2 if rows > 4 else x)


def test_results_of_another_rank_are_too() -> None:
    fast = compiled(FOLLOWED["squeeze"], executor="native").executable
    for rows, shape in ((1, (5,)), (3, (3, 5))):
        x, out = array(rows, 5), np.empty(shape, np.float32)
        fast.run((x,), out=(out,))
        np.testing.assert_array_equal(out, np.squeeze(x, 0) + 1 if rows == 1 else x + 1)


def test_limits_hold(branched: Any) -> None:
    cancelled = ash.Cancellation()
    cancelled.cancel()
    with pytest.raises(CancelledError):
        branched.run((array(6, 2),), cancellation=cancelled)
    with pytest.raises(MemoryLimitError, match="b=600"):
        branched.run((array(600, 200),), memory_limit=1000)
    np.testing.assert_array_equal(branched.run((array(2, 2),), deadline=60)[0], array(2, 2))


def test_steps_are_those_of_the_program(branched: Any) -> None:
    (step,) = branched.steps(array(6, 2))
    np.testing.assert_array_equal(step.values[0], array(6, 2) * 2)


def test_kernels_and_text_are_of_all_programs(branched: Any) -> None:
    first, second = branched.executor.executables
    assert branched.kernels == (*first.kernels, *second.kernels)
    assert first.as_text() in branched.as_text()
    assert second.as_text() in branched.as_text()


def test_explain_lists_the_branches(branched: Any) -> None:
    line = f"{__file__}:{FOLLOWED['if'].__code__.co_firstlineno}"
    explained = branched.explain(b=9, n=2)
    assert explained.branches == (f"0: b <= 4 ({line})", f"1: 4 < b ({line})")
    assert f"branches on sizes\n  0: b <= 4 ({line})\n  1: 4 < b ({line})\n" in str(explained)
    assert "at b=9, n=2" in str(explained)


def test_results_are_kept_for_each_case() -> None:
    fast = compiled(FOLLOWED["if"], executor="native", result_cache=10_000)
    for rows in (2, 6, 2, 6):
        x = torch.ones(rows, 2)
        assert torch.equal(fast(x), FOLLOWED["if"](x))
    counted = fast.metrics()
    assert (counted.result_hits, counted.result_misses) == (2, 2)


def test_an_input_may_be_given_up() -> None:
    fast = compiled(FOLLOWED["if"], executor="native", donate=("x",))
    x = torch.ones(6, 2)
    assert torch.equal(fast(x.clone()), x * 2)


def test_many_threads_may_call(branched: Any) -> None:
    wrong: list[int] = []

    def call(rows: int) -> None:
        for _ in range(50):
            x = array(rows, 3)
            if not np.array_equal(branched(x)[0], x * 2 if rows > 4 else x):
                wrong.append(rows)

    threads = [threading.Thread(target=call, args=(rows,)) for rows in (1, 4, 5, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# --- errors ---------------------------------------------------------------------------------------


def line(function: Any, offset: int) -> str:
    return f"{__file__}:{function.__code__.co_firstlineno + offset}"


def test_a_case_in_which_the_model_raises() -> None:
    for fast in (compiled(refuses_long), compiled(refuses_long, executor="native")):
        with pytest.raises(RefusedCaseError) as caught:
            fast(torch.zeros(2, 9))
        assert str(caught.value) == (
            f"Calling ({line(refuses_long, 2)}): ValueError: too long\n"
            f"  the call has axis b = 2, axis n = 9; the model does this where 8 < n"
            f" ({line(refuses_long, 1)})\n"
            "fix: pass other sizes, or change that line of the model"
        )
        with pytest.raises(RefusedCaseError, match="too long"):
            fast.executable(np.zeros((2, 9), np.float32))


def takes_small_as_number(x: Any) -> Any:
    if x.shape[1] < 3:
        return sum(x[:, i] for i in range(x.shape[1]))
    return x[:, 0]


def test_a_case_that_cannot_be_captured() -> None:
    fast = compiled(takes_small_as_number)
    x = torch.randn(3, 4)
    assert torch.equal(fast(x), x[:, 0])
    with pytest.raises(RefusedCaseError) as caught:
        fast(torch.zeros(3, 2))
    assert "the model's code takes its size as a number" in str(caught.value)
    assert f"where n < 3 ({line(takes_small_as_number, 1)})" in str(caught.value)


def multiplies(x: Any) -> Any:
    """What torch's op refuses at one size says nothing of others."""
    if x.shape[1] < 100:
        return x @ torch.ones(3, 2)
    return x


def test_sizes_of_no_case(capfd: pytest.CaptureFixture[str]) -> None:
    fast = compiled(multiplies, (4, 110))
    assert capfd.readouterr().err == "", "what torch says of cases that it fails in"
    assert torch.equal(fast(torch.ones(2, 3)), torch.full((2, 2), 3.0))
    assert torch.equal(fast(torch.ones(2, 120)), torch.ones(2, 120))
    with pytest.raises(UncapturedCaseError) as caught:
        fast(torch.zeros(3, 50))
    assert str(caught.value) == (
        "Calling: the call has axis b = 3, axis n = 50; the model's code was captured for\n"
        f"  100 <= n ({line(multiplies, 2)})\n"
        f"  n == 3 ({line(multiplies, 3)})\n"
        "fix: pass sizes of one of these cases, or compile with an example of such sizes"
    )


def test_an_example_that_torch_takes_as_numbers_only() -> None:
    """torch divides by the root of the example's width, a symbol whose size is 0."""

    def attends(x: Any) -> Any:
        y = torch.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)
        return y + 1 if x.shape[1] > 2 else y - 1

    fast = compiled(attends, (3, 0))
    assert list(differences(attends, fast)) == []


def test_more_cases_than_programs() -> None:
    with pytest.raises(BranchLimitError) as caught:
        compiled(three_ways, branches=2)
    assert str(caught.value) == (
        "Calling: its code branches on sizes, and 2 programs are not enough for all that its axes"
        " allow; it asks whether\n"
        f"  b <= 7 ({line(three_ways, 1)})\n"
        f"  3 < b ({line(three_ways, 3)})\n"
        f"  7 < b ({line(three_ways, 1)})\n"
        "fix: declare Axis('b', min=4), for which these programs are enough; or pass a larger"
        " branches=, or branches=1 for the case of the example alone"
    )
    fast = compiled(three_ways, branches=2, axes={"x": (ash.Axis("b", min=4), "n")})
    assert programs(fast) == 2


def many_ways(x: Any) -> Any:
    for step in range(2, 14):
        if x.shape[1] > 10 * step:
            x = x + step
    return x


def test_more_cases_than_can_be_captured_are_counted(exports: list[Any]) -> None:
    with pytest.raises(BranchLimitError) as caught:
        compiled(many_ways, (4, 720), branches=4)
    assert len(exports) == 1, "the conditions of one capture tell that there are more"
    assert f"  20 < n ({line(many_ways, 2)})\n" in str(caught.value)


def test_an_axis_in_steps_settles_cases() -> None:
    def pads(x: Any) -> Any:
        for step in (2, 4, 8):
            if x.shape[1] % step:
                x = torch.nn.functional.pad(x, (0, step - x.shape[1] % step))
        return x

    with pytest.raises(BranchLimitError) as caught:
        compiled(pads, (4, 16), branches=2)
    assert "declare Axis('n', min=0, multiple_of=8), for which" in str(caught.value)
    axes = {"x": ("b", ash.Axis("n", multiple_of=8))}
    fast = compiled(pads, (4, 16), branches=2, axes=axes)
    assert programs(fast) == 1
    for size in (0, 8, 40):
        x = torch.randn(3, size)
        assert torch.equal(fast(x), pads(x))


@pytest.mark.parametrize("branches", [0, -1, True, "8", 2.0, None])
def test_branches_is_a_number(branches: Any) -> None:
    with pytest.raises(OptionError) as caught:
        compiled(three_ways, branches=branches)
    assert str(caught.value) == (
        f"branches={repr(branches)!r} is not a number of programs, at least 1\n"
        "fix: set branches to a number of programs, at least 1, or unset it"
    )


def test_a_graph_has_no_branches() -> None:
    @ash.jit
    def double(x: ash.f32[n]) -> Any:  # pyright: ignore[reportUndefinedVariable]
        return x * 2

    with pytest.raises(OptionError, match="branches"):
        ash.compile(double, branches=2)  # pyright: ignore[reportCallIssue, reportArgumentType]


def test_a_float_of_a_size_leaves_renorm_its_dtype() -> None:
    fast = compiled(lambda x: torch.renorm(x, 2, 0, float(x.shape[1] // 2)))
    for size in ((4, 6), (3, 9), (2, 3)):
        x = torch.randn(size) * 9
        assert fast(x).dtype == torch.float32
        torch.testing.assert_close(fast(x), torch.renorm(x, 2, 0, float(size[1] // 2)))
