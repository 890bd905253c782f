"""Which of torch's ops are the ATen core set: those that its decompositions end with."""

from __future__ import annotations

from typing import Any

import torch

UNDER_OTHER_NAMES = {
    "nn.functional.adaptive_avg_pool1d": "adaptive_avg_pool1d",
    "nn.functional.adaptive_avg_pool2d": "_adaptive_avg_pool2d",
    "nn.functional.adaptive_avg_pool3d": "_adaptive_avg_pool3d",
    "nn.functional.batch_norm": "_native_batch_norm_legit_no_training",
    "nn.functional.conv2d": "convolution",
    "nn.functional.dropout": "native_dropout",
    "nn.functional.elu": "elu",
    "nn.functional.embedding": "embedding",
    "nn.functional.embedding_bag": "_embedding_bag",
    "nn.functional.interpolate.bilinear": "upsample_bilinear2d",
    "nn.functional.interpolate.nearest": "upsample_nearest2d",
    "nn.functional.max_pool2d": "max_pool2d_with_indices",
    "nn.functional.max_pool3d": "max_pool3d_with_indices",
    "nn.functional.pad.reflect": "reflection_pad2d",
    "nn.functional.pad.replicate": "replication_pad2d",
    "nn.functional.pdist": "_pdist_forward",
    "__getitem__": "index",
    "cdist": "_cdist_forward",
    "fft.irfft": "_fft_c2r",
    "fft.rfft": "_fft_r2c",
    "item": "_local_scalar_dense",
    "log_softmax": "_log_softmax",
    "rand_like": "rand",
    "softmax": "_softmax",
    "to": "_to_copy",
}
"""Core ops that torch's table has samples for only under the name of a function that calls them."""


def core_op(info: Any) -> str:
    """The core op that an entry of torch's table has samples of; empty if there is none."""
    name = UNDER_OTHER_NAMES.get(info.full_name, info.aten_name or "")
    packet = getattr(torch.ops.aten, name, None)
    if packet is None:
        return ""
    overloads = (getattr(packet, each) for each in packet.overloads())
    return name if any(torch.Tag.core in each.tags for each in overloads) else ""
