"""Text architectures of `transformers` in small random configurations: what is tried, and what
comes of it. `docs/models.md` shows this table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import transformers as tf

Kind = Literal["AutoModel", "AutoModelForCausalLM", "AutoModelForSeq2SeqLM"]

ENCODER: Kind = "AutoModel"
DECODER: Kind = "AutoModelForCausalLM"
BOTH: Kind = "AutoModelForSeq2SeqLM"

SMALL: Mapping[str, Any] = {
    "vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 64,
}  # fmt: skip
GROUPED: Mapping[str, Any] = {**SMALL, "num_key_value_heads": 2, "head_dim": 8}
GPT: Mapping[str, Any] = {"vocab_size": 100, "n_embd": 32, "n_layer": 2, "n_head": 4}
RELATIVE: Mapping[str, Any] = {
    **SMALL, "relative_attention": True, "pos_att_type": ["p2c", "c2p"],
    "max_relative_positions": 64,
}  # fmt: skip


@dataclass(frozen=True)
class Architecture:
    """A model type of transformers, its configuration, and what is special about it.

    `refused` is empty for a model that runs; else the message contains it, and `why` explains it.
    `host` names the ops that torch's own kernels compute.
    """

    name: str
    kind: Kind
    config: Mapping[str, Any]
    special: str
    has_mask: bool = True
    refused: str = ""
    why: str = ""
    host: tuple[str, ...] = ()

    def build(self) -> Any:
        """The model with random weights."""
        config = tf.AutoConfig.for_model(self.name, **self.config)
        return getattr(tf, self.kind).from_config(config).eval()


RUN = (
    Architecture("roberta", ENCODER, {**SMALL, "max_position_embeddings": 130},
                 "positions counted over the mask"),
    Architecture("albert", ENCODER, {**SMALL, "embedding_size": 16},
                 "one layer's weights used by all"),
    Architecture("distilbert", ENCODER,
                 {"vocab_size": 100, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64},
                 "no token types"),
    Architecture("deberta", ENCODER, RELATIVE,
                 "relative positions; sizes that go through tensors and `.item()`"),
    Architecture("deberta-v2", ENCODER,
                 {**RELATIVE, "position_buckets": 16, "norm_rel_ebd": "layer_norm",
                  "share_att_key": True},
                 "relative positions in logarithmic buckets"),
    Architecture("mpnet", ENCODER, SMALL, "a bias for relative positions"),
    Architecture("modernbert", ENCODER,
                 {**SMALL, "local_attention": 8, "pad_token_id": 0, "bos_token_id": 1,
                  "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2},
                 "layers that attend to a window, and others"),
    Architecture("xlnet", ENCODER,
                 {"vocab_size": 100, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 64},
                 "relative positions by shifting"),
    Architecture("roformer", ENCODER, {**SMALL, "embedding_size": 16}, "rotary positions"),
    Architecture("convbert", ENCODER, {**SMALL, "embedding_size": 32},
                 "convolutions beside attention"),
    Architecture("t5", BOTH,
                 {"vocab_size": 100, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2,
                  "num_heads": 4},
                 "a bias for relative positions"),
    Architecture("bart", BOTH,
                 {"vocab_size": 100, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2,
                  "encoder_attention_heads": 4, "decoder_attention_heads": 4,
                  "encoder_ffn_dim": 64, "decoder_ffn_dim": 64},
                 "learned positions"),
    Architecture("opt", DECODER,
                 {"vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2,
                  "num_attention_heads": 4, "ffn_dim": 64, "word_embed_proj_dim": 32},
                 "positions counted over the mask"),
    Architecture("gpt_neox", DECODER, SMALL, "attention beside the feed-forward part"),
    Architecture("gpt_neo", DECODER,
                 {"vocab_size": 100, "hidden_size": 32, "num_layers": 2, "num_heads": 4,
                  "attention_types": [[["global", "local"], 1]], "window_size": 8},
                 "layers that attend to a window, and others"),
    Architecture("gptj", DECODER, {**GPT, "rotary_dim": 4}, "rotary positions, interleaved"),
    Architecture("bloom", DECODER,
                 {"vocab_size": 100, "hidden_size": 32, "n_layer": 2, "n_head": 4},
                 "a slope per head (ALiBi)"),
    Architecture("mpt", DECODER,
                 {"vocab_size": 100, "d_model": 32, "n_layers": 2, "n_heads": 4,
                  "expansion_ratio": 2, "max_seq_len": 128},
                 "a slope per head, up to `max_seq_len`"),
    Architecture("falcon", DECODER,
                 {"vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2,
                  "num_attention_heads": 4},
                 "one key for all heads"),
    Architecture("gemma2", DECODER, {**GROUPED, "sliding_window": 8},
                 "scores and logits capped by tanh"),
    Architecture("mistral", DECODER, {**GROUPED, "sliding_window": 8}, "a sliding window"),
    Architecture("qwen3_moe", DECODER,
                 {**GROUPED, "num_experts": 4, "num_experts_per_tok": 2,
                  "moe_intermediate_size": 16},
                 "experts"),
    Architecture("gpt_oss", DECODER,
                 {**GROUPED, "num_local_experts": 4, "num_experts_per_tok": 2,
                  "sliding_window": 8, "pad_token_id": 0},
                 "experts with biases; attention sinks"),
    Architecture("fnet", ENCODER,
                 {"vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2,
                  "intermediate_size": 64},
                 "Fourier transforms in the place of attention", has_mask=False,
                 host=("aten.fft_fftn.default",)),
)  # fmt: skip

REFUSED = (
    Architecture("longformer", ENCODER, {**SMALL, "attention_window": 8},
                 "chunks of a window",
                 refused="the model's Python code needs the data of a tensor",
                 why="it divides sizes with `torch.div`, so they become data"),
    Architecture("mamba", DECODER,
                 {"vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 8},
                 "a state space",
                 refused="the model's code takes its size as a number",
                 why="a Python loop over `seq` (its fast path needs a GPU)"),
    Architecture("rwkv", DECODER,
                 {"vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2,
                  "attention_hidden_size": 32, "intermediate_size": 64},
                 "a recurrent network", has_mask=False,
                 refused="the model's code takes its size as a number",
                 why="a Python loop over `seq` (its fast path needs a GPU)"),
)  # fmt: skip


def markdown() -> str:
    """The table of `docs/models.md`."""
    kinds = {ENCODER: "encoder", DECODER: "decoder", BOTH: "encoder and decoder"}
    rows = ["| architecture | kind | special | |", "|---|---|---|---|"]
    for item in (*RUN, *REFUSED):
        runs = f"runs, with torch's {' and '.join(item.host)}" if item.host else "runs"
        comes = f"refused: {item.why}" if item.refused else runs
        rows.append(f"| `{item.name}` | {kinds[item.kind]} | {item.special} | {comes} |")
    return "\n".join(rows)
