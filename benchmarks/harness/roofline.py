"""What the machine can do at best, measured in the same run as everything else.

The peak of products is the best that any engine reaches in any case of the run. A model that does
nothing but products cannot take less than its operations at that peak, and not less than reading
those of its weights that the last cache cannot keep from call to call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.harness.model import Binding, Model
from benchmarks.harness.turns import Case, Contender, Measured, race
from benchmarks.workloads import Dense, FiveOps

LARGE = Dense(1024, 1024)
LARGE_ROWS = {"rows": 1024}
STREAM = {"rows": 16384, "columns": 1024}
BEYOND_CACHES = {"rows": 131_072, "columns": 1024}  # 512 MB


@dataclass(frozen=True)
class Roofline:
    """Operations and bytes per second, with a number of threads."""

    threads: int
    flops: float
    copied: float  # bytes read and written, each counted
    read: float
    cache_bytes: int

    def __str__(self) -> str:
        return (
            f"roofline with {self.threads} threads: {self.flops / 1e9:.0f} GFLOP/s, "
            f"copy {self.copied / 1e9:.1f} GB/s, read {self.read / 1e9:.1f} GB/s"
        )

    def seconds(self, model: Model, binding: Binding) -> float:
        """The least that a model can take."""
        streamed = max(model.weight_bytes - self.cache_bytes, 0)
        return max(model.flops(binding) / self.flops, model.readings * streamed / self.read)


def roofline_cases(threads: int) -> tuple[Case, Case, Case]:
    """What `roofline` needs to have measured.

    A copy passes by the caches. Of what is read, some stays in the last cache from call to call,
    unless there is much more of it.
    """
    engines = ("anyshape", "torch", "onnxruntime")
    copy, read = (Contender(name, name, FiveOps(), threads) for name in ("copy", "read"))
    return (
        race(f"peak of products, {threads} threads", LARGE, LARGE_ROWS, engines, threads),
        Case(f"copies, {threads} threads", STREAM, (copy,)),
        Case(f"reads, {threads} threads", BEYOND_CACHES, (read,)),
    )


def roofline(threads: int, measured: Sequence[Measured], cache_bytes: int) -> Roofline:
    """From all cases of a run: a rate that anybody reached is one that the machine has."""
    rates = _best_rates(measured, threads)
    return Roofline(threads, rates["products"], rates["copy"], rates["read"], cache_bytes)


def _best_rates(measured: Sequence[Measured], threads: int) -> dict[str, float]:
    rates = {"products": 0.0, "copy": 0.0, "read": 0.0}
    for one in measured:
        for contender in one.case.contenders:
            if contender.threads <= threads and contender.label in one.timings:
                kind, work = _work(contender, one.case.binding)
                rates[kind] = max(rates[kind], work / one.best(contender.label))
    return rates


def _work(contender: Contender, binding: Binding) -> tuple[str, int]:
    """Operations of products, or bytes of memory, in one call."""
    match contender.engine:
        case "copy":
            return "copy", 2 * _stream_bytes(binding)
        case "read":
            return "read", _stream_bytes(binding)
        case _:
            return "products", contender.model.flops(binding)


def _stream_bytes(binding: Binding) -> int:
    return 4 * binding["rows"] * binding["columns"]
