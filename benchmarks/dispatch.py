"""What the runtime costs beside the kernels: a call, level 2, the team, a wait.

    python -m benchmarks.dispatch [--peer /path/to/python/with/onnxruntime]

Programs are made by hand from LLVM text (tests/unit/runtime), so only the runtime is measured. The
peer runs in a process of its own, before anything else.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from tests.unit.runtime.graphs import temporary, with_conflicts
from tests.unit.runtime.handmade import (
    Handmade,
    add_kernel,
    add_program,
    double_kernel,
    matrices,
)

from anyshape.runtime import _native, machine
from anyshape.runtime.program import ArenaBuffer, Program, Word

# ---- measuring ---------------------------------------------------------------------------------


def median_ns(call: Callable[[], object], calls: int = 2000, batches: int = 15) -> float:
    """Median over single calls, batch by batch; the median of the batches."""
    clock = time.perf_counter_ns
    call()
    medians: list[float] = []
    for _ in range(batches):
        samples: list[int] = []
        for _ in range(calls):
            start = clock()
            call()
            samples.append(clock() - start)
        medians.append(statistics.median(samples))
    return statistics.median(medians)


def show(what: str, value: float, unit: str) -> None:
    print(f"{what:<58}{value:10.2f} {unit}", flush=True)


# ---- calls -------------------------------------------------------------------------------------


def calls() -> None:
    a = np.ones((4, 4), np.float32)
    for name, program in [
        ("known to be short", add_program(cost=100)),
        ("GIL given up", add_program()),
    ]:
        run = program.run
        show(f"add 4x4, NumPy, {name}", median_ns(lambda run=run: run((a, a))) / 1e3, "µs")
    run = add_program(cost=100).run
    awkward = np.ones((8, 4), np.float32)[::2]
    show("add 4x4, NumPy, one input strided", median_ns(lambda: run((a, awkward))) / 1e3, "µs")
    show("np.add 4x4, for comparison", median_ns(lambda: np.add(a, a)) / 1e3, "µs")
    try:
        import torch  # noqa: PLC0415 - optional
    except ImportError:
        return
    t = torch.ones(4, 4)
    show("add 4x4, torch in", median_ns(lambda: run((t, t))) / 1e3, "µs")


_PEER = """
import statistics, sys, time
import numpy as np, onnxruntime as ort
options = ort.SessionOptions()
options.intra_op_num_threads = 2
session = ort.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
a = np.ones((4, 4), np.float32)
feeds = {"a": a, "b": a}
for _ in range(2000): session.run(None, feeds)
samples = []
for _ in range(20000):
    start = time.perf_counter_ns(); session.run(None, feeds)
    samples.append(time.perf_counter_ns() - start)
