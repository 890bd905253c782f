"""Calls within a memory limit: what the limit costs in time, and what finding a plan costs.

    python -m benchmarks.remat [--rounds N] [--only TEXT]

Two threads. Torch modules with random weights are compiled once. Each is called without a limit and
within 0.6 of the memory that such a call takes (arena and results), in turns, in one process, and
the best of each counts. Results must be equal bit for bit. Level 2 is timed by the runtime, on
bindings that it has not seen: the usual plan alone, and with the search for one that fits.

    encoder   12 layers, width 384, batch 8 of 128
    U-Net     four levels, 16 channels at the first, batch 4 of 128 by 128
    skips     rows that meet each other in the middle, so that values are computed again instead
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

import numpy as np
import torch
from torch import nn

import anyshape as ash

THREADS: Final = 2
SHARE, TIME_LIMIT, LEVEL_2_LIMIT = 0.6, 1.3, 3.0


class Encoder(nn.Module):
    """Layers of attention and two products, each with a norm behind it."""

    def __init__(self, width: int = 384, heads: int = 12, layers: int = 12) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(
            width, heads, 4 * width, dropout=0.0, activation="gelu", batch_first=True
        )
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


def two_convolutions(inside: int, outside: int) -> nn.Sequential:
    """Each with a norm and a ReLU."""
    blocks = (
        (nn.Conv2d(size, outside, 3, padding=1), nn.BatchNorm2d(outside), nn.ReLU())
        for size in (inside, outside)
    )
    return nn.Sequential(*(module for block in blocks for module in block))


class UNet(nn.Module):
    """Down, and up again with what was there on the way down beside it."""

    def __init__(self, channels: int = 16, depth: int = 4) -> None:
        super().__init__()
        sizes = [channels * 2**level for level in range(depth + 1)]
        up = list(reversed(range(depth)))
        self.down = nn.ModuleList(map(two_convolutions, [3, *sizes], sizes))
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(sizes[level + 1], sizes[level], 2, stride=2) for level in up
        )
        self.joined = nn.ModuleList(
            two_convolutions(2 * sizes[level], sizes[level]) for level in up
        )
        self.last = nn.Conv2d(channels, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skips: list[torch.Tensor] = []
        for level, block in enumerate(self.down):
            x = block(nn.functional.max_pool2d(x, 2) if level else x)
            skips.append(x)
        skips.pop()
        for up, joined in zip(self.up, self.joined, strict=True):
            x = joined(torch.cat([skips.pop(), up(x)], 1))
        return self.last(x)


class Skips(nn.Module):
    """Narrow values that are needed again behind wide ones; rows meet, so there are no parts."""

    def __init__(self, width: int = 256, wide: int = 1024, depth: int = 3) -> None:
        super().__init__()
        self.narrow = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.wide, self.back = nn.Linear(width, wide), nn.Linear(wide, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept: list[torch.Tensor] = []
        for layer in self.narrow:
            x = torch.tanh(layer(x))
            kept.append(x)
        x = self.back(torch.softmax(self.wide(x), 0))
        for value in reversed(kept):
            x = torch.softmax(x, 0) + value
        return x


@dataclass(frozen=True)
class Workload:
    """A module, an example of its input, the size at which it is called, and other sizes."""

    name: str
    module: Callable[[], nn.Module]
    axes: tuple[str | None, ...]
    shape: tuple[int, ...]

    def arguments(self, *sizes: int) -> torch.Tensor:
        return torch.from_numpy(
            np.random.default_rng(0).standard_normal(sizes or self.shape).astype(np.float32)
        )

    def binding(self, sizes: Sequence[int]) -> dict[str, int]:
        named = zip(self.axes, sizes, strict=True)
        return {axis: size for axis, size in named if axis is not None}


WORKLOADS = (
    Workload("encoder", Encoder, ("batch", "seq", None), (8, 128, 384)),
    Workload("U-Net", UNet, ("batch", None, None, None), (4, 3, 128, 128)),
    Workload("skips", Skips, ("rows", None), (2048, 256)),
)


def compiled(load: Workload) -> ash.Executable:
    torch.manual_seed(0)
    module, example = load.module().eval(), load.arguments()
    whole: Any = ash.compile(module, (example,), axes={"x": load.axes}, threads=THREADS)
    return whole.executable


def limits(load: Workload, executable: ash.Executable) -> Iterator[tuple[float, int]]:
    """The limit that is asked for; where that cannot be, the least share that can."""
    binding = load.binding(load.shape)
    memory = executable.specialize(**binding).memory()
    total = memory.arena + memory.outputs
    for percent in range(round(100 * SHARE), 100, 5):
        limit = total * percent // 100
        if executable.specialize(memory_limit=limit, **binding).economy is not None:
            yield percent / 100, limit
            return


def best_of(rounds: int, calls: Sequence[Callable[[], Any]]) -> list[float]:
    """Seconds of each call, in turns."""
    best = [float("inf")] * len(calls)
    for _ in range(rounds + 1):
        for number, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[number] = min(best[number], time.perf_counter() - start)
    return best


def level_2(load: Workload, executable: ash.Executable, share: float) -> tuple[float, float]:
    """Seconds: the usual plan, and with it one within a share of its memory, at sizes near the
    workload's that were never seen. The median of sizes."""
    usual, within = [list[float]() for _ in range(2)]
    for more in range(1, 65):
        first, *others = load.shape
        binding = load.binding((first + more, *others))
        usual.append(_spent(executable, binding, None))
        memory = executable.specialize(**binding).memory()
        limit = int((memory.arena + memory.outputs) * share)
        within.append(usual[-1] + _spent(executable, binding, limit))
    return median(usual), median(within)


def _spent(executable: ash.Executable, binding: dict[str, int], limit: int | None) -> float:
    before = executable.metrics().specialize_ns
    executable.specialize(memory_limit=limit, **binding)
    return (executable.metrics().specialize_ns - before) * 1e-9


def report(load: Workload, rounds: int) -> None:
    executable = compiled(load)
    for share, limit in limits(load, executable):
        usual, within = best_of(rounds, calls_of(load, executable, limit))
        alone, search = level_2(load, executable, share)
        economy = executable.specialize(memory_limit=limit, **load.binding(load.shape)).economy
        print(f"{load.name}: within {share:.2f} of the memory (wanted {SHARE})\n  {economy}")
        times = f"{1e3 * usual:8.2f} ms, {1e3 * within:8.2f} ms"
        print(f"  call    {times}, {within / usual:.2f} (≤ {TIME_LIMIT})")
        times = f"{1e6 * alone:8.1f} µs, {1e6 * search:8.1f} µs"
        print(f"  level 2 {times}, {search / alone:.2f} (≤ {LEVEL_2_LIMIT})")


def calls_of(load: Workload, executable: ash.Executable, limit: int) -> list[Callable[[], Any]]:
    """Without the limit and within it, after a look at the bits."""
    x = load.arguments().numpy()
    (wanted,), (found,) = executable.run((x,)), executable.run((x,), memory_limit=limit)
    assert wanted.tobytes() == found.tobytes(), "other bits"
    return [lambda: executable.run((x,)), lambda: executable.run((x,), memory_limit=limit)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    for load in WORKLOADS:
        if given.only.lower() in load.name.lower():
            report(load, given.rounds)


if __name__ == "__main__":
    main()
