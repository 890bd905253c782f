"""Passes: reports, verification, and the pipeline as a whole."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.passes.sampling import Draw, same_bits

from anyshape.base.errors import VerifyError
from anyshape.ir.graph import Graph
from anyshape.ir.interpret import evaluate
from anyshape.ir.node import Value
from anyshape.ir.text.parser import parse
from anyshape.ir.types import FLOATS
from anyshape.ir.verify import verify
from anyshape.passes import SIMPLIFY, Canonicalize, PassContext, run_passes
from anyshape.sym import Dim

TEXT = """
graph g(x: f32[n]) -> f32[n] {
  %0 = neg(x)
  %1 = neg(%0)
  %2 = exp(%1)
  return %2
}"""


def test_a_report_says_what_changed():
    first, second = run_passes(parse(TEXT), [Canonicalize(), Canonicalize()], verify=True).reports
    assert str(first) == "canonicalize: 4 -> 2 nodes"
    assert [decision.rule for decision in first.taken] == ["neg-involution"]
    assert str(second) == "canonicalize: no change"
    assert not second.changed


def test_passes_are_frozen_dataclasses():
    for step in SIMPLIFY:
        assert dataclasses.is_dataclass(step)
        with pytest.raises(dataclasses.FrozenInstanceError):
            step.name = "other"  # pyright: ignore


@dataclass(frozen=True)
class Breaking:
    """Forgets an input."""

    name: str = "breaking"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        return replace(graph, inputs=())


def test_the_verifier_names_the_pass():
    with pytest.raises(VerifyError, match="after pass 'breaking', graph 'g'"):
        run_passes(parse(TEXT), [Breaking()], verify=True)
    assert run_passes(parse(TEXT), [Breaking()]).graph.inputs == ()


# --- random programs ------------------------------------------------------------------------------


def random_step(d: Draw, values: list[Value]) -> Value:
    x = d.random.choice(values)
    rank = x.tensor.rank
    match d.random.randrange(9):
        case 0:
            return d.b.emit(d.random.choice(["neg", "abs", "floor", "exp", "sigmoid"]), x)
        case 1:
            same = [v for v in values if v.tensor == x.tensor]
            op = d.random.choice(["add", "sub", "mul", "div", "maximum", "minimum"])
            return d.b.emit(op, x, d.random.choice(same))
        case 2:
            return d.b.emit(d.random.choice(["add", "mul", "sub", "div", "pow"]), x, number(d, x))
        case 3:
            return d.b.emit("mul", number(d, x), d.b.emit("neg", x))
        case 4:
            perm = list(range(rank))
            d.random.shuffle(perm)
            return d.b.emit("transpose", x, perm=perm)
        case 5:
            return d.b.emit("reshape", x, shape=(x.tensor.size,))
        case 6:
            axes = [axis for axis in range(rank) if d.random.random() < 0.5]
            return d.b.emit(d.random.choice(["sum", "max", "reverse"]), x, axes=axes)
        case 7:
            return d.b.emit("concat", x, x, axis=0) if rank else d.b.emit("neg", x)
        case _:
            stops = [d.random.choice([dim, Dim.of(0)]) for dim in x.tensor.shape]
            return d.b.emit("slice", x, starts=[0] * rank, stops=stops, steps=[1] * rank)


def number(d: Draw, like: Value) -> Value:
    return d.full(d.random.choice([0.0, -0.0, 1.0, 2.0]), like)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32))
def test_the_pipeline_keeps_every_bit(seed: int):
    d = Draw(seed)
    dtype = d.dtype(FLOATS)
    values = [d.param(dtype, d.shape(2)), d.param(dtype, d.shape(2))]
    values.append(d.b.constant(np.array([1.5, -0.0], dtype.numpy)))
    for _ in range(12):
        values.append(random_step(d, values))
    before = verify(d.graph(*values[-3:]))
    passed = run_passes(before, SIMPLIFY, verify=True)
    inputs = d.inputs(before)
    with np.errstate(all="ignore"):
        results = zip(evaluate(before, *inputs), evaluate(passed.graph, *inputs), strict=True)
    for old, new in results:
        assert same_bits(old, new), f"{before}\n{passed.graph}"
