"""The models of the benchmarks compute the same in every language they are written in."""

import onnx
import pytest
from benchmarks.harness.engines import Torch, traced
from benchmarks.harness.model import Binding, Model
from benchmarks.harness.onnx_model import onnx_bytes
from benchmarks.harness.turns import require_close
from benchmarks.workloads import Add, Attention, Dense, Encoder, FiveOps, Mlp, Rows
from onnx.reference import ReferenceEvaluator

from anyshape.ir.interpret import evaluate

CASES: list[tuple[Model, Binding]] = [
    (Add(), {"rows": 3, "columns": 4}),
    (FiveOps(), {"rows": 3, "columns": 5}),
    (Dense(7, 9), {"rows": 4}),
    (Dense(7, 9, gelu=True), {"rows": 1}),
    (Mlp(8), {"batch": 3}),
    (Rows("softmax", 8), {"rows": 3}),
    (Rows("layer_norm", 8), {"rows": 3}),
    (Rows("gelu", 8), {"rows": 3}),
    (Attention(2, 4), {"batch": 2, "seq": 5}),
    (Encoder(layers=2, width=8, heads=2), {"batch": 2, "seq": 3}),
]


def torch_result(model, binding):
    engine = Torch(model, 1)
    return engine.arrays(engine.call(model.inputs(binding))())


@pytest.mark.parametrize(("model", "binding"), CASES, ids=repr)
def test_anyshape_agrees_with_torch(model, binding):
    found = evaluate(traced(model), *model.inputs(binding))
    require_close(found, torch_result(model, binding))


@pytest.mark.parametrize(("model", "binding"), CASES, ids=repr)
def test_onnx_agrees_with_torch(model, binding):
    evaluator = ReferenceEvaluator(onnx.load_from_string(onnx_bytes(model)))
    feeds = dict(zip(model.signature, model.inputs(binding), strict=True))
    require_close(evaluator.run(None, feeds), torch_result(model, binding))


def test_operations_of_a_block():
    model, binding = Encoder(layers=3, width=8, heads=2), {"batch": 2, "seq": 5}
    products = 2 * 10 * (4 * 8 * 8 + 2 * 8 * 32)
    attention = 2 * 2 * 2 * 2 * (5 * 5 * 4)  # batch, heads, two products, two operations
    assert model.flops(binding) == 3 * (products + attention)


def test_the_same_inputs_every_time():
    first, second = (Mlp(8).inputs({"batch": 2})[0] for _ in range(2))
    assert (first == second).all()
