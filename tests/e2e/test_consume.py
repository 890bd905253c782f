"""Weights are in memory once: the store lets go of what is packed, and a model that is consumed
gives its own up."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf

import anyshape as ash
from anyshape.api.transformers_exporter import AnyshapeConfig, AnyshapeExporter
from anyshape.base.errors import ConsumedError, OptionError, OutOfMemoryError

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns of its own parts

AXES = {"input": ("n", None)}


def layers(*more: Any) -> Any:
    torch.manual_seed(0)
    first, second = torch.nn.Linear(40, 70), torch.nn.Linear(70, 40)
    return torch.nn.Sequential(first, torch.nn.GELU(), second, *more).eval()


def message(action: Any) -> str:
    with pytest.raises(ConsumedError) as caught:
        action()
    return str(caught.value)


def test_a_consumed_module_has_given_its_weights() -> None:
    module, x = layers(), torch.randn(5, 40)
    with torch.no_grad():
        wanted = module(x)
    fast = ash.compile(module, (x,), axes=AXES, consume=True)
    torch.testing.assert_close(fast(x), wanted, rtol=1e-4, atol=1e-5)
    assert sum(parameter.numel() for parameter in module.parameters()) == 0
    said = (
        "Sequential has given its weights to the model that was compiled from it\n"
        "fix: call the compiled model, or compile without consume=True"
    )
    assert message(lambda: module(x)) == said
    assert message(lambda: module[0](x)) == said
    assert message(module.state_dict) == said
    assert message(lambda: ash.compile(module, (x,), axes=AXES)) == said


def test_a_consumed_model_of_transformers_has_given_its_weights() -> None:
    config = tf.GPT2Config(vocab_size=50, n_embd=16, n_layer=1, n_head=2)
    model, ids = tf.GPT2LMHeadModel(config).eval(), torch.randint(0, 50, (2, 7))
    with torch.no_grad():
        wanted = model(ids).logits
    fast = AnyshapeExporter().export(model, {"input_ids": ids}, AnyshapeConfig(consume=True))
    torch.testing.assert_close(fast(input_ids=ids).logits, wanted, rtol=1e-4, atol=1e-5)
    assert "GPT2LMHeadModel has given its weights" in message(lambda: model(ids))


def test_a_consumed_program_has_given_its_weights() -> None:
    module, x = layers(), torch.randn(5, 40)
    with torch.no_grad():
        wanted = module(x)
    program = torch.export.export(module, (x,))
    fast = ash.compile(program, consume=True)
    torch.testing.assert_close(fast(x), wanted, rtol=1e-4, atol=1e-5)
    assert "ExportedProgram has given its weights" in message(program.module)
    assert "ExportedProgram has given its weights" in message(lambda: ash.compile(program))


def test_a_module_that_cannot_be_compiled_keeps_its_weights(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where compiling fails at its end, when the weights are packed."""

    def fails(*_: Any) -> Any:
        raise OutOfMemoryError

    module, x = layers(), torch.randn(5, 40)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    monkeypatch.setattr("anyshape.execute.link.program_of", fails)
    with pytest.raises(OutOfMemoryError):
        ash.compile(module, (x,), axes=AXES, consume=True)
    after = module.state_dict()
    assert after.keys() == before.keys()
    for name, value in before.items():
        assert torch.equal(after[name], value)
    module(x)


