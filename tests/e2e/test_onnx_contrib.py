"""Ops of `com.microsoft` against onnxruntime, at sizes that the compile has not seen."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import anyshape as ash

Arrays = Mapping[str, Any]
CODES = {np.float32: TensorProto.FLOAT, np.int32: TensorProto.INT32, np.int64: TensorProto.INT64}
CODES |= {np.uint8: TensorProto.UINT8, np.int8: TensorProto.INT8}


def model_of(
    op: str, inputs: Sequence[str], feeds: Arrays, shapes: Mapping[str, Sequence[Any]],
    constants: Arrays, outputs: int = 1, domain: str = "com.microsoft", **attributes: Any,
) -> bytes:  # fmt: skip
    """One node; inputs without an array are constants or left out."""
    names = [f"y{n}" for n in range(outputs)]
    node = helper.make_node(op, list(inputs), names, domain=domain, **attributes)
    given = [
        helper.make_tensor_value_info(n, CODES[feeds[n].dtype.type], shapes.get(n, feeds[n].shape))
        for n in inputs
        if n in feeds
    ]
    made = [onnx.ValueInfoProto(name=name) for name in names]
    tensors = [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()]
    graph = helper.make_graph([node], "one", given, made, tensors)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def sessions(model: bytes) -> tuple[Any, Any]:
    return ash.InferenceSession(model), onnxruntime.InferenceSession(model)


def agree(ours: Any, theirs: Any, feeds: Arrays, used: Sequence[int] | None = None) -> None:
    found, expected = ours.run(None, dict(feeds)), theirs.run(None, dict(feeds))
    for number, (y, r) in enumerate(zip(found, expected, strict=True)):
        if used is None or number in used:
            assert y.dtype == r.dtype
            assert y.shape == r.shape
            np.testing.assert_allclose(y, r, rtol=2e-4, atol=2e-5)


def rng_of(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def normal(rng: np.random.Generator, *shape: int) -> Any:
    return rng.normal(size=shape).astype(np.float32)


# --- activations, norms, products -----------------------------------------------------------------

D = 16
VECTORS = {name: normal(rng_of(n), D) for n, name in enumerate(("gamma", "beta", "bias"))}
ROWS = {"x": ["b", "s", D], "skip": ["b", "s", D]}
SIMPLE: list[tuple[str, list[str], int, dict[str, Any]]] = [
    ("Gelu", ["x"], 1, {}),
    ("BiasGelu", ["x", "bias"], 1, {}),
    ("FastGelu", ["x"], 1, {}),
    ("FastGelu", ["x", "bias"], 1, {}),
    ("QuickGelu", ["x"], 1, {"alpha": 1.5}),
    ("SkipLayerNormalization", ["x", "skip", "gamma"], 1, {"epsilon": 1e-5}),
    ("SkipLayerNormalization", ["x", "skip", "gamma", "beta", "bias"], 4, {}),
    ("SkipSimplifiedLayerNormalization", ["x", "skip", "gamma", "bias"], 4, {"epsilon": 1e-6}),
    ("SimplifiedLayerNormalization", ["x", "gamma"], 1, {"epsilon": 1e-6}),
    ("FusedMatMul", ["x", "skip"], 1, {"transB": 1, "alpha": 0.25}),
]


@pytest.mark.parametrize(("op", "inputs", "outputs", "attributes"), SIMPLE)
def test_rows(op: str, inputs: list[str], outputs: int, attributes: dict[str, Any]) -> None:
    feeds = {n: normal(rng_of(1), 2, 3, D) for n in inputs if n in ROWS}
    constants = {n: v for n, v in VECTORS.items() if n in inputs}
    domain = "" if op.startswith("Simplified") else "com.microsoft"
    given = op, inputs, feeds, ROWS, constants, outputs, domain
    model = model_of(*given, **attributes)
    if outputs == 4:  # the second and third are for training
        text = onnx.load_from_string(model)
        text.graph.node[0].output[1] = text.graph.node[0].output[2] = ""
        del text.graph.output[1:3]
        model = text.SerializeToString()
    ours, theirs = sessions(model)
    for b, s in ((1, 1), (3, 5)):
        agree(ours, theirs, {n: normal(rng_of(b), b, s, D) for n in feeds})


@pytest.mark.parametrize("full", [False, True])
def test_embeddings(full: bool) -> None:
    rng = rng_of(2)
    constants = {"words": normal(rng, 20, D), "positions": normal(rng, 9, D), **VECTORS}
    constants |= {"segments": normal(rng, 2, D)} if full else {}
    del constants["bias"]
    inputs = ["ids", "which" if full else "", "words", "positions", "segments" if full else ""]
    inputs += ["gamma", "beta"] + (["mask", "places"] if full else [])

    def feeds(b: int, s: int) -> dict[str, Any]:
        made = {"ids": rng.integers(0, 20, (b, s)).astype(np.int32)}
        if full:
            made["which"] = rng.integers(0, 2, (b, s)).astype(np.int32)
            made["mask"] = rng.integers(0, 2, (b, s)).astype(np.int32)
            made["places"] = rng.integers(0, 9, (b, s)).astype(np.int32)
        return made

    shapes = {n: ["b", "s"] for n in ("ids", "which", "mask", "places")}
    model = model_of("EmbedLayerNormalization", inputs, feeds(2, 3), shapes, constants, 3)
    ours, theirs = sessions(model)
    for sizes in ((1, 1), (2, 7)):
        agree(ours, theirs, feeds(*sizes))


# --- attention ------------------------------------------------------------------------------------

N, H = 2, 4


def past_of(rng: np.random.Generator, b: int, p: int) -> Any:
    return normal(rng, 2, b, N, p, H)


ATTENTIONS = ["plain", "lengths", "ends", "keys", "scores", "causal", "past", "bias"]


@pytest.mark.parametrize("kind", ATTENTIONS)
def test_attention(kind: str) -> None:
    rng = rng_of(3)
    constants = {"w": normal(rng, 6, 3 * N * H), "b": normal(rng, 3 * N * H)}
    inputs = ["x", "w", "b", "mask", "past", "added"]
    attributes = {"num_heads": N, "unidirectional": int(kind in ("causal", "past"))}
    attributes |= {"scale": 0.3} if kind == "bias" else {}

    def feeds(b: int, s: int, p: int) -> dict[str, Any]:
        made: dict[str, Any] = {"x": normal(rng, b, s, 6)}
        ends = rng.integers(1, s + 1, b).astype(np.int32)
        made |= {"mask": ends} if kind == "lengths" else {}
        made |= (
            {"mask": np.concatenate([ends, ends // 2]).astype(np.int32)} if kind == "ends" else {}
        )
        made |= {"mask": _some_seen(rng, b, s)} if kind == "keys" else {}
        made |= {"mask": _some_seen(rng, b, s, s)} if kind == "scores" else {}
        made |= {"past": past_of(rng, b, p)} if kind == "past" else {}
        made |= {"added": normal(rng, b, N, s, s)} if kind == "bias" else {}
        return made

    masks = {"lengths": ["b"], "ends": ["b2"], "keys": ["b", "s"], "scores": ["b", "s", "s"]}
    shapes = {"x": ["b", "s", 6], "mask": masks.get(kind, []), "past": [2, "b", N, "p", H]}
    shapes |= {"added": ["b", N, "s", "s"]}
    first = feeds(2, 3, 2)
    used = [n if n in first or n in constants else "" for n in inputs]
    if kind == "ends":
        shapes["x"], shapes["mask"] = [2, "s", 6], [4]
    given = used, first, shapes, constants
    model = model_of("Attention", *given, 2 if kind == "past" else 1, **attributes)
    ours, theirs = sessions(model)
    for b, s, p in ((2, 1, 3), (2, 7, 1)):
        agree(ours, theirs, feeds(b, s, p))


def _some_seen(rng: np.random.Generator, *shape: int) -> Any:
    made = rng.integers(0, 2, shape).astype(np.int32)
    made[..., 0] = 1
    return made


@pytest.mark.parametrize("kind", ["plain", "bias", "padding", "past", "cached", "added", "causal"])
def test_multi_head_attention(kind: str) -> None:
    rng = rng_of(4)
    inputs = ["q", "k", "v", "b", "mask", "added", "pk", "pv"]
    constants = {"b": normal(rng, 3 * N * H)} if kind == "bias" else {}
    cached = kind == "cached"

    def feeds(b: int, s: int, t: int, p: int) -> dict[str, Any]:
        made: dict[str, Any] = {"q": normal(rng, b, s, N * H)}
        for name in "kv":
            made[name] = normal(rng, b, N, t, H) if cached else normal(rng, b, t, N * H)
        if kind == "past":
            made |= {name: normal(rng, b, N, p, H) for name in ("pk", "pv")}
        made |= {"mask": _some_seen(rng, b, t)} if kind == "padding" else {}
        made |= {"added": normal(rng, 1, N, s, t)} if kind == "added" else {}
        return made

    keys = ["b", N, "t", H] if cached else ["b", "t", N * H]
    shapes = {"q": ["b", "s", N * H], "k": keys, "v": keys, "mask": ["b", "t"]}
    shapes |= {"added": [1, N, "s", "t"], "pk": ["b", N, "p", H], "pv": ["b", N, "p", H]}
    first = feeds(2, 3, 3, 2)
    used = [n if n in first or n in constants else "" for n in inputs]
    outputs = 3 if kind == "past" else 1
    attributes = {"num_heads": N, "unidirectional": int(kind == "causal")}
    given = used, first, shapes, constants, outputs
    ours, theirs = sessions(model_of("MultiHeadAttention", *given, **attributes))
    for b, s, p in ((1, 1, 4), (3, 5, 1)):
        agree(ours, theirs, feeds(b, s, s, p))


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("form", ["rows", "heads", "offset", "part"])
def test_rotations(form: str, interleaved: int) -> None:
    rng = rng_of(5)
    half = H // 4 if form == "part" else H // 2
    constants = {"cos": normal(rng, 12, half), "sin": normal(rng, 12, half)}

    def feeds(b: int, s: int) -> dict[str, Any]:
        x = normal(rng, b, N, s, H) if form == "heads" else normal(rng, b, s, N * H)
        places = rng.integers(0, 12, (b, s)) if form != "offset" else np.array([3])
        return {"x": x, "places": places.astype(np.int64)}

    shapes = {"x": ["b", N, "s", H] if form == "heads" else ["b", "s", N * H]}
    shapes["places"] = [1] if form == "offset" else ["b", "s"]
    attributes = {"interleaved": interleaved}
    attributes |= {"num_heads": N, "rotary_embedding_dim": 2 * half} if form == "part" else {}
    inputs = ["x", "places", "cos", "sin"]
    model = model_of("RotaryEmbedding", inputs, feeds(2, 3), shapes, constants, **attributes)
    ours, theirs = sessions(model)
    for sizes in ((1, 1), (2, 6)):
        agree(ours, theirs, feeds(*sizes))


@pytest.mark.parametrize("kind", ["prompt", "past", "rotated", "packed", "window", "cap"])
def test_group_query_attention(kind: str) -> None:
    """Prompts without a cache, and steps behind one, whose rows may have different lengths."""
    rng = rng_of(6)
    heads, width = 4, 16
    constants: dict[str, Any] = {}
    if kind in ("rotated", "packed"):
        constants = {"cos": normal(rng, 16, width // 2), "sin": normal(rng, 16, width // 2)}
    inputs = ["q", "k", "v", "pk", "pv", "lengths", "total", "cos", "sin"]

    def feeds(b: int, s: int, p: int, ragged: bool = False) -> dict[str, Any]:
        every = heads + 4 if kind == "packed" else heads
        made: dict[str, Any] = {"q": normal(rng, b, s, every * width)}
        if kind != "packed":
            made |= {name: normal(rng, b, s, N * width) for name in "kv"}
        if kind != "prompt":
            made |= {name: normal(rng, b, N, p, width) for name in ("pk", "pv")}
        past = p if kind != "prompt" else 0
        short = rng.integers(0, past, b) if ragged else 0
        made["lengths"] = (np.full(b, past + s - 1) - short).astype(np.int32)
        made["total"] = np.array(past + s, np.int32)
        return made

    every = heads + 4 if kind == "packed" else heads
    shapes: dict[str, Any] = {"q": ["b", "s", every * width], "lengths": ["b"], "total": []}
    shapes |= {name: ["b", "s", N * width] for name in "kv"}
    shapes |= {name: ["b", N, "p", width] for name in ("pk", "pv")}
    first = feeds(2, 3, 2)
    used = [n if n in first or n in constants else "" for n in inputs]
    attributes = {"num_heads": heads, "kv_num_heads": N, "do_rotary": int(bool(constants))}
    attributes |= {"local_window_size": 3} if kind == "window" else {}
    attributes |= {"softcap": 0.7} if kind == "cap" else {}
    model = model_of("GroupQueryAttention", used, first, shapes, constants, 3, **attributes)
    ours, theirs = sessions(model)
    agree(ours, theirs, feeds(2, 5, 3) if kind == "prompt" else feeds(2, 1, 4))
    agree(ours, theirs, feeds(1, 1, 7))
    if kind in ("past", "rotated"):  # rows behind their own ends are arbitrary
        agree(ours, theirs, feeds(3, 1, 5, ragged=True), used=(0,))


def test_a_cache_with_room_for_later_keys_ends_the_call() -> None:
    rng = rng_of(7)
    feeds = {"q": normal(rng, 1, 1, 8), "k": normal(rng, 1, 1, 8), "v": normal(rng, 1, 1, 8)}
    feeds |= {"pk": normal(rng, 1, 1, 5, 8), "pv": normal(rng, 1, 1, 5, 8)}
    feeds |= {"lengths": np.array([2], np.int32), "total": np.array(3, np.int32)}
    inputs = ["q", "k", "v", "pk", "pv", "lengths", "total"]
    model = model_of("GroupQueryAttention", inputs, feeds, {}, {}, 3, num_heads=1, kv_num_heads=1)
    with pytest.raises(Exception, match="asserts of its data"):
        ash.InferenceSession(model).run(None, feeds)


@pytest.mark.parametrize(
    ("op", "inputs", "attributes", "named"),
    [
        ("Attention", ["x", "w"], {"num_heads": 1, "do_rotary": 1}, "do_rotary"),
        ("FusedMatMul", ["x", "w"], {"transBatchA": 1}, "transBatchA"),
        ("QuickGelu", ["x"], {"beta": 1.0}, "beta"),
    ],
)
def test_what_is_not_supported_is_named(
    op: str, inputs: list[str], attributes: dict[str, Any], named: str
) -> None:
    feeds = {"x": normal(rng_of(8), 1, 2, 3), "w": normal(rng_of(9), 3, 9)}
    model = model_of(op, inputs, {n: feeds[n] for n in inputs}, {}, {}, **attributes)
    with pytest.raises(Exception, match=named):
        ash.InferenceSession(model)
