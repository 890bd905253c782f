"""Statements that compute with sizes only."""

from __future__ import annotations

from tests.fuzz.torch_modules.generator import Generator
from tests.fuzz.torch_modules.moves.numbers import condition, number, size
from tests.fuzz.torch_modules.program import Statement


def named(g: Generator) -> Statement:
    return Statement(f"{g.fresh('n')} = {size(g)}")


def computed(g: Generator) -> Statement:
    return Statement(f"{g.fresh('n')} = {number(g)}")


def unpacked(g: Generator) -> Statement | None:
    name = g.pick(rank=2, floats=False)
    if name is None:
        return None
    if g.rng.random() < 0.5:
        first, last = g.fresh("n"), g.fresh("n")
        return Statement(f"{first}, *_, {last} = {name}.shape")
    names = [g.fresh("n") for _ in range(g.rank(name))]
    return Statement(f"{', '.join(names)} = {name}.size()")


def chosen(g: Generator) -> Statement:
    return Statement(
        f"{g.fresh('n')} = {number(g, odd=0)} if {condition(g)} else {number(g, odd=0)}"
    )


def halved(g: Generator) -> Statement:
    """A loop that Python follows."""
    name = g.fresh("n")
    lines = [f"{name} = {size(g)}", f"while {name} > 2:", f"    {name} = {name} // 2"]
    return Statement("\n".join(lines))


def counted(g: Generator) -> Statement:
    name = g.fresh("n")
    loop = g.rng.choice((f"range(min({size(g)}, 3))", f"range(2, 2 + {size(g)} % 3)", "range(3)"))
    return Statement(f"{name} = {size(g)}\nfor i in {loop}:\n    {name} = {name} + i")


SIZES = (named, computed, unpacked, chosen, halved, counted)
