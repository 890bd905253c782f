"""Every entry of the importer's table against torch, interpreted and compiled, at many sizes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from tests.unit.frontend.aten.cases import CASES, ELSEWHERE, op
from tests.unit.frontend.aten.one_op import Case, Input, imported, run

from anyshape.execute import compile_graph
from anyshape.frontend.aten.calls import TABLE

BINDINGS = [{"n": 5, "m": 3, "k": 2}, {"n": 1, "m": 1, "k": 1}, {"n": 0, "m": 2, "k": 3},
            {"n": 37, "m": 5, "k": 4}]  # fmt: skip


@pytest.mark.parametrize("name", sorted(CASES))
def test_entry(name: str) -> None:
    torch.manual_seed(0)
    case = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, of tracing
        program = imported(case)
    compiled = [compile_graph(program.graph, executor=name) for name in ("reference", "native")]
    for binding in BINDINGS:
        tensors = [spec.tensor(binding) for spec in case.inputs]
        expected = (case.expected or case.function)(*tensors)
        wanted = list(expected) if isinstance(expected, tuple) else [expected]
        for executable in compiled:
            for left, right in zip(run(program, executable, tensors), wanted, strict=True):
                _check(left, right)


@pytest.mark.parametrize("order", [0, 0.5, 1, 2, 3, float("inf"), -float("inf")])
def test_orders_of_a_norm(order: float) -> None:
    norm = op("aten.linalg_vector_norm.default")
    program = imported(Case(lambda x: norm(x, order, [1]), (Input(("n", 4)),)))
    tensor = torch.tensor([[0.0, -3.0, 4.0, 0.0], [-1.0, 2.0, 0.5, -2.5]])
    (found,) = run(program, compile_graph(program.graph), [tensor])
    _check(found, norm(tensor, order, [1]))


def test_squares_and_cubes_are_products() -> None:
    power = op("aten.pow.Tensor_Scalar")
    for exponent in (2, 3.0):
        program = imported(Case(lambda x, e=exponent: power(x, e), (Input(("n", 4)),)))
        assert "pow" not in {node.op.name for node in program.graph.nodes()}


def _check(found: Any, wanted: Any) -> None:
    if not isinstance(wanted, torch.Tensor):
        assert found == wanted
        return
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    tolerance = 2e-2 if wanted.dtype == torch.bfloat16 else 2e-5
    left, right = (x.double().numpy() for x in (found, wanted))
    np.testing.assert_allclose(left, right, rtol=tolerance, atol=tolerance)


def test_every_entry_has_a_case() -> None:
    assert sorted(TABLE.keys() - CASES.keys() - ELSEWHERE) == []


def test_every_case_has_an_entry() -> None:
    assert sorted((CASES.keys() | ELSEWHERE) - TABLE.keys()) == []


def test_every_overload_is_one_of_torch() -> None:
    for name in TABLE:
        if name.startswith("aten."):
            assert isinstance(op(name), torch._ops.OpOverload)