print(statistics.median(samples))
"""


def _message(*fields: tuple[int, int | bytes]) -> bytes:
    """A protobuf message of small integers and byte strings under 128 bytes."""
    parts: list[bytes] = []
    for number, value in fields:
        if isinstance(value, int):
            parts.append(bytes([number << 3, value]))
        else:
            parts.append(bytes([number << 3 | 2, len(value)]) + value)
    return b"".join(parts)


def add_onnx() -> bytes:
    """A model `c = Add(a, b)` on f32[m, n]. Written out here: onnx is not among our packages."""
    dims = _message((1, _message((2, b"m"))), (1, _message((2, b"n"))))
    kind = _message((1, _message((1, 1), (2, dims))))
    a, b, c = (_message((1, name), (2, kind)) for name in (b"a", b"b", b"c"))
    node = _message((1, b"a"), (1, b"b"), (2, b"c"), (4, b"Add"))
    graph = _message((1, node), (2, b"g"), (11, a), (11, b), (12, c))
    return _message((1, 8), (8, _message((2, 17)))) + bytes([7 << 3 | 2, len(graph), 1]) + graph


def onnxruntime_call(python: Path) -> None:
    if not python.exists():
        print(f"onnxruntime: no {python}")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "add.onnx"
        content = add_onnx()
        path.write_bytes(content)
        command = [str(python), "-c", _PEER, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print("onnxruntime: failed:", done.stderr.strip().splitlines()[-1:])
        return
    show("add 4x4, onnxruntime", float(done.stdout) / 1e3, "µs")


# ---- level 2 -----------------------------------------------------------------------------------


def encoder_like(layers: int) -> Program:
    """The buffers and steps of an encoder of that many layers, with kernels that never run.

    Per layer: q, k, v, scores, context, projection, sum, norm, up, activation, down, sum, norm.
    """
    made = Handmade()
    sizes = matrices(made, ["a"])  # a: [tokens, features]
    count = made.shape.read(0)
    widths = {1: sizes.nbytes, 4: 0, "scores": 0}
    bytes_value = made.shape.op("mul", made.shape.op("mul", count, made.shape.read(1)), 4)
    widths[4] = made.word(made.shape.op("mul", bytes_value, 4))
    widths["scores"] = made.word(made.shape.op("mul", made.shape.op("mul", count, count), 48))

    def result(width: int | str) -> int:
        return made.buffer(ArenaBuffer(widths[width], 0, 0))

    producer: dict[int, int] = {}

    def step(operands: Sequence[int], width: int | str) -> int:
        out = result(width)
        waits = sorted({producer[b] for b in operands if b in producer})
        producer[out] = made.step(add_kernel(), [*operands, out], sizes.count, sizes.tasks, waits)
        extra = tuple(Word(made.word(made.shape.op("add", count, k))) for k in range(6))
        last = made.steps[-1]
        made.steps[-1] = type(last)(
            last.name, last.variants, last.tasks, (*last.block, *extra), last.waits
        )
        return out

    x = 0
    for _ in range(layers):
        q, k, v = (step([x], 1) for _ in range(3))
        scores = step([q, k], "scores")
        context = step([scores, v], 1)
        projection = step([context], 1)
        x = step([x, projection], 1)
        x = step([x], 1)
        up = step([x], 4)
        activation = step([up], 4)
        down = step([activation], 1)
        x = step([x, down], 1)
        x = step([x], 1)
    out = made.output([sizes.m, sizes.n], sizes.nbytes)
    made.step(double_kernel(), [x, out], sizes.count, sizes.tasks, [producer[x]])
    return with_conflicts(made).program()


def mlp_like() -> Program:
    """Three layers: product, bias and activation each."""
    made = Handmade()
    sizes = matrices(made, ["a"])
    x, waits = 0, []
    for _ in range(8):
        t = temporary(made, sizes)
        waits = [made.step(double_kernel(), [x, t], sizes.count, sizes.tasks, waits)]
        x = t
    out = made.output([sizes.m, sizes.n], sizes.nbytes)
    made.step(double_kernel(), [x, out], sizes.count, sizes.tasks, waits)
    return with_conflicts(made).program()


def level_2() -> None:
    for name, program in [
        ("MLP, 9 steps", mlp_like()),
        ("encoder, 6 layers", encoder_like(6)),
        ("encoder, 12 layers", encoder_like(12)),
        ("encoder, 24 layers", encoder_like(24)),
    ]:
        samples: list[float] = []
        for tokens in range(1, 301):
            start = time.perf_counter_ns()
            program.specialize([tokens * 7, 768])
            samples.append(time.perf_counter_ns() - start)
        buffers = sum(isinstance(b, ArenaBuffer) for b in program.description.buffers)
        what = f"level 2, {name}, {buffers} arena buffers, from Python"
        show(what, statistics.median(samples) / 1e3, "µs")
        metrics = program.metrics()
        show("   without the call", metrics.specialize_ns / metrics.misses / 1e3, "µs (mean)")
        memory = program.specialize([7 * 64, 768]).memory
        show("   arena / lower bound", memory.arena / memory.lower_bound, "×")


# ---- threads -----------------------------------------------------------------------------------


def chain_of(steps: int, threads: int, *, waits: bool = True) -> Program:
    """Steps of one short task per thread."""
    made = Handmade()
    sizes = matrices(made, ["a"])
    tasks, n = made.word(threads), made.word(0)
    out = made.output([sizes.m, sizes.n], sizes.nbytes)
    for number in range(steps):
        before = [number - 1] if number and waits else []
        made.step(double_kernel(), [0, out], n, tasks, before)
    return made.program(threads=threads)


def team() -> None:
    cpus = machine().cpus
    show(
        f"the team does nothing, {cpus} threads",
        statistics.median(_native._team_round_trip_ns(2000) for _ in range(15)) / 1e3,
        "µs",
    )
    a = np.ones((4, 4), np.float32)

    def per_step(threads: int, *, waits: bool) -> float:
        short, long = (chain_of(n, threads, waits=waits).run for n in (10, 210))
        return (median_ns(lambda: long((a,)), 200) - median_ns(lambda: short((a,)), 200)) / 200

    show("an empty step, one thread", per_step(1, waits=True), "ns")
    show(f"an empty step, {cpus} threads, no waits", per_step(cpus, waits=False), "ns")
    show(f"an empty step that waits, {cpus} threads", per_step(cpus, waits=True), "ns")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", type=Path, default=Path("/tmp/kv/bin/python"))
    arguments = parser.parse_args()
    onnxruntime_call(arguments.peer)
    calls()
    level_2()
    team()


if __name__ == "__main__":
    sys.exit(main())
