"""The ATen ops that torch must not decompose, because the table has them."""

from __future__ import annotations

NOT_DECOMPOSED = frozenset(
    {"aten.scaled_dot_product_attention.default", "aten.layer_norm.default"}
    | {"aten.rms_norm.default", "aten.gelu.default", "aten.silu.default", "aten.softmax.int"}
    | {"aten.log_softmax.int", "aten.embedding.default", "aten.linear.default"}
    | {"aten.matmul.default", "aten.addmm.default", "aten.stack.default", "aten.unbind.int"}
    | {"aten.square.default", "aten.logsumexp.default"}
)
"""Ops that the importer takes whole although torch could decompose them."""
