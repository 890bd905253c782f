"""Values that torch refuses while it runs, and what it computes at the edges of its ops.

Each module is captured at one size and called at others; torch itself, run on the same call, says
whether there is a result, and which.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch._higher_order_ops.scan import scan

import anyshape as ash
from anyshape.base.errors import (
    AnyshapeError,
    FactViolationError,
    IndexRangeError,
    OptionError,
    TraceError,
    ZeroDivisorError,
)
from anyshape.execute import EXECUTORS
from anyshape.ir import parse

Function = Callable[[Any, Any], Any]

every_executor = pytest.mark.parametrize("executor", EXECUTORS)


class Module(torch.nn.Module):
    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any, i: Any) -> Any:
        return self.function(x, i)


AXES = {"x": ("n", "m"), "i": ("k",)}


def compiled(function: Function, x: Any, i: Any, axes: Any = AXES, **options: Any) -> Any:
    return ash.compile(Module(function), (x, i), axes=axes, **options)


def numbers(*shape: int) -> Any:
    return torch.arange(float(np.prod(shape))).reshape(shape)


def indices(*numbers: int) -> Any:
    return torch.tensor(numbers, dtype=torch.int64)


def agrees(model: Any, function: Function, error: type[Exception], *args: Any) -> bool:
    """Whether torch has a result; ours is then the same, and an error of the type otherwise."""
    try:
        expected = function(*args)
    except (IndexError, RuntimeError):
        with pytest.raises(error):
            model(*args)
        return False
    torch.testing.assert_close(model(*args), expected, rtol=0, atol=0, equal_nan=True)
    return True


# --- indices --------------------------------------------------------------------------------------

ALONG_ROWS: dict[str, Function] = {
    "index": lambda x, i: x[i],
    "index_columns": lambda x, i: x[:, i],
    "index_pairs": lambda x, i: x[i, i],
    "index_select": lambda x, i: x.index_select(0, i),
    "gather": lambda x, i: x.gather(0, i[:, None].expand(-1, x.shape[1])),
    "embedding": lambda x, i: torch.nn.functional.embedding(i, x),
    "scatter": lambda x, i: x.scatter(0, i[:, None].expand(-1, x.shape[1]), 7.0),
    "scatter_add": lambda x, i: x.scatter_add(
        0, i[:, None].expand(-1, x.shape[1]), torch.ones(i.shape[0], x.shape[1])
    ),
    "index_put": lambda x, i: x.index_put((i,), torch.tensor(5.0)),
    "index_add": lambda x, i: x.index_add(0, i, torch.ones(i.shape[0], x.shape[1])),
    "index_copy": lambda x, i: x.index_copy(0, i, torch.ones(i.shape[0], x.shape[1])),
    "take": lambda x, i: x.take(i),
    "index_put_add": lambda x, i: x.index_put((i,), torch.tensor(5.0), accumulate=True),
}


@pytest.mark.parametrize("name", ALONG_ROWS)
def test_indices_are_in_range_or_refused_as_in_torch(name: str) -> None:
    function = ALONG_ROWS[name]
    model = compiled(function, numbers(4, 3), indices(0, 1))
    given = [(), (0,), (-1,), (1, 2), (4, 0, 1), (5,), (-5,), (-6,), (0, 1, 2, 99), (2, -99)]
    outcomes = [
        agrees(model, function, IndexRangeError, numbers(rows, columns), indices(*each))
        for rows, columns in ((5, 5), (5, 1), (1, 5), (2, 3), (5, 0), (0, 5), (0, 0), (7, 7))
        for each in given
    ]
    assert True in outcomes
    assert False in outcomes


def test_a_source_has_an_element_for_each_place() -> None:
    def function(x: Any, i: Any) -> Any:
        return torch.zeros(x.shape).masked_scatter(x > 2, i.float())

    model = compiled(function, numbers(4, 3), indices(0, 1))
    for each in ((), (1,), (1, 2, 3), (1, 2, 3, 4), (1, 2)):
        for size in ((2, 3), (0, 3), (1, 3), (3, 2)):
            agrees(model, function, IndexRangeError, numbers(*size), indices(*each))
    with pytest.raises(IndexRangeError) as caught:
        model(numbers(2, 3), indices(7, 8))
    assert (caught.value.op, caught.value.index, caught.value.size) == ("masked_scatter", 2, 2)


def test_a_filled_index_is_in_range() -> None:
    def function(x: Any, i: Any) -> Any:
        return x.index_fill(0, i, 7.0)

    model = compiled(function, numbers(4, 3), indices(0, 1))
    for each in ((), (3, -4), (4,), (0, -5)):
        agrees(model, function, IndexRangeError, numbers(4, 2), indices(*each))


@every_executor
def test_the_error_says_which_index(executor: Any) -> None:
    model = compiled(lambda x, i: x[:, i], numbers(4, 3), indices(0, 1), executor=executor)
    with pytest.raises(IndexRangeError) as caught:
        model(numbers(2, 5), indices(0, -5, 4, -6, 7))
    error = caught.value
    assert (error.op, error.index, error.size, error.axis) == ("index", -6, 5, 1)
    assert error.position == (3,)
    assert error.location is not None
    assert error.location.file.endswith("test_torch_value_checks.py")
    assert str(error) == (
        f"index ({error.location}): index -6 at [3] is outside axis 1, which has size 5\n"
        "fix: pass indices from -5 to 4"
    )


def test_an_axis_of_size_0_takes_no_index() -> None:
    model = compiled(lambda x, i: x.index_select(0, i), numbers(4, 3), indices(0, 1))
    with pytest.raises(IndexRangeError) as caught:
        model(numbers(0, 3), indices(0))
    assert str(caught.value).endswith("fix: pass no indices into an axis of size 0")


@every_executor
def test_the_first_offence_in_the_order_of_the_program(executor: Any) -> None:
    def twice(x: Any, i: Any) -> Any:
        return x[i] + x.index_select(0, i // 2)

    model = compiled(twice, numbers(4, 3), indices(0, 1), executor=executor)
    with pytest.raises(IndexRangeError, match=r"index .*: index 4 at \[1\]"):
        model(numbers(4, 3), indices(0, 4))
    with pytest.raises(IndexRangeError, match=r"index_select .*: index -1 at \[0\]"):
        model(numbers(4, 3), indices(-1, 0))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_indices_of_other_dtypes(dtype: Any) -> None:
    def function(x: Any, i: Any) -> Any:
        return torch.nn.functional.embedding(i, x)

    model = compiled(function, numbers(4, 3), indices(0, 1).to(dtype))
    for each in ((0, 3), (4,), (-1,)):
        agrees(model, function, IndexRangeError, numbers(4, 3), indices(*each).to(dtype))


def test_a_long_index_is_searched_to_its_end() -> None:
    model = compiled(lambda x, i: x[i], numbers(4, 3), indices(0, 1))
    for count, position in ((1000, 999), (1000, 63), (64, 63), (65, 64), (1000, 0)):
        given = torch.zeros(count, dtype=torch.int64)
        assert model(numbers(4, 3), given).shape == (count, 3)
        given[position] = 4
        with pytest.raises(IndexRangeError) as caught:
            model(numbers(4, 3), given)
        assert caught.value.position == (position,)


def test_a_position_has_an_index_for_each_axis() -> None:
    model = ash.compile(
        torch.nn.Embedding(10, 4), (torch.zeros(2, 3, dtype=torch.int64),),
        axes={"input": ("batch", "seq")},
    )  # fmt: skip
    ids = torch.zeros(4, 7, dtype=torch.int64)
    ids[2, 5] = 10
    with pytest.raises(IndexRangeError) as caught:
        model(ids)
    assert (caught.value.op, caught.value.position) == ("embedding", (2, 5))


def test_without_checks_nothing_is_refused() -> None:
    model = compiled(lambda x, i: x[i], numbers(4, 3), indices(0, 1), check_indices=False)
    assert len(model.executable.graph.results) == 1
    expected = numbers(4, 3)[[0, 3]]
    torch.testing.assert_close(model(numbers(4, 3), indices(0, 99)), expected)
    with pytest.raises(OptionError):
        compiled(lambda x, i: x[i], numbers(4, 3), indices(0), check_indices=1)


def checks_in(model: Any) -> int:
    return sum("first_outside" in line for line in model.executable.source.as_text().splitlines())


PROVEN: dict[str, Function] = {
    "arange": lambda x, i: x[torch.arange(x.shape[0])],
    "argmax": lambda x, i: x[:, x.argmax(1)],
    "topk": lambda x, i: x.gather(1, x.topk(1, 1)[1]),
    "sort": lambda x, i: x.gather(1, x.sort(1)[1]),
    "clamp": lambda x, i: x.index_select(0, i.clamp(0, x.shape[0] - 1)),
    "remainder": lambda x, i: x[i % 4],
    "mask": lambda x, i: x[x > 2],
    "nonzero": lambda x, i: x[(x > 2).nonzero()[:, 0], (x > 2).nonzero()[:, 1]],
    "constant": lambda x, i: x[:, torch.tensor([2, 0])],
    "flip": lambda x, i: x[torch.arange(x.shape[0] - 1, -1, -1)],
}


@pytest.mark.parametrize("name", PROVEN)
def test_an_index_in_a_proven_range_is_not_checked(name: str) -> None:
    axes = {"x": (ash.Axis("n", min=4), None), "i": ("k",)}
    model = compiled(PROVEN[name], numbers(5, 3), indices(0, 1), axes=axes)
    assert checks_in(model) == 0
    for rows in (4, 6, 9):
        x, i = torch.randn(rows, 3), indices(-3, 70, 5)
        torch.testing.assert_close(model(x, i), PROVEN[name](x, i), rtol=0, atol=0)


def test_equal_checks_are_one() -> None:
    def thrice(x: Any, i: Any) -> Any:
        return x[i] + (2 * x)[i[None]][0] + (3 * x)[i]

    assert checks_in(compiled(thrice, numbers(4, 3), indices(0, 1))) == 1


def test_what_sizes_decide_is_a_condition_on_them() -> None:
    class Positions(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.nn.Embedding(16, 4)

        def forward(self, x: Any) -> Any:
            return x + self.table(torch.arange(x.shape[1]))

    model, module = None, Positions().eval()
    model = ash.compile(module, (torch.ones(2, 5, 4),), axes={"x": ("batch", "seq", None)})
    assert checks_in(model) == 0
    for seq in (0, 1, 16):
        x = torch.randn(3, seq, 4)
        torch.testing.assert_close(model(x), module(x), rtol=0, atol=0)
    with pytest.raises(FactViolationError, match="'seq <= 16' does not hold for seq=33"):
        model(torch.ones(2, 33, 4))


def test_a_constant_out_of_range_is_refused_by_the_call() -> None:
    model = compiled(lambda x, i: x[:, torch.tensor([0, 3])], numbers(4, 5), indices(0))
    agrees(model, model, IndexRangeError, numbers(4, 4), indices(0))
    with pytest.raises(AnyshapeError):
        model(numbers(4, 3), indices(0))


# --- what else a call has ------------------------------------------------------------------------


def test_checks_are_no_results_of_the_caller() -> None:
    model = compiled(lambda x, i: x[i], numbers(4, 3), indices(0, 1))
    executable, x, i = model.executable, numbers(4, 3).numpy(), indices(3, 0).numpy()
    (result,) = executable(x, i)
    np.testing.assert_array_equal(result, x[i])
    out = np.zeros((2, 3), np.float32)
    (written,) = executable.run((x, i), out=(out,), deadline=60.0)
    assert written is out
    np.testing.assert_array_equal(out, x[i])
    assert [step.name for step in executable.steps(x, i)]
    outside = indices(3, 4).numpy()
    for call in (
        lambda: executable.run((x, outside), out=(out,)),
        lambda: executable.run((x, outside), deadline=60.0),
        lambda: list(executable.steps(x, outside)),
        lambda: executable(x, torch.from_numpy(outside)),
    ):
        with pytest.raises(IndexRangeError):
            call()


def test_a_kept_result_is_no_offence() -> None:
    model = compiled(lambda x, i: x[i], numbers(4, 3), indices(0, 1), result_cache=1 << 20)
    for _ in range(3):
        torch.testing.assert_close(model(numbers(4, 3), indices(1)), numbers(4, 3)[1:2])
        with pytest.raises(IndexRangeError):
            model(numbers(4, 3), indices(4))


def test_a_graph_with_checks_as_text() -> None:
    graph = compiled(lambda x, i: x[i], numbers(4, 3), indices(0, 1)).executable.source
    again = parse(graph.as_text(), graph.weights)
    assert again == graph
    assert not again.checks  # a graph from text has the offence as its last result
    _, offence = ash.compile(again)(numbers(4, 3).numpy(), indices(0, -5).numpy())
    assert offence.tolist() == [0, 1, -5, 4]
    assert graph.without_checks().results == graph.results[:-1]


def test_a_donated_input_is_given_up_by_a_call_that_fails_too() -> None:
    def function(x: Any, i: Any) -> Any:
        return x.index_put((i,), torch.tensor(5.0))

    model = compiled(function, numbers(4, 3), indices(0, 1), donate=("x",))
    torch.testing.assert_close(
        model(numbers(4, 3), indices(3)), function(numbers(4, 3), indices(3))
    )
    with pytest.raises(IndexRangeError):
        model(numbers(4, 3), indices(4))


def test_torch_compile_checks_too() -> None:
    torch._dynamo.reset()
    function = torch.compile(Module(lambda x, i: x[i] * 2), backend="anyshape", dynamic=True)
    with torch.no_grad():
        torch.testing.assert_close(
            function(numbers(4, 3), indices(1, -1)), numbers(4, 3)[[1, 3]] * 2
        )
        with pytest.raises(IndexRangeError):
            function(numbers(5, 3), indices(5, 1))


def test_a_late_size_is_no_axis_of_the_position() -> None:
    def function(x: Any, i: Any) -> Any:
        return x[i[i > 1]]

    model = compiled(function, numbers(4, 3), indices(0, 2))
    agrees(model, function, IndexRangeError, numbers(4, 3), indices(0, 2, 3))
    with pytest.raises(IndexRangeError) as caught:
        model(numbers(4, 3), indices(0, 2, 1, 9))
    assert (caught.value.index, caught.value.position) == (9, (1,))


# --- in branches and loops ------------------------------------------------------------------------


CONTROL: Any = torch  # whose own annotations are partial
SCAN: Any = scan


def taken(x: Any, i: Any) -> Any:
    return x[i] + 1


def not_taken(x: Any, i: Any) -> Any:
    return x[:1] * 2


def branch(x: Any, i: Any) -> Any:
    return CONTROL.cond(i.sum() > 0, taken, not_taken, (x, i))


@every_executor
def test_a_branch_checks_only_if_it_runs(executor: Any) -> None:
    axes = {"x": (ash.Axis("n", min=1), None), "i": (None,)}
    model = compiled(branch, numbers(4, 3), indices(1), axes=axes, executor=executor)
    for each in (indices(3), indices(9), indices(-9), indices(0)):
        agrees(model, branch, IndexRangeError, numbers(4, 3), each)


def counted(x: Any, i: Any) -> Any:
    def goes_on(step: Any, total: Any) -> Any:
        return step < i.shape[0]

    def body(step: Any, total: Any) -> Any:
        return step + 1, total + x[i[step.reshape(1)]][0]

    start = (torch.tensor(0), torch.zeros(3))
    return CONTROL.while_loop(goes_on, body, start)[1]


@every_executor
def test_a_loop_ends_with_its_first_offence(executor: Any) -> None:
    axes = {"x": ("n", None), "i": ("k",)}
    model = compiled(counted, numbers(4, 3), indices(1, 2), axes=axes, executor=executor)
    torch.testing.assert_close(
        model(numbers(4, 3), indices(1, 3, 0)), numbers(4, 3)[[1, 3, 0]].sum(0)
    )
    with pytest.raises(IndexRangeError, match="index 4 at"):
        model(numbers(4, 3), indices(1, 4, -9))


def scanned(x: Any, i: Any) -> Any:
    def step(total: Any, index: Any) -> Any:
        return total + x[index.reshape(1)][0], total * 1

    return SCAN(step, torch.zeros(3), i)[0]


@every_executor
def test_a_scan_carries_its_first_offence(executor: Any) -> None:
    axes = {"x": ("n", None), "i": ("k",)}
    model = compiled(scanned, numbers(4, 3), indices(1, 2), axes=axes, executor=executor)
    expected = numbers(4, 3)[[1, 3, -4]].sum(0)
    torch.testing.assert_close(model(numbers(4, 3), indices(1, 3, -4)), expected)
    with pytest.raises(IndexRangeError, match="index -5 at"):
        model(numbers(4, 3), indices(1, -5, 9))


def test_the_condition_of_a_loop_cannot_be_checked() -> None:
    def function(x: Any, i: Any) -> Any:
        def goes_on(step: Any) -> Any:
            return (x[i[step.reshape(1)]] > 1).all()

        def body(step: Any) -> Any:
            return (step + 1,)

        return CONTROL.while_loop(goes_on, body, (torch.tensor(0),))[0]

    with pytest.raises(TraceError, match="the condition of a while_loop has an index") as caught:
        compiled(function, numbers(4, 3), indices(1, 2), axes={"x": ("n", None), "i": ("k",)})
    assert str(caught.value).endswith(
        "fix: compute it in the body and carry it, or bring it into range with clamp"
    )


# --- integers divided by zero ---------------------------------------------------------------------

DIVIDED: dict[str, Function] = {
    "floor_divide": lambda x, i: x // i,
    "remainder": lambda x, i: x % i,
    "fmod": torch.fmod,
    "trunc": lambda x, i: torch.div(x, i, rounding_mode="trunc"),
    "floor": lambda x, i: torch.div(x, i, rounding_mode="floor"),
}


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8, torch.int8])
@pytest.mark.parametrize("name", DIVIDED)
def test_an_integer_is_not_divided_by_zero(name: str, dtype: Any) -> None:
    function = DIVIDED[name]
    x, i = numbers(3, 2).to(dtype), indices(2, 1).to(dtype)
    model = compiled(function, x, i, axes={"x": ("n", "k"), "i": ("k",)})

    def has_result(rows: int, *divisors: int) -> bool:
        x = numbers(rows, len(divisors)).to(dtype)
        return agrees(model, function, ZeroDivisorError, x, indices(*divisors).to(dtype))

    outcomes = [
        has_result(rows, *each)
        for rows in (0, 1, 4)
        for each in ((), (1, 2), (0, 1), (3, 2, 0), (5,))
    ]
    assert True in outcomes
    assert False in outcomes


@every_executor
def test_the_error_says_which_divisor(executor: Any) -> None:
    x, i = numbers(3, 2).long(), indices(2, 1)
    model = compiled(
        lambda x, i: x // i, x, i, axes={"x": ("n", "k"), "i": ("k",)}, executor=executor
    )
    with pytest.raises(ZeroDivisorError) as caught:
        model(x, indices(4, 0))
    where = caught.value.location
    assert str(caught.value) == (
        f"floor_divide ({where}): the divisor is 0 at [1], and integers have no infinity\n"
        "fix: pass no zeros, or divide floats"
    )


def test_a_divisor_that_is_a_number_is_not_checked() -> None:
    model = compiled(lambda x, i: x.long() // 3 + i.sum() % 7, numbers(3, 2), indices(2, 1))
    assert checks_in(model) == 0
