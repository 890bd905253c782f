"""Architectures of transformers that nobody wrote anything for: one compile each, then many sizes
and paddings against eager, on the host only what is named; or refused, in words that say why."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

os.environ["TRANSFORMERS_OFFLINE"] = "1"

import pytest
import torch
from tests.e2e.architectures import BOTH, ENCODER, REFUSED, RUN, Architecture, markdown

import anyshape as ash
from anyshape.base.errors import AnyshapeError

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's and transformers' own

BINDINGS = [(1, 1), (3, 1), (1, 17), (2, 33), (3, 24), (4, 7)]
DOCUMENT = Path(__file__).parents[2] / "docs" / "models.md"


def inputs(architecture: Architecture, batch: int, seq: int, *, left: bool) -> dict[str, Any]:
    """Tokens, and a mask that leaves out a part of the first sequence."""
    given: dict[str, Any] = {"input_ids": torch.randint(3, 100, (batch, seq))}
    if architecture.has_mask:
        mask = torch.ones(batch, seq, dtype=torch.long)
        mask[0, : seq // 2] = 0
        given["attention_mask"] = mask if left else mask.flip(1)
    if architecture.kind == BOTH:
        given["decoder_input_ids"] = torch.randint(3, 100, (batch, seq // 2 + 1))
    return given if architecture.kind == ENCODER else {**given, "use_cache": False}


def compiled(architecture: Architecture, model: Any) -> Any:
    example = inputs(architecture, 2, 5, left=True)
    axes = {"input_ids": ("batch", "seq"), "attention_mask": ("batch", "seq")}
    axes["decoder_input_ids"] = ("batch", "out")
    known = {name: names for name, names in axes.items() if name in example}
    return ash.compile(model, kwargs=example, axes=known)


@pytest.mark.parametrize("architecture", RUN, ids=lambda item: item.name)
def test_runs_at_any_size(architecture: Architecture) -> None:
    torch.manual_seed(0)
    model = architecture.build()
    fast = compiled(architecture, model)
    for number, (batch, seq) in enumerate(BINDINGS):
        given = inputs(architecture, batch, seq, left=number % 2 == 0)
        with torch.no_grad():
            wanted = model(**given)[0]
        difference = (fast(**given)[0] - wanted).abs().max().item()
        assert difference <= 1e-4 * wanted.abs().max().item(), (batch, seq)
    assert {op for op, _ in fast.explain().host_ops} == {*architecture.host}


@pytest.mark.parametrize("architecture", REFUSED, ids=lambda item: item.name)
def test_refused_in_words(architecture: Architecture) -> None:
    with pytest.raises(AnyshapeError) as caught:
        compiled(architecture, architecture.build())
    assert architecture.refused in str(caught.value)
    assert f"modeling_{architecture.name}.py:" in str(caught.value)


def test_the_document_shows_this_table() -> None:
    assert markdown() in DOCUMENT.read_text()
