"""`transformers` models in one call, through its own plug-in point for exporters.

    exporter = AnyshapeExporter()
    model = exporter.export(bert, {"input_ids": ids, "attention_mask": mask}, AnyshapeConfig())
    model(input_ids=other_ids, attention_mask=other_mask)

Axes have the names that transformers uses: `batch_size`, `sequence_length`,
`past_sequence_length`, `encoder_sequence_length`, `decoder_sequence_length`.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch.utils import _pytree as pytree
from transformers.exporters import exporter_dynamo, utils
from transformers.exporters.auto import register_export_config, register_exporter
from transformers.exporters.base import HfExporter
from transformers.exporters.configs import ExportConfigMixin

from anyshape.api.compile import BRANCHES, compile
from anyshape.api.compiled_module import CompiledModule
from anyshape.base.errors import OptionError
from anyshape.base.options import Options
from anyshape.execute import CompileKeywords, ExecutorName, Hot, ResultCache

Position = str | None

CHOICES = tuple(CompileKeywords.__annotations__)

BATCH, SEQUENCE, PAST = "batch_size", "sequence_length", "past_sequence_length"
ENCODER, DECODER = "encoder_sequence_length", "decoder_sequence_length"

AXES: Mapping[str, tuple[Position, ...]] = {
    "input_ids": (BATCH, SEQUENCE), "token_type_ids": (BATCH, SEQUENCE),
    "position_ids": (BATCH, SEQUENCE), "attention_mask": (BATCH, SEQUENCE),
    "inputs_embeds": (BATCH, SEQUENCE, None), "cache_position": (SEQUENCE,),
    "decoder_input_ids": (BATCH, DECODER), "decoder_attention_mask": (BATCH, DECODER),
    "decoder_inputs_embeds": (BATCH, DECODER, None),
    "encoder_hidden_states": (BATCH, ENCODER, None), "encoder_attention_mask": (BATCH, ENCODER),
}  # fmt: skip
"""What the axes of inputs are called, without a cache."""

CACHE: tuple[Position, ...] = (BATCH, None, PAST, None)
"""The axes of past keys and values: [batch, heads, past, width]."""


@dataclass
class AnyshapeConfig(ExportConfigMixin):
    """Options of `anyshape.compile`; `axes` adds to the canonical names, or replaces them."""

    export_format: Any = "anyshape"
    axes: Mapping[str, Any] | None = None
    consume: bool = False
    branches: int = BRANCHES
    executor: ExecutorName = "native"
    threads: int = 0
    strict: bool = False
    check_indices: bool = True
    deterministic: bool = False
    wait_for_team: bool = False
    memory_limit: int | None = None
    result_cache: int | ResultCache | None = None
    donate: Sequence[str] = ()
    channels_last: Sequence[str] = ()
    without: Sequence[str] = ()
    likely: Mapping[str, Sequence[int]] | None = None
    hot: bool | Hot | None = None
    options: Options | None = None


class AnyshapeExporter(HfExporter):
    """Compiles a `PreTrainedModel` at sample inputs, for all sizes of its axes."""

    required_packages: list[str] = ["torch"]  # noqa: RUF012  as the base class has it

    def export(
        self,
        model: Any,
        sample_inputs: MutableMapping[str, Any],
        config: ExportConfigMixin | Mapping[str, Any] | None = None,
    ) -> CompiledModule:
        """`config` is an `AnyshapeConfig`, its fields in a dict, or nothing."""
        if isinstance(config, ExportConfigMixin) and not isinstance(config, AnyshapeConfig):
            raise OptionError("config", type(config).__name__, "an AnyshapeConfig")
        chosen = config if isinstance(config, AnyshapeConfig) else AnyshapeConfig(**(config or {}))
        torch_exporter: Any = exporter_dynamo
        model, inputs, flags = cast(Any, utils).prepare_for_export(model, sample_inputs)
        torch_exporter.register_cache_pytrees_for_model(model)
        with ExitStack() as during:
            during.enter_context(torch_exporter.reset_model_state(model))
            during.enter_context(torch_exporter.patch_model_config(model, flags))
            during.enter_context(torch_exporter.patch_forward_signature(model, inputs))
            return compile(
                model,
                kwargs=dict(inputs),
                axes={**canonical_axes(inputs), **(chosen.axes or {})},
                consume=chosen.consume,
                branches=chosen.branches,
                options=chosen.options,
                **cast(CompileKeywords, {name: getattr(chosen, name) for name in CHOICES}),
            )


cast(Any, register_export_config("anyshape"))(AnyshapeConfig)
cast(Any, register_exporter("anyshape"))(AnyshapeExporter)


def canonical_axes(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The names of the axes of these inputs; those that nobody named keep their sizes."""
    cache = {name: value for name, value in inputs.items() if _is_cache(value)}
    axes: dict[str, Any] = {}
    for name, value in inputs.items():
        if name in cache:
            axes[name] = [CACHE if leaf.dim() == 4 else None for leaf in pytree.tree_leaves(value)]
        elif name in AXES and isinstance(value, torch.Tensor) and value.dim() == len(AXES[name]):
            axes[name] = AXES[name]
    if cache and "attention_mask" in axes:  # it covers what is remembered, too
        axes["attention_mask"] = (BATCH, f"{PAST} + {SEQUENCE}")
    return axes


def _is_cache(value: Any) -> bool:
    leaves = [] if isinstance(value, torch.Tensor) else pytree.tree_leaves(value)
    return bool(leaves) and all(isinstance(leaf, torch.Tensor) for leaf in leaves)
