"""Techniques for axes that vary: MiniLM with its real weights, and two models beside it.

    python -m benchmarks.strategies ragged              a batch, padded and packed
    python -m benchmarks.strategies techniques          a stream of requests, one at a time
    python -m benchmarks.strategies techniques --stream uniform --model minilm|gpt2|conv
    python -m benchmarks.strategies buckets             waste as predicted, and the cap
    python -m benchmarks.strategies batches             a stream of requests, in batches
    python -m benchmarks.strategies hot --model minilm   sizes that come again and again

Two threads; each part takes a minute or less. Requests have 4 to 512 tokens, most of them few
(Zipf-like), or any number as often (uniform).

`ragged` runs a batch of 32 requests by each technique in turns, in one process; a round takes each
of them once, and the best counts. `long` is one exact run of 512 tokens, the best that products and
attention can do per token.

`techniques` runs each request by itself, by each technique in turns, so that the machine is the
same for all: exact sizes, buckets that are powers of two, memory for a maximum, and ragged. Bytes
are those that are held between calls, without weights. `gpt2` is GPT-2 small, `conv` MobileNet-V2
on square images of 32 to 224 rows, both with random weights.

`hot` calls a few sizes often, by the program for all shapes and with `hot` in turns, after the code
for them has been made; then the same calls while such code is made, for what callers notice of it.

`batches` runs all requests in first-come batches of 8, and in those of `ash.batches`: padded to
their longest, padded to buckets, and ragged; a part of the stream by each of them in turns.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, cast

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np

# ruff: noqa: PLC0415 - torch is imported where a model is

REQUESTS, SHORTEST, LONGEST = 32, 4, 512
STREAM: Final = {"zipf": 500, "uniform": 200}
COSTLIER: Final = {"minilm": 1, "conv": 2, "gpt2": 8}
BATCHED: Final = 1000
WORDS: Final = 30_000
THREADS: Final = 2
RAGGED_LIMIT, LONG_LIMIT = 1.6, 0.95
BATCHES_LIMIT: Final = 1.5
WASTE_LIMIT: Final = 0.02
CAP: Final = 25  # percent of a bucket
HOT_AFTER: Final = 4  # calls: a stream of some hundred has few of a size
HOT_SIZES: Final = (8, 16, 64, 128, 384)  # of 512
HOT_SECONDS: Final = 3.0  # of each size
HOT_LIMIT: Final = 1.05  # from where on it would be on by default
FIRST_COME: Final = 8
BUDGET: Final = 0.1  # seconds of one ragged batch
SLICES: Final = 25  # of the stream, which ways to batch it do in turns
MIB: Final = 1 << 20
INPUTS: Final = ("input_ids", "attention_mask")

Request = Any  # an array of tokens
Call = Callable[[Request], Any]


# --- requests -------------------------------------------------------------------------------------


def zipf_lengths(count: int, seed: int = 0) -> list[int]:
    """Lengths whose frequency falls with them, from `SHORTEST` to `LONGEST`."""
    sizes = np.arange(SHORTEST, LONGEST + 1)
    weights = 1 / sizes
    return np.random.default_rng(seed).choice(sizes, count, p=weights / weights.sum()).tolist()


def uniform_lengths(count: int, seed: int = 0) -> list[int]:
    return np.random.default_rng(seed).integers(SHORTEST, LONGEST + 1, count).tolist()


def requests_of(lengths: Iterable[int]) -> list[Request]:
    rng = np.random.default_rng(1)
    return [rng.integers(0, WORDS, length) for length in lengths]


def padded(requests: Sequence[Request]) -> dict[str, np.ndarray]:
    longest = max(map(len, requests))
    ids = np.zeros((len(requests), longest), np.int64)
    mask = np.zeros_like(ids)
    for row, request in enumerate(requests):
        ids[row, : len(request)], mask[row, : len(request)] = request, 1
    return {"input_ids": ids, "attention_mask": mask}


# --- models ---------------------------------------------------------------------------------------


def encoder() -> Any:
    from examples.sentence_encoder import load_encoder, model_folder

    folder = model_folder()
    if folder is None:
        raise FileNotFoundError("the weights of MiniLM: make bench installs them")
    return load_encoder(folder)


def compiled(model: Any, names: tuple[Any, Any] = ("batch", "seq"), **chosen: Any) -> Any:
    import torch

    import anyshape as ash

    ids = torch.ones(2 if names[0] == "batch" else 1, 9, dtype=torch.long)
    example: dict[str, Any] = {
        "kwargs": {"input_ids": ids, "attention_mask": ids},
        "axes": {"input_ids": names, "attention_mask": names},
        "threads": THREADS,
    }
    return cast(Any, ash.compile)(model, **example, **chosen)


def one(request: Request) -> dict[str, np.ndarray]:
    return {"input_ids": request[None], "attention_mask": np.ones((1, len(request)), np.int64)}


# --- a batch, padded and packed -------------------------------------------------------------------


def best_of(rounds: int, calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Seconds of each call, in turns."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds + 1):  # the first one finds the shapes
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def ragged_part(rounds: int) -> None:
    import anyshape as ash

    model = encoder()
    exact, ragged = compiled(model), compiled(model, ragged="seq")
    requests = requests_of(zipf_lengths(REQUESTS))
    total = sum(map(len, requests))
    batch, packed = padded(requests), ash.pack(requests)
    longest = one(np.random.default_rng(2).integers(0, WORDS, LONGEST))
    difference = np.abs(exact(**batch) - ragged(input_ids=packed)).max()
    seconds = best_of(
        rounds,
        {
            "padded": lambda: exact(**batch),
            "ragged": lambda: ragged(input_ids=packed),
            "long": lambda: exact(**longest),
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


# --- one request at a time ------------------------------------------------------------------------


class Technique:
    """A compiled model, how it takes a request, and what its calls took."""

    def __init__(self, name: str, make: Callable[[], Any], call: Callable[[Any], Call]) -> None:
        started = time.perf_counter()
        self.name, self.model = name, make()
        self.compile_seconds = time.perf_counter() - started
        self.call = call(self.model)
        self.seconds: list[float] = []
        self.faults = 0

    def run(self, request: Request) -> Any:
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        started = time.perf_counter()
        result = self.call(request)
        self.seconds.append(time.perf_counter() - started)
        self.faults += resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults
        return result

    def row(self, tokens: int) -> str:
        executable = self.model.executable
        metrics, memory = executable.metrics(), executable.memory()
        held = memory.idle_arenas + memory.specializations
        level_2 = metrics.specialize_ns / max(metrics.misses, 1) / 1e3
        p50, p99 = np.percentile(self.seconds, [50, 99]) * 1e3
        speed = tokens / sum(self.seconds)
        faults = self.faults / len(self.seconds)
        return (
            f"  {self.name:8} {p50:8.2f} {p99:8.2f} {speed:9.0f} {held / MIB:9.1f} {faults:9.1f} "
            f"{metrics.misses:6} {level_2:8.1f} {self.compile_seconds:8.1f}"
        )


class Subject:
    """A model for requests one at a time: of one axis, which `axes` gives to its inputs."""

    longest: int = LONGEST
    sizes: str = "tokens"

    def __init__(self, model: Any) -> None:
        self.model = model

    def axes(self, axis: Any) -> dict[str, Any]:
        return {"input_ids": (1, axis)}

    def arguments(self, request: Request) -> dict[str, np.ndarray]:
        return {"input_ids": request[None]}

    def compiled(self, axis: Any, **chosen: Any) -> Any:
        import torch

        import anyshape as ash

        example = self.arguments(self.request(9))
        given = {name: torch.from_numpy(array) for name, array in example.items()}
        make = cast(Any, ash.compile)
        return make(self.model, kwargs=given, axes=self.axes(axis), threads=THREADS, **chosen)

    def request(self, size: int) -> Request:
        return np.random.default_rng(size).integers(0, WORDS, size)


class MiniLm(Subject):
    def axes(self, axis: Any) -> dict[str, Any]:
        return dict.fromkeys(INPUTS, (1, axis))

    def arguments(self, request: Request) -> dict[str, np.ndarray]:
        return one(request)


class Images(Subject):
    """Square ones."""

    longest, sizes = 224, "rows"

    def axes(self, axis: Any) -> dict[str, Any]:
        return {"input": (1, None, axis, axis)}

    def arguments(self, request: Request) -> dict[str, np.ndarray]:
        return {"input": request}

    def request(self, size: int) -> Request:
        side = max(size * 224 // LONGEST, 32)
        shape = (1, 3, side, side)
        return np.random.default_rng(side).standard_normal(shape, np.float32)


def gpt2() -> Any:
    import torch
    from transformers import GPT2Config, GPT2Model

    class LastToken(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.model = GPT2Model(GPT2Config()).eval()

        def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
            found = self.model(input_ids=input_ids, use_cache=False).last_hidden_state
            return found[:, -1]

    return LastToken()


def subject(name: str) -> Subject:
    match name:
        case "gpt2":
            return Subject(gpt2())
        case "conv":
            from benchmarks.workloads.net_modules import net

            return Images(net("MobileNet-V2").eval())
        case _:
            return MiniLm(encoder())


def techniques(of: Subject) -> list[Technique]:
    import anyshape as ash

    bounded = {"min": 1, "max": of.longest}
    declared = {
        "exact": ash.Axis("size", **bounded),
        "buckets": ash.Axis("size", **bounded, buckets="pow2"),
        "static": ash.Axis("size", **bounded, static=True),
    }
    hot = ash.Hot(after=HOT_AFTER, count=64)

    def by_name(made: Any) -> Call:
        return lambda request: made(**of.arguments(request))

    def packed(made: Any) -> Call:
        return lambda request: made(input_ids=ash.pack([request]))

    found = [
        Technique(name, lambda axis=axis: of.compiled(axis), by_name)
        for name, axis in declared.items()
    ]
    found.append(Technique("hot", lambda: of.compiled(declared["exact"], hot=hot), by_name))
    if isinstance(of, MiniLm):
        found.append(Technique("ragged", lambda: compiled(of.model, ragged="seq"), packed))
    return found


def techniques_part(model: str, stream: str, count: int) -> None:
    lengths = zipf_lengths(count) if stream == "zipf" else uniform_lengths(count)
    of = subject(model)
    requests, every = [of.request(length) for length in lengths], techniques(of)
    for technique in every:  # caches of the machine, Python's memory
        for request in requests[:2]:
            technique.call(request)
    worst, total = 0.0, sum(request.shape[-1] for request in requests)
    for request in requests:
        results = [np.asarray(technique.run(request)) for technique in every]
        scale = max(float(np.abs(results[0]).max()), 1e-9)
        worst = max(worst, *(float(np.abs(r - results[0]).max()) / scale for r in results[1:]))
    print(f"{model}: {count} requests, {stream}, {total} {of.sizes}, {THREADS} threads")
    speed = f"{of.sizes}/s"
    print(f"{'p50 ms':>19} {'p99 ms':>8} {speed:>9}", end=" ")
    print(f"{'held MiB':>9} {'faults':>9} {'made':>6} {'level 2 µs':>8} compile s")
    for technique in every:
        print(technique.row(total))
    print(f"largest difference of a result from exact, of its greatest: {worst:.1e}")


# --- buckets --------------------------------------------------------------------------------------


def buckets_part(count: int) -> None:
    import anyshape as ash

    lengths, seen = zipf_lengths(count), zipf_lengths(BATCHED, seed=9)  # an earlier sample
    buckets = ash.learn_buckets(seen, 8)
    axis = ash.Axis("seq", min=1, max=LONGEST, buckets=buckets, max_padding=f"{CAP}%")
    model = compiled(encoder(), (1, axis))
    rule = axis.padding
    assert rule is not None
    predicted = 1 - sum(seen) / sum(rule.padded(length)[0] for length in seen)
    most, before = 0.0, model.metrics()
    for request in requests_of(lengths):
        model(**one(request))
        now = model.metrics()
        taken = now.padded_elements - before.padded_elements
        most = max(most, 1 - (now.valid_elements - before.valid_elements) / taken)
        before = now
    measured = 1 - before.valid_elements / before.padded_elements
    print(f"{count} requests, buckets {buckets}, at most {CAP} % of one is padding")
    print(f"waste predicted {predicted:.4f}, measured {measured:.4f} (within {WASTE_LIMIT})")
    print(f"most of one call {most:.4f} (≤ {CAP / 100})")


# --- hot sizes ------------------------------------------------------------------------------------


def settled(model: Any) -> None:
    """Until the background has nothing more to do."""
    from anyshape.execute.hot_worker import WORKER

    while not WORKER.idle:
        time.sleep(0.05)
    print(f"  {model.metrics().hot_made} bindings made, {model.metrics().hot_bytes / MIB:.1f} MiB")


def timed(calls: Sequence[Callable[[], Any]], until: Callable[[], bool]) -> np.ndarray:
    """Milliseconds of each call, in turns."""
    found: list[list[float]] = []
    while not until() or not found:
        row = []
        for call in calls:
            start = time.perf_counter()
            call()
            row.append(1e3 * (time.perf_counter() - start))
        found.append(row)
    return np.array(found)


def hot_part(model: str) -> None:
    import anyshape as ash
    from anyshape.execute.hot_worker import WORKER

    of = subject(model)
    axis = ash.Axis("size", min=1, max=of.longest)
    cold, hot = of.compiled(axis), of.compiled(axis, hot=ash.Hot(after=HOT_AFTER, count=64))
    requests = [of.request(size) for size in HOT_SIZES]
    for request in requests:
        for _ in range(HOT_AFTER):
            hot(**of.arguments(request))
    settled(hot)
    for request in requests:
        given, end = of.arguments(request), time.perf_counter() + HOT_SECONDS
        both = [lambda given=given: cold(**given), lambda given=given: hot(**given)]
        milliseconds = timed(both, lambda end=end: time.perf_counter() > end)
        p50, best = np.median(milliseconds, 0), milliseconds.min(0)
        print(
            f"  {request.shape[-1]:4} {of.sizes}: p50 {p50[0]:.3f} and {p50[1]:.3f} ms, "
            f"{p50[0] / p50[1]:.3f} times; best {best[0] / best[1]:.3f} (≥ {HOT_LIMIT})"
        )
    given = of.arguments(requests[0])
    alone = timed([lambda: cold(**given)] * 500, lambda: True)
    fresh = of.request(HOT_SIZES[-1] + 29)
    for _ in range(HOT_AFTER):
        hot(**of.arguments(fresh))
    beside = timed([lambda: cold(**given)], lambda: WORKER.idle)
    for name, found in (("alone", alone), ("while code is made", beside)):
        p50, p99, most = np.percentile(found, [50, 99, 100])
        print(f"  calls {name}: p50 {p50:.3f}, p99 {p99:.3f}, most {most:.3f} ms ({found.size})")


# --- batches --------------------------------------------------------------------------------------


class Way:
    """A way to put requests together: calls, what they took, and where their results belong."""

    def __init__(self, name: str, batches: Callable[[], Any], call: Callable[[Any], Any]) -> None:
        started = time.perf_counter()
        self.name, self.batches, self.call = name, list(batches()), call
        self.seconds = time.perf_counter() - started
        self.tokens = 0
        self.results: dict[int, Any] = {}

    def run_until(self, tokens: float) -> None:
        """The next batches, until so many tokens are done."""
        started = time.perf_counter()
        while self.batches and self.tokens < tokens:
            batch = self.batches.pop(0)
            self.results.update(zip(batch.indices, self.call(batch), strict=True))
            self.tokens += batch.tokens
        self.seconds += time.perf_counter() - started

    def in_order(self) -> np.ndarray:
        return np.array([self.results[index] for index in range(len(self.results))])


def first_come(requests: Sequence[Request]) -> list[Any]:
    import anyshape as ash

    numbered = list(enumerate(requests))
    parts = (numbered[at : at + FIRST_COME] for at in range(0, len(requests), FIRST_COME))
    split = (tuple(zip(*part, strict=True)) for part in parts)
    return [
        ash.Batch(given, indices, tuple(map(len, given)), 0.0, False) for indices, given in split
    ]


def batches_part(count: int) -> None:
    import anyshape as ash

    model = encoder()
    requests = requests_of(zipf_lengths(count))
    tokens = sum(map(len, requests))
    pow2 = ash.Axis("seq", min=1, max=LONGEST, buckets="pow2")
    exact, ragged = compiled(model), compiled(model, ragged="seq")
    bucketed = compiled(model, ("batch", pow2))

    def by_mask(made: Any) -> Callable[[Any], Any]:
        return lambda batch: made(**dict(zip(INPUTS, batch.padded(), strict=True)))

    def packed(batch: Any) -> Any:
        return ragged(input_ids=batch.packed())

    ways = [
        Way("first-come", lambda: first_come(requests), by_mask(exact)),
        Way("padded", lambda: ash.batches(requests, exact), by_mask(exact)),
        Way("buckets", lambda: ash.batches(requests, bucketed), by_mask(bucketed)),
        Way("ragged", lambda: ash.batches(requests, ragged, budget=BUDGET), packed),
    ]
    for way in ways:
        way.call(way.batches[0])
    for slice_ in range(1, SLICES + 1):
        for way in ways:
            way.run_until(tokens * slice_ / SLICES)
    print(f"{count} requests, {tokens} tokens, {THREADS} threads")
    base, expected = ways[0], ways[0].in_order()
    for way in ways:
        ratio, worst = base.seconds / way.seconds, np.abs(way.in_order() - expected).max()
        speed = tokens / way.seconds
        print(f"  {way.name:11} {speed:8.0f} tokens/s {ratio:5.2f}  differs by {worst:.1e}")
    print(f"padded/first-come {base.seconds / ways[1].seconds:.2f} (≥ {BATCHES_LIMIT})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("part", choices=["ragged", "techniques", "buckets", "batches", "hot"])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--stream", choices=sorted(STREAM), default="zipf")
    parser.add_argument("--model", choices=sorted(COSTLIER), default="minilm")
    parser.add_argument("--requests", type=int, default=0)
    chosen = parser.parse_args()
    match chosen.part:
        case "ragged":
            ragged_part(chosen.rounds)
        case "techniques":
            count = chosen.requests or STREAM[chosen.stream] // COSTLIER[chosen.model]
            techniques_part(chosen.model, chosen.stream, count)
        case "hot":
            hot_part(chosen.model)
        case "buckets":
            buckets_part(chosen.requests or STREAM["zipf"])
        case _:
            batches_part(chosen.requests or BATCHED)


if __name__ == "__main__":
    main()
