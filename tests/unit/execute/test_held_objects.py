"""What a compiled graph leaves behind when it goes: nothing. Objects are counted, not bytes."""

import gc
from collections import Counter

import numpy as np

import anyshape as ash
from anyshape.ir.node import Node
from anyshape.sym.decide.decider import shared_decider
from anyshape.sym.dim import Dim
from anyshape.sym.monomial import monomial_key
from anyshape.sym.symbol import Symbol

WEIGHT = np.eye(16, dtype=np.float32)


def compile_and_drop(number: int) -> None:
    """A graph like no other: its numbers and its axis are its own."""

    @ash.jit
    def block(x: ash.f32[f"rows{number}", 16]):
        scores = ash.softmax(x * (1.5 + number), axis=-1)
        return ash.gelu(scores + (2.5 + number)) @ WEIGHT

    executable = ash.compile(block.graph)
    executable(np.ones((2 + number, 16), np.float32))
    str(executable.explain())


def held() -> Counter[str]:
    """Objects of ours that are alive, by class, and the sizes of the tables of interned values."""
    monomial_key.cache_clear()  # remembers a bounded number of monomials, and so their symbols
    Dim._recent.clear()  # a bounded number, too
    shared_decider.cache_clear()  # and those that `explain` asked
    gc.collect()
    ours = (type(o) for o in gc.get_objects() if str(type(o).__module__).startswith("anyshape"))
    found = Counter(f"{kind.__module__}.{kind.__qualname__}" for kind in ours)
    interned = {"nodes": Node._interned, "dims": Dim._interned, "symbols": Symbol._interned}
    found.update({name: len(table) for name, table in interned.items()})
    return found


def test_graphs_that_are_gone_leave_nothing() -> None:
    for number in range(2):  # what is made once for all
        compile_and_drop(number)
    before = held()
    for number in range(2, 8):
        compile_and_drop(number)
    grown = {name: more for name, more in (held() - before).items() if more > 2}
    assert grown == {}
