"""Models of images and sound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.e2e.architectures.entry import (
    IMAGE,
    IMAGE_AND_TEXT,
    SOUND,
    SPECTRUM,
    SPECTRUM_AND_TEXT,
    Architecture,
    Kind,
)
from tests.e2e.architectures.text import BART, SMALL, SPECIAL

from anyshape import Axis

PATCHES: Mapping[str, Any] = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
    "image_size": 32, "patch_size": 8,
}  # fmt: skip
UNSIZED = {name: value for name, value in PATCHES.items() if name != "intermediate_size"}
STAGES: Mapping[str, Any] = {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1]}
WAVES: Mapping[str, Any] = {
    **SMALL, "conv_dim": [8, 8, 8], "conv_stride": [5, 2, 2], "conv_kernel": [10, 3, 2],
    "num_feat_extract_layers": 3, "num_conv_pos_embeddings": 4, "num_conv_pos_embedding_groups": 2,
}  # fmt: skip
LARGE = ((2, 64, 96), (1, 64, 64), (3, 96, 32), (1, 80, 48), (1, 37, 71))
WINDOWS: Mapping[str, Any] = {
    "image_size": 32, "patch_size": 2, "embed_dim": 8, "depths": [2, 2], "num_heads": [1, 2],
    "window_size": 4,
}  # fmt: skip
MOBILE: Mapping[str, Any] = {
    "image_size": 32, "patch_size": 2, "hidden_sizes": [8, 12, 16], "num_attention_heads": 2,
    "neck_hidden_sizes": [4, 4, 8, 8, 12, 12, 16], "num_hidden_layers": 2,
}  # fmt: skip
INTERPOLATED: Mapping[str, Any] = {"interpolate_pos_encoding": True}
CAPTIONS: Mapping[str, Any] = {**SMALL, "max_position_embeddings": 20}


def _in_steps(step: int, least: int, *sizes: tuple[int, int, int]) -> Kind:
    """Images of heights and widths for which the model has one case."""
    height, width = (Axis(name, min=least, multiple_of=step) for name in ("height", "width"))
    return replace(IMAGE, axes={"pixel_values": ("batch", None, height, width)}, sizes=sizes)


BY_16 = _in_steps(16, 32, (2, 64, 48), (1, 32, 32), (3, 48, 80), (1, 96, 64), (2, 112, 32))
BY_64 = _in_steps(64, 64, (2, 64, 128), (1, 64, 64), (3, 128, 64), (1, 192, 128), (2, 128, 320))

IMAGES = (
    Architecture("vit", IMAGE, PATCHES, "interpolated positions", extra=INTERPOLATED),
    Architecture("deit", IMAGE, PATCHES, "interpolated positions", extra=INTERPOLATED),
    Architecture("beit", IMAGE, {**PATCHES, "use_relative_position_bias": True},
                 "an interpolated bias for relative positions", extra=INTERPOLATED),
    Architecture("dinov2", IMAGE, UNSIZED, "interpolated positions"),
    Architecture("dinov3_vit", IMAGE, PATCHES, "rotary positions in two directions"),
    Architecture("convnext", IMAGE, STAGES, "depthwise convolutions of 7 × 7", sizes=LARGE),
    Architecture("resnet", IMAGE, {**STAGES, "embedding_size": 8}, "convolutions, max pooling"),
    Architecture("segformer", IMAGE,
                 {**STAGES, "num_attention_heads": [1, 2, 2, 4], "mlp_ratios": [2, 2, 2, 2]},
                 "keys and values of fewer places", sizes=LARGE),
    Architecture("swin", BY_16, WINDOWS, "windows that are shifted; sizes in steps of 16"),
    Architecture("mobilevit", BY_64, MOBILE,
                 "convolutions around attention over patches; sizes in steps of 64"),
    Architecture("clip", IMAGE_AND_TEXT,
                 {"text_config": {**CAPTIONS, **SPECIAL}, "vision_config": PATCHES,
                  "projection_dim": 16},
                 "images and texts in one space"),
    Architecture("siglip", IMAGE_AND_TEXT,
                 {"text_config": {**CAPTIONS, "projection_size": 32}, "vision_config": PATCHES},
                 "images and texts in one space"),
)  # fmt: skip

SOUNDS = (
    Architecture("wav2vec2", SOUND, WAVES, "convolutions over samples",
                 without=("attention_mask",)),
    Architecture("hubert", SOUND, WAVES, "convolutions over samples, with padding"),
    Architecture("whisper", SPECTRUM_AND_TEXT,
                 {**BART, "num_mel_bins": 16, "max_source_positions": 20,
                  "max_target_positions": 32, **SPECIAL, "decoder_start_token_id": 1},
                 "a spectrum of fixed length"),
    Architecture("audio-spectrogram-transformer", SPECTRUM,
                 {**UNSIZED, "intermediate_size": 64, "max_length": 64, "num_mel_bins": 32,
                  "frequency_stride": 8, "time_stride": 8},
                 "a spectrum of fixed length as an image"),
)  # fmt: skip
