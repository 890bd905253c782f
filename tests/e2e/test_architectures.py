"""Architectures of transformers that nobody wrote anything for: `docs/models.md` says what comes of
them. A few, which differ most, are tried here; `make models` tries all."""

from __future__ import annotations

import os
from dataclasses import replace

os.environ["TRANSFORMERS_OFFLINE"] = "1"

import pytest
from tests.e2e.architectures.entry import Architecture
from tests.e2e.architectures.outcome import Outcome, outcome_of
from tests.e2e.architectures.table import ALL, DOCUMENT, recorded_rows

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's and transformers' own

SAMPLE = (
    "deberta", "xlnet", "fnet", "funnel", "longformer", "t5", "bloom", "gemma2", "gpt_oss",
    "deepseek_v2", "mamba", "rwkv", "swin", "clip", "dinov3_vit", "wav2vec2",
)  # fmt: skip


def kernels_of(row: str) -> int:
    return int(row.split("|")[5].strip() or 0)


@pytest.mark.parametrize("architecture", [a for a in ALL if a.name in SAMPLE], ids=lambda a: a.name)
def test_the_row_is_true(architecture: Architecture) -> None:
    row = recorded_rows(DOCUMENT.read_text())[architecture.name]
    outcome = outcome_of(architecture)
    assert bool(outcome.refused) == bool(architecture.refused), outcome.refused
    assert architecture.refused in outcome.refused
    if architecture.refused:
        assert f"modeling_{architecture.name}.py:" in outcome.refused
        assert "\nfix: " in outcome.refused
    assert outcome.kernels <= kernels_of(row), "`make models` writes the table again"
    assert replace(outcome, kernels=kernels_of(row)).row(architecture) == row


def test_the_document_has_a_row_for_each() -> None:
    rows = recorded_rows(DOCUMENT.read_text())
    assert list(rows) == [each.name for each in ALL]
    assert len(ALL) >= 40
    for each in ALL:
        begin, *_ = Outcome(refused=each.refused).row(each).split(" runs ")
        assert rows[each.name].startswith(begin.split(" refused: ")[0])
        assert ("refused: " in rows[each.name]) == bool(each.refused)
        assert each.why in rows[each.name]


def test_kernels_are_read_from_a_row() -> None:
    """Else the comparison above would see none."""
    each = ALL[0]
    assert kernels_of(Outcome(12, ("aten.x",), 3).row(each)) == 12
    assert kernels_of(Outcome(refused="no").row(each)) == 0
