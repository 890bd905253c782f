"""What the examples of dynamic models print, and the model that one of them writes texts with."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from tests.e2e.test_examples import EXAMPLES, output_of

import anyshape as ash


def rows_of(text: str, start: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if re.match(start, line)]


def test_an_encoder_stops_when_it_is_sure() -> None:
    rows = rows_of(output_of("early_exit.py"), r"(\d+%|never) ")
    layers = [int(row[3]) for row in rows]
    assert len(rows) == 10
    assert layers[4] == layers[9] == 12, "never sure"
    assert layers[0] < layers[3] < 12
    assert all(float(row[-1]) < 1e-5 for row in rows)


def test_experts_are_found_by_one_worklist() -> None:
    text = output_of("expert_routing.py")
    rows = rows_of(text, r"\d+ +\d+ µs")
    assert len(rows) == 8
    assert all(float(row[3]) < 1e-5 for row in rows)
    assert "1 × worklist, 2 × grouped_dot, 1 × late_size\n" in text


def test_boxes_that_remain() -> None:
    text = output_of("detection.py")
    found = re.findall(r"(\d+) boxes: (\d+) remain, as in NumPy", text)
    assert [boxes for boxes, _ in found] == ["0", "5", "20"]
    assert found[0][1] == "0"
    assert "then detect at kept=37, boxes=1000, height=480, width=640: " in text
    assert "'kept <= 64' does not hold for kept=80" in text


def test_a_beam_grows() -> None:
    lines = re.findall(r"beams of ([\d ]+); as in Python", output_of("beam_search.py"))
    beams = [[int(width) for width in line.split()] for line in lines]
    assert len(beams) == 3
    assert set(beams[0]) == {1}
    assert max(beams[2]) > max(beams[1]) > 1
    assert len(set(beams[2])) > 2, "its size changes from step to step"


def test_a_draft_changes_nothing_but_the_number_of_calls() -> None:
    text = output_of("speculative_decoding.py")
    rows = rows_of(text, r"\d")
    assert text.count("the same text") == len(rows) == 3
    for prompt, length, calls, guessed, *_ in rows:
        assert int(calls) < int(length) - int(prompt)
        assert 0 < int(guessed) <= 5 * int(calls)


# --- the model that writes texts ------------------------------------------------------------------


def norm(x: Any) -> Any:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def gelu(x: Any) -> Any:
    torch = pytest.importorskip("torch")
    return torch.nn.functional.gelu(torch.from_numpy(x)).numpy()


def plain_logits(weights: Any, tokens: Any) -> Any:
    """Without caches, in NumPy and float64."""
    x = weights.words[tokens].astype(np.float64)
    for layer in weights.layers:
        parts = np.split(norm(x) @ layer.qkv, 3, axis=1)
        q, k, v = (t.reshape(len(x), weights.heads, -1).swapaxes(0, 1) for t in parts)
        scores = q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1])
        scores = np.where(np.tri(len(x), dtype=bool), np.exp(scores - scores.max()), 0)
        mixed = scores / scores.sum(-1, keepdims=True) @ v
        x = x + mixed.swapaxes(0, 1).reshape(x.shape) @ layer.out
        x = x + gelu(norm(x) @ layer.up) @ layer.down
    return norm(x) @ weights.head


@pytest.mark.parametrize("noise", [0.5, 3.0])
def test_texts_are_those_of_numpy(noise: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import speculative_decoding as example

    target = example.Model(layers=2, width=128, noise=noise, words=61)
    draft = example.Model(layers=1, width=32, noise=0.3, words=61)
    write = ash.compile(example.speculative(draft, target, most=4, sure=0.02), strict=True)
    weights = target.weights()
    for size, length in ((1, 1), (1, 2), (3, 29)):
        text = list(range(5, 5 + size))
        found, *_ = write(np.array(text), np.array(length))
        while len(text) < length:
            text.append(int(plain_logits(weights, text)[-1].argmax()))
        assert found.tolist() == text
