"""Branches on sizes: what is computed, returned or raised depends on them."""

from __future__ import annotations

from tests.fuzz.torch_modules.generator import Generator
from tests.fuzz.torch_modules.moves.numbers import condition, number
from tests.fuzz.torch_modules.moves.tensors import KEEPING
from tests.fuzz.torch_modules.program import Statement

CHANGES = (
    "{v} + 1", "{v} * 2", "{v} - {v}.mean()", "-{v}", "torch.cat([{v}, {v}])", "{v}[1:]",
    "{v}.sum(0, keepdim=True)", "{v}.tanh()", "{v}", "{v}.flip(0)",
)  # fmt: skip


def _changed(g: Generator, name: str) -> str:
    if g.rng.random() < 0.3:
        return g.rng.choice(KEEPING).format(v=name, d=g.axis(name))
    return g.rng.choice(CHANGES).format(v=name)


def branch(g: Generator) -> Statement | None:
    name = g.pick(rank=1)
    if name is None:
        return None
    new = g.fresh()
    lines = [f"if {condition(g)}:", f"    {new} = {_changed(g, name)}"]
    if g.rng.random() < 0.3:
        lines += [f"elif {condition(g)}:", f"    {new} = {_changed(g, name)}"]
    return Statement("\n".join([*lines, "else:", f"    {new} = {_changed(g, name)}"]))


def optional(g: Generator) -> Statement | None:
    """A branch without an else, which writes over a name."""
    name = g.pick(rank=1)
    if name is None:
        return None
    new = g.fresh()
    lines = [f"{new} = {name}", f"if {condition(g)}:", f"    {new} = {_changed(g, name)}"]
    return Statement("\n".join(lines))


def ternary(g: Generator) -> str | None:
    name = g.pick(rank=1)
    if name is None:
        return None
    return f"{_changed(g, name)} if {condition(g)} else {_changed(g, name)}"


def early_return(g: Generator) -> Statement | None:
    name = g.pick()
    every = ", ".join(dict.fromkeys(g.tensors()))
    return None if name is None else Statement(f"return {name} * 3, {every}", condition(g))


def raised(g: Generator) -> Statement:
    return Statement('raise ValueError("not these sizes")', condition(g))


def asserted(g: Generator) -> Statement:
    return Statement(f"assert {condition(g)}")


def loop(g: Generator) -> Statement | None:
    """Few rounds, as many as sizes say."""
    name = g.pick(rank=1)
    if name is None:
        return None
    new = g.fresh()
    rounds = g.rng.choice(
        (f"range(min({number(g, odd=0)}, 3))", "range(2)", f"range({number(g, odd=0)} % 3)")
    )
    lines = [f"{new} = {name}", f"for i in {rounds}:", f"    {new} = {new} * 0.5 + i"]
    return Statement("\n".join(lines))


def shrinking(g: Generator) -> Statement | None:
    name = g.pick(rank=1)
    if name is None:
        return None
    new = g.fresh()
    step = g.rng.choice(("{v}[::2]", "{v}[2:]", "{v}[: {v}.shape[0] // 2]", "{v}[1:] + {v}[:-1]"))
    step = step.format(v=new)
    lines = [f"{new} = {name}", f"while {new}.shape[0] > 3:", f"    {new} = {step}"]
    return Statement("\n".join(lines))


BRANCHES = (branch, branch, optional, ternary, early_return, raised, asserted, loop, shrinking)
