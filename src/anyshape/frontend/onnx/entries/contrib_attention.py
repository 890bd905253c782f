"""Attention as onnxruntime's fusions write it: with packed projections, masks in several forms, and
caches of keys and values. `B` batch, `S` queries, `P` cached and `T` all keys, `N` heads."""

from __future__ import annotations

import math
from typing import Any

from anyshape.frontend.builder import compound
from anyshape.frontend.builder import dot as products
from anyshape.frontend.builder import elementwise as ew
from anyshape.frontend.builder.assemble import concat, cut, stack
from anyshape.frontend.builder.checks import check_values
from anyshape.frontend.builder.convert import asarray, cast_to, size_value
from anyshape.frontend.builder.movement import broadcast_to, expand_dims, gather, moveaxis, reshape
from anyshape.frontend.builder.source import arange, iota
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.frontend.onnx.calls import Call, entry
from anyshape.frontend.onnx.entries.contrib import MICROSOFT, refuse_outputs, refuse_set
from anyshape.frontend.onnx.entries.quantized import integer_product
from anyshape.frontend.onnx.numbers import known_sizes
from anyshape.ir.checks import ValueCheck
from anyshape.ir.types import f32, i64
from anyshape.sym import Dim

HIDDEN = -10000.0
"""What onnxruntime adds to the score of a masked key, unless a model says otherwise."""


