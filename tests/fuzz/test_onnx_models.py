"""A short run of `make fuzz-onnx`, in this process."""

from __future__ import annotations

import warnings

from tests.fuzz.onnx_models.child import model_of, outcome, seeds


def test_damaged_models_are_read_or_refused() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {number: outcome(model_of(number)) for number in range(50)}
    assert {n: what for n, what in found.items() if what not in ("read", "refused")} == {}
    assert set(found.values()) == {"read", "refused"}


def test_models_are_other_ones_and_the_same_again() -> None:
    made = {model_of(number) for number in range(40)}
    assert len(made) == 40
    assert len(made - set(seeds())) > 30
    assert model_of(3) == model_of(3)
