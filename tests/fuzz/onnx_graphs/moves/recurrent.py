"""Recurrent layers."""

from __future__ import annotations

from typing import Any

from tests.fuzz.onnx_graphs.generator import AXES, Generator
from tests.fuzz.onnx_graphs.moves.reductions import flag

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def recurrent(g: Generator) -> None:
    """onnxruntime ends the process at a GRU or an LSTM of nothing."""
    op, size, hidden = g.rng.choice(tuple(GATES)), g.rng.choice((1, 3)), g.rng.choice((1, 2, 4))
    axes = [axis for axis in AXES if op == "RNN" or all(sizes[axis] for sizes in g.sizes)]
    x = g.input("float32", g.rng.choice((*axes, 3)), g.rng.choice((*axes, 1, 2)), size)
    direction = g.rng.choice((None, "forward", "reverse", "bidirectional"))
    ways, gates = (2 if direction == "bidirectional" else 1), GATES[op]
    weights = [g.random_constant("float32", ways, gates * hidden, n) for n in (size, hidden)]
    bias = g.random_constant("float32", ways, 2 * gates * hidden) if g.rng.random() < 0.6 else ""
    made: dict[str, Any] = {"hidden_size": hidden, "direction": direction}
    if op == "GRU":
        made["linear_before_reset"] = flag(g)
    if g.rng.random() < 0.2:
        made["clip"] = 0.5
    outputs = g.rng.randint(1, 3 if op == "LSTM" else 2)
    g.several(op, outputs, x, *weights, bias, **made)


RECURRENT = (recurrent,)
