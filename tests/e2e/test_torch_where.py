"""`where=` of PyTorch models: predicates between axes, as for functions."""

from typing import Any

import pytest
import torch

import anyshape as ash
from anyshape.base.errors import (
    AxisDeclarationError,
    FactConflictError,
    FactViolationError,
    OptionError,
    TextError,
)
from anyshape.base.lexer import Cursor
from anyshape.sym import Facts, Origin, read_facts

AXES = {"q": ("seq", None), "k": ("kv", None)}


class Attends(torch.nn.Module):
    def forward(self, q: Any, k: Any) -> Any:
        return torch.softmax(q @ k.mT, -1) @ k + q


class Branches(torch.nn.Module):
    def forward(self, q: Any, k: Any) -> Any:
        if q.shape[0] == k.shape[0]:
            return q + k
        return q.sum(0, keepdim=True) - k


class Halves(torch.nn.Module):
    def forward(self, q: Any, k: Any) -> Any:
        if k.shape[0] > 6:
            return torch.cat([q, q]) * k
        return torch.cat([q, q]) + k


def example(seq: int, kv: int) -> tuple[Any, Any]:
    return torch.randn(seq, 8), torch.randn(kv, 8)


def compiled(model: Any, sizes: tuple[int, int], where: Any, **more: Any) -> Any:
    return ash.compile(model.eval(), example(*sizes), axes=AXES, where=where, **more)


def inputs_of(model: Any) -> list[str]:
    return [str(type_) for type_ in model.executable.graph.body.params]


@pytest.mark.parametrize("sizes", [(4, 4), (1, 1), (0, 0)])
def test_equal_axes_are_one(sizes: tuple[int, int]) -> None:
    model = compiled(Attends(), sizes, "kv == seq")
    assert len(set(inputs_of(model))) == 1
    for size in (0, 1, 3, 17):
        q, k = example(size, size)
        torch.testing.assert_close(model(q, k), Attends()(q, k))
    with pytest.raises(FactViolationError) as caught:
        model(*example(3, 5))
    message = str(caught.value)
    assert "'kv == seq' does not hold for kv=5, seq=3" in message
    assert "it comes from user: kv == seq @ " in message
    assert "test_torch_where.py:" in message


def test_a_branch_that_it_settles_is_no_case() -> None:
    model = compiled(Branches(), (4, 4), "kv == seq")
    assert not model.explain().branches
    q, k = example(6, 6)
    torch.testing.assert_close(model(q, k), q + k)


def test_branches_that_it_leaves_open_are_cases() -> None:
    """Examples of all cases satisfy it."""
    model = compiled(Halves(), (4, 8), "kv == 2*seq")
    assert len(model.explain().branches) == 2
    for seq in (0, 1, 3, 4, 9):
        q, k = example(seq, 2 * seq)
        torch.testing.assert_close(model(q, k), Halves()(q, k))
    with pytest.raises(FactViolationError, match=r"'kv == 2\*seq' does not hold"):
        model(*example(3, 5))


def test_inequalities_are_checked() -> None:
    model = compiled(Attends(), (4, 9), ["seq <= kv", "kv <= 64"])
    q, k = example(3, 5)
    torch.testing.assert_close(model(q, k), torch.softmax(q @ k.mT, -1) @ k + q)
    with pytest.raises(FactViolationError, match="'seq <= kv' does not hold for kv=5, seq=6"):
        model(*example(6, 5))


def test_an_exported_program_takes_it() -> None:
    dims = {"q": {0: torch.export.Dim("seq")}, "k": {0: torch.export.Dim("kv")}}
    program = torch.export.export(Attends().eval(), example(4, 5), dynamic_shapes=dims)
    model = ash.compile(program, where="kv == seq")
    q, k = example(7, 7)
    torch.testing.assert_close(model(q, k), Attends()(q, k))
    with pytest.raises(FactViolationError, match="'kv == seq' does not hold"):
        model(*example(7, 6))


def test_dynamic_shapes_take_it() -> None:
    dims = {"q": {0: torch.export.Dim("seq")}, "k": {0: torch.export.Dim("kv")}}
    model = ash.compile(Attends().eval(), example(4, 5), dynamic_shapes=dims, where="seq <= kv")
    with pytest.raises(FactViolationError, match="'seq <= kv' does not hold"):
        model(*example(7, 6))