class Tied(torch.nn.Module):
    def __init__(self, rows: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table = torch.nn.Embedding(rows, 40)
        self.out = torch.nn.Linear(40, rows, bias=False)
        self.out.weight = self.table.weight

    def forward(self, ids: Any) -> Any:
        return self.out(self.table(ids))


@pytest.mark.parametrize(("rows", "copies"), [(60, 2), (7001, 1)])
def test_a_tied_weight_is_given_up_under_both_names(rows: int, copies: int) -> None:
    """A large one is held once afterwards: the table is looked up in the panels of the product."""
    module, ids = Tied(rows).eval(), torch.randint(0, rows, (7,))
    weight_bytes = module.table.weight.nbytes
    with torch.no_grad():
        wanted = module(ids)
    fast = ash.compile(module, (ids,), axes={"ids": ("n",)}, consume=True)
    torch.testing.assert_close(fast(ids), wanted, rtol=1e-4, atol=1e-5)
    assert module.table.weight.numel() == module.out.weight.numel() == 0
    assert copies <= fast.memory().weights / weight_bytes < copies + 0.1


def test_other_models_are_left_alone() -> None:
    module, x = layers(), torch.randn(5, 40)
    fast = ash.compile(module, (x,), axes=AXES)
    with torch.no_grad():
        wanted = module(x)
        module[0].weight.zero_()  # later changes are none of the compiled model's
    torch.testing.assert_close(fast(x), wanted, rtol=1e-4, atol=1e-5)


def test_a_graph_is_consumed_by_nobody() -> None:
    weight = np.ones((40, 70), np.float32)

    @ash.jit
    def double(x: ash.f32["n", 40]) -> Any:
        return x @ weight

    with pytest.raises(OptionError, match="a graph's weights are held once anyway"):
        ash.compile(double, consume=True)  # pyright: ignore


def test_the_packed_form_gives_the_weight_back() -> None:
    """Also where the last panel is not full, and where the weight is compiled twice."""
    weight = np.random.default_rng(0).standard_normal((40, 71)).astype(np.float32)

    @ash.jit
    def double(x: ash.f32["n", 40]) -> Any:
        return x @ weight

    x = np.ones((3, 40), np.float32)
    graph = double.graph
    first = ash.compile(graph)(x)[0]
    (value,) = (n.attrs.value for n in graph.nodes() if n.op.name == "constant")
    assert np.array_equal(graph.weights.array(value), weight)
    assert np.array_equal(ash.compile(graph)(x)[0], first)


# --- memory ---------------------------------------------------------------------------------------

MEASURE = """
import gc, re, sys, torch, anyshape as ash

def kibibytes(what):
    return int(re.search(what + r":\\s+(\\d+)", open("/proc/self/status").read())[1])

class Model(torch.nn.Module):
    def __init__(self, width, layers, rows):
        super().__init__()
        self.layers = torch.nn.Sequential(*(torch.nn.Linear(width, width) for _ in range(layers)))
        self.table = torch.nn.Embedding(rows, width) if rows else None
        self.inputs = torch.zeros(3, dtype=torch.int64) if rows else torch.zeros(3, width)

    def forward(self, input):
        if self.table is None:
            return self.layers(input)
        return torch.nn.functional.linear(self.layers(self.table(input)), self.table.weight)

def compiled(module, consume):
    axes = ("n", None)[: module.inputs.dim()]
    return ash.compile(module, (module.inputs,), axes={"input": axes}, consume=consume)

consume, layers, rows = sys.argv[1] == "consume", *map(int, sys.argv[2:])
small = Model(64, 2, min(rows, 100)).eval()
compiled(small, False)(small.inputs)  # torch and the compiler are loaded now
gc.collect()
before = kibibytes("VmRSS")
module = Model(2048, layers, rows).eval()
weights = sum(p.numel() * p.element_size() for p in module.parameters()) / 1024
fast = compiled(module, consume)
fast(module.inputs)
print(weights, (kibibytes("VmRSS") - before) / weights, (kibibytes("VmHWM") - before) / weights)
"""


def measured(how: str, layers: int = 32, rows: int = 0) -> list[float]:
    """Bytes of weights in KiB; how much the process has grown, and had at most, by weights."""
    command = [sys.executable, "-W", "ignore", "-c", MEASURE, how, str(layers), str(rows)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [float(number) for number in done.stdout.split()]


def test_weights_are_held_once() -> None:
    weights, after, peak = measured("consume")
    assert weights >= 500 * 1024
    assert 1.0 < after <= 1.3
    assert peak <= 1.3


def test_a_weight_that_is_looked_up_and_multiplied_is_held_once() -> None:
    weights, after, _ = measured("consume", layers=16, rows=32001)
    assert weights >= 500 * 1024
    assert 1.0 < after <= 1.3


def test_a_module_that_is_kept_costs_one_copy() -> None:
    _, after, _ = measured("keep")
    assert 2.0 < after <= 2.3
