"""`model.generate()` of transformers with a compiled forward.

    model.forward = compile_for_generate(model)   # once: any batch, prompt and number of tokens
    model.generate(ids, max_new_tokens=20)
    del model.forward                             # eager mode again

One program computes the prompt and every further token: the cache is empty for the prompt. It takes
what `generate` passes to a decoder. A mask that it leaves out, since nothing is padded, is one of
ones; keys and values of all tokens are kept, also by models that attend to a window of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Unpack

import torch
import transformers

from anyshape.api.compile import compile
from anyshape.api.compiled_module import CompiledModule
from anyshape.base.errors import UnsupportedModelError
from anyshape.base.options import Options
from anyshape.execute import CompileKeywords

BATCH, SEQ, PAST = "batch", "seq", "past"
_AXES: Mapping[str, Any] = {
    "input_ids": (BATCH, SEQ),
    "attention_mask": (BATCH, f"{PAST} + {SEQ}"),
    "position_ids": (BATCH, SEQ),
    "past_key_values": (BATCH, None, PAST, None),
}
_CONSTANTS: Mapping[str, Any] = {"use_cache": True, "return_dict": True, "logits_to_keep": 1}


class GenerateForward:
    """A compiled forward with the signature of the model's own, which `generate` looks at."""

    def __init__(self, compiled: CompiledModule, signature: inspect.Signature) -> None:
        self.compiled = compiled
        self.__signature__ = signature

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """One step: takes and returns what the model's forward does."""
        given = dict(zip(self.__signature__.parameters, args, strict=False)) | kwargs
        if given.get("attention_mask") is None:
            given["attention_mask"] = _no_padding(given)
        return self.compiled(**given)


def _no_padding(given: Mapping[str, Any]) -> torch.Tensor:
    batch, seq = given["input_ids"].shape
    return torch.ones(batch, given["past_key_values"].get_seq_length() + seq, dtype=torch.int64)


def compile_for_generate(
    model: Any,
    *,
    consume: bool = False,
    options: Options | None = None,
    **chosen: Unpack[CompileKeywords],
) -> GenerateForward:
    """The forward of a decoder, compiled for `generate`. The choices are those of
    `anyshape.compile`."""
    signature = inspect.signature(model.forward)
    names = [name for name in (*_AXES, *_CONSTANTS) if name in signature.parameters]
    _check_decoder(model, names)
    example = {name: value for name, value in _example(model).items() if name in names}
    axes = {name: entry for name, entry in _AXES.items() if name in names}
    kwargs = {**example, "return_dict": True}
    compiled = compile(model, kwargs=kwargs, axes=axes, consume=consume, options=options, **chosen)
    return GenerateForward(compiled, signature)


def _check_decoder(model: Any, names: list[str]) -> None:
    missing = sorted({"input_ids", "attention_mask", "past_key_values", "use_cache"} - {*names})
    if missing:
        what = f"a forward without the parameters {', '.join(missing)}"
        fix = "compile_for_generate is for decoders: compile other models with anyshape.compile"
        raise UnsupportedModelError(type(model).__name__, {what: [""]}, fix)


def _example(model: Any, batch: int = 2, past: int = 3, seq: int = 4) -> dict[str, Any]:
    """A step with a past, made by the model itself: it knows the shapes of its keys and values."""
    with torch.no_grad():
        first = model(
            input_ids=torch.zeros(batch, past, dtype=torch.int64),
            past_key_values=transformers.DynamicCache(),
            use_cache=True,
        )
    return {
        "input_ids": torch.zeros(batch, seq, dtype=torch.int64),
        "attention_mask": torch.ones(batch, past + seq, dtype=torch.int64),
        "position_ids": torch.arange(past, past + seq).expand(batch, seq).contiguous(),
        "past_key_values": first.past_key_values,
        **_CONSTANTS,
    }
