"""Recurrent layers: called on the host, whole, for any number of steps."""

from __future__ import annotations

from typing import Any

from anyshape.frontend.aten.calls import Call, NoEntryError, entry
from anyshape.frontend.aten.host_calls import RECURRENT
from anyshape.frontend.builder.tracer import active


@entry(*RECURRENT)
def recurrent(
    call: Call, x: Any, state: Any, weights: Any, biased: bool, layers: int, p: float, train: bool,
    *_: Any,
) -> Any:  # fmt: skip
    """Between layers torch drops elements in training mode; nothing else is random about it."""
    if train and p > 0 and layers > 1:
        raise active().refuse("dropout in training mode", "call model.eval() before compiling")
    raise NoEntryError


@entry("aten.lstm.data", "aten.gru.data", "aten.rnn_tanh.data", "aten.rnn_relu.data")
def packed(call: Call, *_: Any) -> Any:
    fix = "give the layer a padded tensor, and take each sequence's part of its result"
    raise active().refuse("a recurrent layer over a packed sequence", fix)