def test_an_unknown_axis() -> None:
    with pytest.raises(AxisDeclarationError) as caught:
        compiled(Attends(), (4, 4), "kv == sek")
    assert str(caught.value) == (
        "axis 'sek' is in where='kv == sek', and no input has it\n"
        "fix: use the names of axes: kv, seq"
    )
    dims = {"q": {0: torch.export.Dim("seq")}, "k": None}
    program = torch.export.export(Attends().eval(), example(4, 5), dynamic_shapes=dims)
    with pytest.raises(AxisDeclarationError, match="axis 'kv' is in where="):
        ash.compile(program, where="kv == seq")


def test_contradictions() -> None:
    with pytest.raises(FactConflictError, match=r"(?s)'kv != seq' cannot hold together.*fix: "):
        compiled(Attends(), (4, 4), ["kv == seq", "kv != seq"])
    axes = {"q": (ash.Axis("seq", max=4), None), "k": (ash.Axis("kv", min=5), None)}
    with pytest.raises(FactConflictError, match="kv == seq"):
        ash.compile(Attends().eval(), example(4, 5), axes=axes, where="kv == seq")


def test_an_example_that_breaks_it() -> None:
    with pytest.raises(FactViolationError) as caught:
        compiled(Attends(), (4, 5), "kv == seq")
    message = str(caught.value)
    assert "'kv == seq' does not hold for kv=5, seq=4" in message
    assert "the example has these sizes" in message
    assert "fix: " in message


def test_what_is_no_predicate() -> None:
    with pytest.raises(OptionError, match=r"(?s)where='3' is not a predicate.*fix: "):
        compiled(Attends(), (4, 4), 3)
    with pytest.raises(TextError, match="expected a dim"):
        compiled(Attends(), (4, 4), "kv == ")


def test_graphs_have_facts_already() -> None:
    @ash.jit
    def double(x: ash.f32["n"]):
        return x + x

    with pytest.raises(OptionError, match="left out"):
        ash.compile(double, where="n <= 4")  # type: ignore[call-overload]


def test_two_names_may_be_said_to_be_equal() -> None:
    """What the error proposes works."""
    model = compiled(Branches(), (4, 4), "seq == kv", branches=1)
    q, k = example(5, 5)
    torch.testing.assert_close(model(q, k), q + k)


@pytest.mark.parametrize("sizes", [(4, 4), (1, 4)])
def test_one_of_two_may_be_1(sizes: tuple[int, int]) -> None:
    class Sum(torch.nn.Module):
        def forward(self, q: Any, k: Any) -> Any:
            return q + k

    model = compiled(Sum(), sizes, "broadcastable(seq, kv)")
    for pair in [(5, 5), (1, 5), (5, 1), (0, 1)]:
        q, k = example(*pair)
        torch.testing.assert_close(model(q, k), q + k)
    with pytest.raises(FactViolationError, match="broadcastable"):
        model(*example(2, 3))


# --- who stated a fact ----------------------------------------------------------------------------


class Asks(torch.nn.Module):
    def forward(self, q: Any, k: Any) -> Any:
        torch._check(q.shape[0] <= 100)
        if k.shape[0] % 2 == 0:
            k = k + 1
        return q.sum() + k.sum()


def test_facts_tell_users_from_models_and_ops() -> None:
    model = compiled(Asks(), (4, 8), "seq <= 2*kv")
    origins = {(str(f), f.origin) for f in model.executable.source.facts.facts}
    assert ("seq <= 2*kv", Origin.USER) in origins
    assert ("0 == kv % 2", Origin.MODEL) in origins


def test_one_program_states_what_it_was_captured_for() -> None:
    model = compiled(Asks(), (4, 8), (), branches=1)
    facts = model.executable.source.facts.facts
    assert {f.origin for f in facts} == {Origin.FRONTEND}
    with pytest.raises(FactViolationError, match="it comes from frontend: "):
        model(*example(101, 100))
    assert parse_facts(model.executable.source.facts.as_text()) == model.executable.source.facts


def parse_facts(text: str) -> Facts:
    return read_facts(Cursor(text))
