"""Text models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.e2e.architectures.entry import BOTH, DECODER, ENCODER, Architecture

SMALL: Mapping[str, Any] = {
    "vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 64,
}  # fmt: skip
GROUPED: Mapping[str, Any] = {**SMALL, "num_key_value_heads": 2, "head_dim": 8}
SPECIAL: Mapping[str, Any] = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
EXPERTS: Mapping[str, Any] = {
    "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16
}  # fmt: skip
GPT: Mapping[str, Any] = {"vocab_size": 100, "n_embd": 32, "n_layer": 2, "n_head": 4}
T5: Mapping[str, Any] = {
    "vocab_size": 100, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4
}  # fmt: skip
BART: Mapping[str, Any] = {
    "vocab_size": 100, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
}  # fmt: skip
RELATIVE: Mapping[str, Any] = {
    **SMALL, "relative_attention": True, "pos_att_type": ["p2c", "c2p"],
    "max_relative_positions": 64,
}  # fmt: skip
LATENT: Mapping[str, Any] = {
    **SMALL, "num_key_value_heads": 4, "n_routed_experts": 8, "n_group": 2, "topk_group": 1,
    "num_experts_per_tok": 2, "moe_intermediate_size": 16, "q_lora_rank": 16, "kv_lora_rank": 16,
    "qk_rope_head_dim": 8, "v_head_dim": 8, "qk_nope_head_dim": 8, "first_k_dense_replace": 1,
}  # fmt: skip

ENCODERS = (
    Architecture("bert", ENCODER, SMALL, "learned positions"),
    Architecture("electra", ENCODER, {**SMALL, "embedding_size": 16}, "narrow embeddings"),
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
                 {**SMALL, "local_attention": 8, **SPECIAL, "cls_token_id": 1, "sep_token_id": 2},
                 "layers that attend to a window, and others"),
    Architecture("xlnet", ENCODER,
                 {"vocab_size": 100, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 64},
                 "relative positions by shifting"),
    Architecture("roformer", ENCODER, {**SMALL, "embedding_size": 16}, "rotary positions"),
    Architecture("convbert", ENCODER, {**SMALL, "embedding_size": 32},
                 "convolutions beside attention"),
    Architecture("fnet", ENCODER,
                 {"vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2,
                  "intermediate_size": 64},
                 "Fourier transforms in the place of attention", without=("attention_mask",)),
    Architecture("longformer", ENCODER, {**SMALL, "attention_window": 8}, "chunks of a window",
                 refused="the model's Python code needs the data of a tensor",
                 why="it divides sizes with `torch.div`, so they become data"),
    Architecture("funnel", ENCODER,
                 {"vocab_size": 100, "d_model": 32, "n_head": 4, "d_head": 8, "d_inner": 64,
                  "block_sizes": [1, 1], "num_decoder_layers": 1, "architectures": ["FunnelModel"]},
                 "blocks that halve the length",
                 refused="the model's code takes its size as a number",
                 why="a Python list of all positions"),
)  # fmt: skip

SEQUENCES = (
    Architecture("t5", BOTH, T5, "a bias for relative positions"),
    Architecture("mt5", BOTH, T5, "gated feed-forward parts"),
    Architecture("bart", BOTH, BART, "learned positions"),
    Architecture(
        "marian",
        BOTH,
        {**BART, "pad_token_id": 0, "decoder_start_token_id": 0},
        "positions by sines",
    ),
    Architecture("pegasus", BOTH, BART, "norms before each part"),
)

DECODERS = (
    Architecture("gpt2", DECODER, GPT, "learned positions"),
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
    Architecture("llama", DECODER, GROUPED, "rotary positions, keys shared by heads"),
    Architecture("mistral", DECODER, {**GROUPED, "sliding_window": 8}, "a sliding window"),
    Architecture("mixtral", DECODER, {**GROUPED, "num_local_experts": 4}, "experts"),
    Architecture("qwen2", DECODER, GROUPED, "biases of queries, keys and values"),
    Architecture("qwen3", DECODER, GROUPED, "norms of queries and keys"),
    Architecture("qwen2_moe", DECODER,
                 {**GROUPED, **EXPERTS, "shared_expert_intermediate_size": 16},
                 "experts, and one for all tokens"),
    Architecture("qwen3_moe", DECODER, {**GROUPED, **EXPERTS}, "experts"),
    Architecture("gemma", DECODER, GROUPED, "scaled embeddings"),
    Architecture("gemma2", DECODER, {**GROUPED, "sliding_window": 8},
                 "scores and logits capped by tanh"),
    Architecture("gemma3_text", DECODER, {**GROUPED, "sliding_window": 8},
                 "two kinds of rotary positions"),
    Architecture("phi", DECODER, SMALL, "rotary positions for a part of each head"),
    Architecture("phi3", DECODER, {**GROUPED, **SPECIAL}, "one product for queries, keys, values"),
    Architecture("stablelm", DECODER, GROUPED, "rotary positions for a part of each head"),
    Architecture("olmo", DECODER, {**SMALL, **SPECIAL}, "norms without weights"),
    Architecture("granite", DECODER, GROUPED, "scaled residuals"),
    Architecture("cohere", DECODER, {**SMALL, **SPECIAL}, "attention beside the feed-forward part"),
    Architecture("gpt_oss", DECODER,
                 {**GROUPED, "num_local_experts": 4, "num_experts_per_tok": 2,
                  "sliding_window": 8, "pad_token_id": 0},
                 "experts with biases; attention sinks"),
    Architecture("deepseek_v2", DECODER, LATENT, "rotary positions as complex numbers"),
    Architecture("deepseek_v3", DECODER, LATENT, "keys and values from a narrow state"),
    Architecture("mamba", DECODER,
                 {"vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 8},
                 "a state space",
                 refused="the model's code takes its size as a number",
                 why="a Python loop over `seq` (its fast path needs a GPU)"),
    Architecture("mamba2", DECODER,
                 {"vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 8,
                  "head_dim": 8, "num_heads": 8, "expand": 2, "n_groups": 2, "chunk_size": 8},
                 "a state space in chunks"),
    Architecture("rwkv", DECODER,
                 {"vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2,
                  "attention_hidden_size": 32, "intermediate_size": 64},
                 "a recurrent network", without=("attention_mask",),
                 refused="the model's code takes its size as a number",
                 why="a Python loop over `seq` (its fast path needs a GPU)"),
)  # fmt: skip

TEXT_MODELS = (*ENCODERS, *SEQUENCES, *DECODERS)
