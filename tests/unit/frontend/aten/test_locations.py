"""The line of the user's model that a node of torch's graph is from."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

from anyshape.base.location import Location
from anyshape.frontend.aten.torch_paths import TORCH_FOLDER
from anyshape.frontend.aten.walk import location_of, nearest_location
from anyshape.frontend.torch_export.askers import location_in_model

LAYER = f'File "{TORCH_FOLDER}nn/modules/linear.py", line 134, in forward'
MODEL = 'File "/home/me/model.py", line 7, in forward'
GENERATED = 'File "<eval_with_key>.3", line 16, in forward'
ADDED = 'File "torch/fx/passes/runtime_assert.py", line 24, in insert_deferred_runtime_asserts'
"""What torch says of all nodes that it adds after tracing."""


def chain(*traces: str) -> list[Any]:
    graph = fx.Graph()
    nodes: list[Any] = [graph.placeholder("x")]
    for trace in traces:
        nodes.append(graph.call_function(torch.relu, (nodes[-1],)))
        nodes[-1].meta["stack_trace"] = trace
    return nodes


def test_the_models_own_line_and_no_line_that_torch_makes_up() -> None:
    _, model, inside, layer, added, generated = chain(
        MODEL, f"{MODEL}\n{LAYER}", LAYER, ADDED, GENERATED
    )
    own = Location("/home/me/model.py", 7)
    assert location_of(model) == location_of(inside) == own
    assert location_of(layer) == Location(f"{TORCH_FOLDER}nn/modules/linear.py", 134)
    assert location_of(added) is None
    assert location_of(generated) is None


def test_a_node_without_a_line_is_near_those_before_it() -> None:
    start, model, added, generated = chain(MODEL, ADDED, GENERATED)
    own = Location("/home/me/model.py", 7)
    assert [nearest_location(node) for node in (model, added, generated)] == [own] * 3
    assert nearest_location(start) is None


def test_who_asks_while_a_node_is_decomposed() -> None:
    """torch's interpreter runs a node, and what that asks is asked by the model."""
    found: list[Location] = []

    class Interpreter(fx.Interpreter):
        def run_node(self, n: Any) -> Any:
            import sys

            if n.op == "call_function":
                found.append(location_in_model(sys._getframe()))  # pyright: ignore[reportPrivateUsage]
            return super().run_node(n)

    nodes = chain(MODEL, ADDED)
    nodes[-1].graph.output(nodes[-1])
    Interpreter(fx.GraphModule(torch.nn.Module(), nodes[-1].graph)).run(torch.zeros(2))
    assert found == [Location("/home/me/model.py", 7)] * 2
