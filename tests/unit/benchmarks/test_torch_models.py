"""Modules of torch in the benchmarks: every engine's call means the same."""

import numpy as np
import pytest
import torch
from benchmarks.harness.engines import traced
from benchmarks.harness.model import TorchModel
from benchmarks.harness.module_engines import Anyshape, Torch
from benchmarks.harness.roofline import Roofline
from benchmarks.harness.turns import require_close
from benchmarks.models import sentence_shapes
from benchmarks.workloads import DeepSeek, Gpt2, Gpt2Steps, Moe

pytestmark = pytest.mark.filterwarnings("ignore")  # of torch, while it captures

SMALL = {"layers": 2, "width": 16, "heads": 2, "words": 60_000}
TOKEN = {"batch": 1, "seq": 1, "past": 4}


def result_of(engine, model: TorchModel, binding):
    return engine.arrays(engine.call(model.inputs(binding))())


@pytest.mark.parametrize(
    ("model", "bindings"),
    [
        (Gpt2Steps(**SMALL, steps=3), [TOKEN, {"batch": 2, "seq": 1, "past": 9}]),
        (Moe(16, active=4, width=16, hidden=32), [{"tokens": 1}, {"tokens": 40}]),
        (DeepSeek(64, width=16, hidden=8), [{"tokens": 1}, {"tokens": 40}]),
        (DeepSeek(64, width=16, hidden=8, one_sided=True), [{"tokens": 40}]),
    ],
    ids=["gpt2", "moe", "deepseek", "one-sided"],
)
def test_anyshape_agrees_with_torch(model, bindings):
    ours, torch_engine = Anyshape(model, 1), Torch(model, 1)
    for binding in bindings:
        wanted = result_of(torch_engine, model, binding)
        for _ in range(2):  # what a call was given, it may not spoil
            require_close(result_of(ours, model, binding), wanted)


def test_a_module_as_a_graph_has_the_axes_of_its_signature():
    graph = traced(Moe(4, active=2, width=8, hidden=8))
    assert [str(type_) for type_ in graph.body.params] == ["f32[tokens, 8]"]


def test_steps_are_a_text_token_by_token():
    steps, whole = Gpt2Steps(**SMALL, steps=3), Gpt2(**SMALL)
    (found,) = result_of(Torch(steps, 1), steps, TOKEN)
    token, *past = whole.inputs(TOKEN)
    engine = Torch(whole, 1)
    text = engine.call([np.repeat(token, 3, axis=1), *past])()
    require_close([found], engine.arrays(text)[:1])


def test_steps_read_the_weights_every_time():
    machine = Roofline(threads=1, flops=1e30, copied=1, read=1e9, cache_bytes=0)
    steps, whole = Gpt2Steps(**SMALL, steps=7), Gpt2(**SMALL)
    assert machine.seconds(whole, TOKEN) == pytest.approx(whole.weight_bytes / 1e9)
    assert machine.seconds(steps, TOKEN) == pytest.approx(7 * whole.weight_bytes / 1e9)


def test_operations_of_steps_and_of_a_text():
    steps, whole = Gpt2Steps(**SMALL, steps=3), Gpt2(**SMALL)
    head = 2 * SMALL["words"] * SMALL["width"]
    text = whole.flops({"batch": 1, "seq": 3, "past": 4})
    assert steps.flops(TOKEN) == text + 2 * head  # the text asks for the last word only


def test_weights_are_the_matrices_of_the_module():
    named = Gpt2(**SMALL).module().named_parameters()
    matrices = [p.numel() for name, p in named if p.dim() == 2 and "wpe" not in name]
    assert Gpt2(**SMALL).weight_bytes == 4 * sum(matrices)


def test_idle_experts_get_no_token():
    model = Moe(64, width=32, hidden=8)
    (x,) = map(torch.from_numpy, model.inputs({"tokens": 200}))
    _, _, chosen = model.module().block.gate(x)
    assert set(chosen.flatten().tolist()) == set(range(8))


def test_sixty_shapes_as_agreed():
    shapes = sentence_shapes()
    assert len(shapes) == 60
    assert {shape["batch"] for shape in shapes} == {1, 2, 4, 8}
    assert all(4 <= shape["seq"] <= 160 for shape in shapes)
    assert shapes == sentence_shapes()
