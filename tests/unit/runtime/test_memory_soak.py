"""Resident memory over a stream of random shapes: the short form of benchmarks/soaks/memory.py."""

import pytest
from benchmarks.harness.model import Binding
from benchmarks.harness.process import in_fresh_process
from benchmarks.soaks.memory import Residence, Stream, run_stream
from benchmarks.workloads.mlp import Mlp

STREAM = Stream("perceptron", Mlp(64), {"batch": 100_000})


def residence(bindings: list[Binding]) -> Residence:
    arguments = ("anyshape", STREAM.model, STREAM.largest, bindings)
    return in_fresh_process(run_stream, *arguments)


def test_memory_follows_the_largest_shape_and_trim_gives_it_back(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANYSHAPE_WITHOUT", "pipeline")  # in tiles it would need hardly any memory
    residence([STREAM.smallest])  # its kernels are compiled
    smallest = max(residence([STREAM.smallest] * 3).samples)
    largest = max(residence([STREAM.largest] * 3).samples)
    assert largest > smallest + (60 << 20)  # arena and result, so that the rest means something
    stream = residence(list(STREAM.bindings(200)))
    assert max(stream.samples) <= 1.3 * largest
    assert stream.after <= 1.5 * smallest
