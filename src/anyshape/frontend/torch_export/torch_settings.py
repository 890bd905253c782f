"""What of torch is otherwise while a model is exported. One export at a time: these are global."""

from __future__ import annotations

import functools
import logging
import warnings
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import torch
import torch.export._trace
import torch.nn.modules.transformer

_SPEAKERS = ("torch._subclasses.fake_tensor", "torch.fx.experimental.symbolic_shapes")
"""Loggers that print the whole traceback of an op that refuses sizes. Another example may do, and
if none does, our error says so."""


_OWN_WEIGHTS = r"The tensor attributes? (self[\w.]*\._flat_weights\[\d+\](, )?)+ w\w+ assigned"
"""What torch says of recurrent layers, whose lists of weights it replaces itself to export them."""


@contextmanager
def quiet() -> Generator[None]:
    """Within, torch does not print what it had when a model failed: we say that."""
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.filterwarnings("ignore", _OWN_WEIGHTS, UserWarning)
        stack.enter_context(patch.object(torch.export._trace, "print", _nothing, create=True))
        for name in _SPEAKERS:
            stack.enter_context(patch.object(logging.getLogger(name), "disabled", True))
        yield


def _nothing(*_: object, **__: object) -> None:
    """In place of `print`."""


@contextmanager
def symbolic_flags() -> Generator[None]:
    """Within, flags that say how attention is computed are no obstacle. A symbolic `is_causal`,
    which torch's own parser refuses, becomes a guard like any other. Whether a mask is causal is
    left open: encoders find it out from the elements, to take a quicker way to the same."""
    functions: Any = torch.nn.functional
    own = functions.scaled_dot_product_attention

    @functools.wraps(own)
    def attention(*args: Any, **kwargs: Any) -> Any:
        flags = {n: bool(v) for n, v in kwargs.items() if isinstance(v, torch.SymBool)}
        return own(*args, **{**kwargs, **flags})

    layers: Any = torch.nn.modules.transformer
    with (
        patch.object(functions, "scaled_dot_product_attention", attention),
        patch.object(layers, "_detect_is_causal_mask", _as_declared),
    ):
        yield


def _as_declared(mask: Any, is_causal: bool | None = None, size: int | None = None) -> bool:
    """The mask is applied where nobody says that it is causal."""
    return bool(is_causal)