def _heads(x: Tensor, count: int) -> Tensor:
    """[B, S, N * width] as [B, N, S, width]."""
    batch, rows, width = x.shape
    return moveaxis(reshape(x, (batch, rows, count, width // count)), 2, 1)


def _joined(x: Tensor) -> Tensor:
    """The reverse."""
    batch, heads, rows, width = x.shape
    return reshape(moveaxis(x, 1, 2), (batch, rows, heads * width))


def _added(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    if first is None or second is None:
        return second if first is None else first
    return first + second


def _key_mask(
    call: Call, mask: Tensor | None, x: Tensor, keys: Dim, hidden: float
) -> Tensor | None:
    """What is added to scores, from lengths [B], ends and starts [2 * B], or a mask of keys."""
    if mask is None:
        return None
    batch = x.shape[0]
    if mask.ndim == 1:
        places = reshape(iota((keys,), 0, mask.dtype), (1, keys))
        ends = expand_dims(mask[:batch], 1)
        seen = places < ends
        if mask.shape[0] == 2 * batch and batch != 0:
            seen = ew.logical_and(seen, places >= expand_dims(mask[batch:], 1))
        elif mask.shape[0] != batch:
            raise active().refuse(f"{call.op} with a mask {mask.type}", "give one length per row")
        seen = expand_dims(seen, (1, 2))
    elif mask.ndim in (2, 3):
        seen = expand_dims(mask > 0, (1, 2) if mask.ndim == 2 else 1)
    else:
        raise active().refuse(f"{call.op} with a mask {mask.type}", "give a mask of 2 or 3 axes")
    return ew.where(seen, asarray(0.0, x.dtype), asarray(hidden, x.dtype))


def _with_past(past: Tensor | None, new: Tensor) -> Tensor:
    return new if past is None else concat([past, new], 2)


def _scale(scale: float) -> float | None:
    return scale if scale else None


# --- projections inside ---------------------------------------------------------------------------


def _split(call: Call, x: Tensor, sizes: tuple[int, ...] | None) -> list[Tensor]:
    """Queries, keys and values side by side, as wide as is said, or all alike."""
    whole = x.shape[-1]
    widths = [Dim.of(n) for n in sizes] if sizes else [whole // 3] * 3
    if len(widths) != 3:
        raise call.invalid(f"has qkv_hidden_sizes {list(sizes or ())}")
    ends = [Dim.of(0), widths[0], widths[0] + widths[1], whole]
    return [cut(x, 2, ends[n], ends[n + 1]) for n in range(3)]


def _attend(
    call: Call,
    projected: Tensor,
    mask: Tensor | None,
    past: Tensor | None,
    bias: Tensor | None,
    heads: int,
    sizes: tuple[int, ...] | None = None,
    causal: int = 0,
    scale: float = 0.0,
    hidden: float = HIDDEN,
) -> tuple[Any, ...]:
    q, k, v = (_heads(part, heads) for part in _split(call, projected, sizes))
    k, v = (_with_past(None if past is None else past[n], new) for n, new in enumerate((k, v)))
    added = _added(_key_mask(call, mask, projected, k.shape[2], hidden), bias)
    found = compound.attention(q, k, v, added, "bottom_right" if causal else "none", _scale(scale))
    return _joined(found), stack([k, v]) if call.wants(1) else None


@entry("Attention", domain=MICROSOFT)
def attention(
    call: Call,
    x: Tensor,
    weights: Tensor,
    bias: Tensor | None = None,
    mask_index: Tensor | None = None,
    past: Tensor | None = None,
    attention_bias: Tensor | None = None,
    past_sequence_length: Tensor | None = None,
    *,
    num_heads: int,
    unidirectional: int = 0,
    qkv_hidden_sizes: tuple[int, ...] | None = None,
    scale: float = 0.0,
    mask_filter_value: float = HIDDEN,
    do_rotary: int = 0,
    rotary_embedding_dim: int = 0,
    past_present_share_buffer: int = 0,
) -> tuple[Any, ...]:
    refuse_set(
        call,
        do_rotary=do_rotary,
        past_present_share_buffer=past_present_share_buffer,
        past_sequence_length=past_sequence_length is not None,
    )
    projected = products.matmul(x, weights)
    projected = projected if bias is None else projected + bias
    given = projected, mask_index, past, attention_bias, num_heads, qkv_hidden_sizes
    return _attend(call, *given, unidirectional, scale, mask_filter_value)


@entry("QAttention", domain=MICROSOFT)
def qattention(
    call: Call,
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    input_scale: Tensor,
    weight_scale: Tensor,
    mask_index: Tensor | None = None,
    input_zero_point: Tensor | None = None,
    weight_zero_point: Tensor | None = None,
    past: Tensor | None = None,
    *,
    num_heads: int,
    unidirectional: int = 0,
    scale: float = 0.0,
    mask_filter_value: float = HIDDEN,
    do_rotary: int = 0,
    past_present_share_buffer: int = 0,
) -> tuple[Any, ...]:
    refuse_set(call, do_rotary=do_rotary, past_present_share_buffer=past_present_share_buffer)
    whole = integer_product(x, input_zero_point, weight, weight_zero_point)
    factor = input_scale.reshape(()) * (
        weight_scale.reshape(()) if weight_scale.shape in ((), (1,)) else weight_scale
    )
    projected = cast_to(whole, f32) * factor + bias
    given = projected, mask_index, past, None, num_heads, None
    return _attend(call, *given, unidirectional, scale, mask_filter_value)


# --- projections outside --------------------------------------------------------------------------


@entry("MultiHeadAttention", domain=MICROSOFT)
def multi_head_attention(
    call: Call,
    query: Tensor,
    key: Tensor | None = None,
    value: Tensor | None = None,
    bias: Tensor | None = None,
    key_padding_mask: Tensor | None = None,
    attention_bias: Tensor | None = None,
    past_key: Tensor | None = None,
    past_value: Tensor | None = None,
    past_sequence_length: Tensor | None = None,
    cache_indirection: Tensor | None = None,
    *,
    num_heads: int,
    unidirectional: int = 0,
    scale: float = 0.0,
    mask_filter_value: float = HIDDEN,
) -> tuple[Any, ...]:
    """Keys and values are [B, L, N * width], or as caches are, [B, N, L, width]."""
    refuse_outputs(call, "", "", "", "qk")
    refuse_set(
        call,
        past_sequence_length=past_sequence_length is not None,
        cache_indirection=cache_indirection is not None,
    )
    if query.ndim != 3 or key is None or value is None or value.ndim != key.ndim:
        raise active().refuse("MultiHeadAttention of packed inputs", "give query, key and value")
    parts = [query, key, value]
    if bias is not None:
        widths = [part.shape[-1] if part.ndim == 3 else query.shape[-1] for part in parts]
        ends = [Dim.of(0), widths[0], widths[0] + widths[1], bias.shape[0]]
        biases = [bias[ends[n] : ends[n + 1]] for n in range(3)]
        parts = [p + b if p.ndim == 3 else p for p, b in zip(parts, biases, strict=True)]
    q, k, v = (_heads(part, num_heads) if part.ndim == 3 else part for part in parts)
    k, v = _with_past(past_key, k), _with_past(past_value, v)
    mask = _key_mask(call, key_padding_mask, query, k.shape[2], mask_filter_value)
    added = _added(mask, attention_bias)
    found = compound.attention(
        q, k, v, added, "bottom_right" if unidirectional else "none", _scale(scale)
    )
    return _joined(found), k, v


# --- rotations ------------------------------------------------------------------------------------


def _rotated(x: Tensor, cos: Tensor, sin: Tensor, interleaved: int) -> Tensor:
    """[B, N, S, width] by angles [B or 1, 1, S, half]; what is wider than two halves stays."""
    half = cos.shape[-1]
    turned, rest = cut(x, 3, Dim.of(0), 2 * half), cut(x, 3, 2 * half, x.shape[3])
    if interleaved:
        first, second = turned[..., 0::2], turned[..., 1::2]
    else:
        first, second = cut(turned, 3, Dim.of(0), half), cut(turned, 3, half, 2 * half)
    real, imaginary = first * cos - second * sin, second * cos + first * sin
    if interleaved:
        both = reshape(stack([real, imaginary], 4), turned.shape)
    else:
        both = concat([real, imaginary], 3)
    return both if rest.shape[3] == 0 else concat([both, rest], 3)


def _angles(table: Tensor, places: Tensor) -> Tensor:
    """[B or 1, 1, S, half] of a table [most, half]."""
    return expand_dims(gather(table, places), 1)


@entry("RotaryEmbedding", domain=MICROSOFT)
def rotary_embedding(
    call: Call,
    x: Tensor,
    position_ids: Tensor,
    cos_cache: Tensor,
    sin_cache: Tensor,
    *,
    interleaved: int = 0,
    num_heads: int = 0,
    rotary_embedding_dim: int = 0,
    is_packed_batching: int = 0,
    scale: float = 1.0,
) -> Tensor:
    refuse_set(call, is_packed_batching=is_packed_batching, scale=scale != 1.0)
    if x.ndim == 3:
        heads = Dim.of(num_heads) if num_heads else x.shape[2] // (2 * cos_cache.shape[1])
        batch, rows, width = x.shape
        apart = moveaxis(reshape(x, (batch, rows, heads, width // heads)), 2, 1)
    else:
        apart = x
    places = position_ids
    if places.ndim == 1:
        places = reshape(arange(apart.shape[2]), (1, -1)) + reshape(places, (1, 1))
    found = _rotated(apart, _angles(cos_cache, places), _angles(sin_cache, places), interleaved)
    return _joined(found) if x.ndim == 3 else found


# --- shared heads ---------------------------------------------------------------------------------


def _require_appended(call: Call, total: Tensor, keys: Dim) -> None:
    """Caches grow by what is new. A cache that has room for later keys is another program."""
    known = known_sizes(total)
    if known is not None and known[0] == keys:
        return
    differs = cast_to(total, i64).reshape(()) != size_value(keys, i64)
    check = ValueCheck("assertion", f"{call.op}: total_sequence_length", None, ())
    check_values(differs, Dim.of(1), check, Dim.of(1))


def _cached(past: Tensor | None, new: Tensor, lengths: Tensor) -> Tensor:
    """[B, N, P + S, width]: of each row the first `lengths` [B] of the past, then what is new.

    What is behind these is arbitrary in onnxruntime; here it is past or new keys once more."""
    if past is None:
        return new
    rows, keys = new.shape[2], past.shape[2] + new.shape[2]
    places = reshape(iota((keys,), 0), (1, keys)) - expand_dims(lengths, 1)
    taken = ew.clip(places, 0, size_value(rows - 1, i64))
    index = broadcast_to(expand_dims(taken, (1, 3)), (*new.shape[:2], keys, new.shape[3]))
    fresh = active().emit("take_along", new, index, axis=2)
    padded = concat([past, new], 2)
    return ew.where(expand_dims(places < 0, (1, 3)), padded, fresh)


@entry("GroupQueryAttention", domain=MICROSOFT)
def group_query_attention(
    call: Call,
    query: Tensor,
    key: Tensor | None,
    value: Tensor | None,
    past_key: Tensor | None,
    past_value: Tensor | None,
    seqlens_k: Tensor,
    total_sequence_length: Tensor,
    cos_cache: Tensor | None = None,
    sin_cache: Tensor | None = None,
    position_ids: Tensor | None = None,
    attention_bias: Tensor | None = None,
    head_sink: Tensor | None = None,
    k_scale: Tensor | None = None,
    v_scale: Tensor | None = None,
    q_norm_weight: Tensor | None = None,
    k_norm_weight: Tensor | None = None,
    *,
    num_heads: int,
    kv_num_heads: int,
    do_rotary: int = 0,
    rotary_interleaved: int = 0,
    scale: float = 0.0,
    softcap: float = 0.0,
    local_window_size: int = -1,
    smooth_softmax: int = 0,
    causal: int = 1,
    qk_output: int = 0,
    kv_cache_bit_width: int = 0,
    sliding_window_cache: int = 0,
    qk_norm_epsilon: float = 1e-6,
    k_quant_type: str = "NONE",
    v_quant_type: str = "NONE",
) -> tuple[Any, ...]:
    """A key is seen from its own place on, counted within the valid keys of its row: `seqlens_k`
    is their number less one, new ones included."""
    refuse_outputs(call, "", "", "", "output_qk")
    refuse_set(
        call,
        head_sink=head_sink is not None,
        k_scale=k_scale is not None,
        v_scale=v_scale is not None,
        q_norm_weight=q_norm_weight is not None,
        k_norm_weight=k_norm_weight is not None,
        smooth_softmax=smooth_softmax > 0,
        causal_of_0=causal != 1,
        qk_output=qk_output,
        kv_cache_bit_width=kv_cache_bit_width,
        sliding_window_cache=sliding_window_cache,
        k_quant_type=k_quant_type != "NONE",
        v_quant_type=v_quant_type != "NONE",
    )
    q, k, v = _queries_keys_values(call, query, key, value, num_heads, kv_num_heads)
    past = Dim.of(0) if past_key is None else past_key.shape[2]
    rows, keys = q.shape[2], past + q.shape[2]
    _require_appended(call, total_sequence_length, keys)
    valid = cast_to(seqlens_k.reshape(-1), i64) + 1
    before = ew.maximum(valid - size_value(rows, i64), 0)
    if past_key is None:
        before = before * 0
    places = expand_dims(before, 1) + reshape(iota((rows,), 0), (1, rows))
    if do_rotary:
        if cos_cache is None or sin_cache is None:
            raise call.invalid("rotates without cos_cache and sin_cache")
        turned = places if position_ids is None else position_ids
        angles = _angles(cos_cache, turned), _angles(sin_cache, turned)
        q, k = (_rotated(each, *angles, rotary_interleaved) for each in (q, k))
    k, v = _cached(past_key, k, before), _cached(past_value, v, before)
    mask = _seen(places, keys, local_window_size)
    return _attended(q, k, v, mask, attention_bias, scale, softcap), k, v


def _queries_keys_values(
    call: Call, query: Tensor, key: Tensor | None, value: Tensor | None, heads: int, few: int
) -> tuple[Tensor, Tensor, Tensor]:
    if (key is None) != (value is None):
        raise call.invalid("has a key without a value, or the reverse")
    if key is not None and value is not None:
        return _heads(query, heads), _heads(key, few), _heads(value, few)
    every = heads + 2 * few
    packed = _heads(query, every)
    ends = (0, heads, heads + few, every)
    q, k, v = (cut(packed, 1, Dim.of(ends[n]), Dim.of(ends[n + 1])) for n in range(3))
    return q, k, v


def _seen(places: Tensor, keys: Dim, window: int) -> Tensor:
    """[B, 1, S, T]: which keys are not behind a query, nor too far before it."""
    columns = reshape(iota((keys,), 0), (1, 1, keys))
    own = expand_dims(places, 2)
    seen = columns <= own
    if window > 0:
        seen = ew.logical_and(seen, columns > own - window)
    return expand_dims(seen, 1)


def _attended(
    q: Tensor, k: Tensor, v: Tensor, seen: Tensor, bias: Tensor | None, scale: float, cap: float
) -> Tensor:
    mask = seen
    if bias is not None:
        mask = ew.where(seen, bias, asarray(-math.inf, bias.dtype))
    attrs = {"scale": _scale(scale), "cap": cap or None}
    return _joined(active().emit("attention", q, k, v, mask, **attrs))
