"""Counters of a program, and the text form in which Prometheus collects them.

In that form counters end in `_total`, times are seconds and sizes are bytes. There is no label per
shape: a service under random shapes would make a new series with every call.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

NANOSECONDS: Final = 1_000_000_000


class Metrics(NamedTuple):
    """Counters of one program since it was made. They may be read while it runs.

    A call that the cache of results answers is no run.
    """

    hits: int  # specializations that were there, or that another thread was making
    misses: int  # specializations that were made, or failed to be made
    evictions: int
    specialize_ns: int
    entries: int
    bytes: int
    runs: int
    team_runs: int
    idle_contexts: int
    idle_arena_bytes: int
    result_hits: int = 0  # calls that were answered from the cache of results, if there is one
    result_misses: int = 0
    result_evictions: int = 0
    results: int = 0  # calls whose results are kept
    result_bytes: int = 0
    valid_elements: int = 0  # of inputs along axes with buckets, as callers passed them
    padded_elements: int = 0  # of the same inputs as they were computed with
    hot_runs: int = 0  # of code whose sizes are constants, in `runs` too
    hot_bindings: int = 0  # that have such code
    hot_bytes: int = 0  # that it holds
    hot_made: int = 0  # in the background
    hot_failures: int = 0  # to make it; these bindings go on as before
    hot_evictions: int = 0

    @property
    def padding_waste(self) -> float:
        """The share of the elements that were padding."""
        padded = self.padded_elements
        return (padded - self.valid_elements) / padded if padded else 0.0

    def as_prometheus(self, executable: str = "") -> str:
        """In Prometheus' text form; `executable` tells several of them apart."""
        label = f'{{executable="{_escaped(executable)}"}}' if executable else ""
        lines: list[str] = []
        for name, kind, text, value in self._series():
            lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}", f"{name}{label} {value}"]
        return "\n".join(lines) + "\n"

    def _series(self) -> list[tuple[str, Literal["counter", "gauge"], str, int | float]]:
        seconds = self.specialize_ns / NANOSECONDS
        return [
            _counter("runs", "Runs of the native program.", self.runs),
            _counter("team_runs", "Runs on a team of threads.", self.team_runs),
            _counter("specialization_hits", "Specializations found in the cache.", self.hits),
            _counter("specialization_misses", "Specializations made.", self.misses),
            _counter("specialization_evictions", "Specializations given up.", self.evictions),
            _counter("specialization_seconds", "Time spent making specializations.", seconds),
            _gauge("specializations", "Specializations in the cache.", self.entries),
            _gauge("specialization_bytes", "Bytes of the cache.", self.bytes),
            _gauge("idle_contexts", "Contexts kept for runs to come.", self.idle_contexts),
            _gauge("idle_arena_bytes", "Bytes of their arenas.", self.idle_arena_bytes),
            _counter("result_hits", "Calls answered by the result cache.", self.result_hits),
            _counter("result_misses", "Calls that it did not know.", self.result_misses),
            _counter("result_evictions", "Calls given up.", self.result_evictions),
            _gauge("results", "Calls that it knows.", self.results),
            _gauge("result_bytes", "Bytes of these results.", self.result_bytes),
            _counter("valid_elements", "Elements of inputs that were padded.", self.valid_elements),
            _counter("padded_elements", "The same with padding.", self.padded_elements),
            _counter("hot_runs", "Runs of code for one binding.", self.hot_runs),
            _gauge("hot_bindings", "Bindings that have such code.", self.hot_bindings),
            _gauge("hot_bytes", "Bytes of this code, and its memory.", self.hot_bytes),
            _counter("hot_made", "Bindings that got such code.", self.hot_made),
            _counter("hot_failures", "Bindings that could not get it.", self.hot_failures),
            _counter("hot_evictions", "Bindings whose code was given up.", self.hot_evictions),
        ]


def _counter(
    name: str, text: str, value: float
) -> tuple[str, Literal["counter"], str, int | float]:
    return f"anyshape_{name}_total", "counter", text, value


def _gauge(name: str, text: str, value: int) -> tuple[str, Literal["gauge"], str, int | float]:
    return f"anyshape_{name}", "gauge", text, value


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
