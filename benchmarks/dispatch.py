"""What the runtime costs beside the kernels: a call, level 2, the team, a wait.

    python -m benchmarks.dispatch

Programs are made by hand from LLVM text (tests/unit/runtime), so only the runtime is measured.
`benchmarks.levels` has the same figures for whole models.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from tests.unit.runtime.graphs import temporary, with_conflicts
from tests.unit.runtime.handmade import (
    Handmade,
    add_kernel,
    add_program,
    compiled,
    double_kernel,
    matrices,
)

from anyshape.program import ArenaStore, Word
from anyshape.runtime import _native, machine
from anyshape.runtime.program import Program

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
        return made.buffer(ArenaStore(0, 0), widths[width])

    producer: dict[int, int] = {}

    def step(operands: Sequence[int], width: int | str) -> int:
        out = result(width)
        waits = sorted({producer[b] for b in operands if b in producer})
        producer[out] = made.step(add_kernel(), [*operands, out], sizes.count, sizes.tasks, waits)
        extra = tuple(Word(made.word(made.shape.op("add", count, k))) for k in range(6))
        last = made.steps[-1]
        made.steps[-1] = replace(last, block=(*last.block, *extra))
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
        buffers = sum(isinstance(b.store, ArenaStore) for b in program.description.buffers)
        what = f"level 2, {name}, {buffers} arena buffers, from Python"
        show(what, statistics.median(samples) / 1e3, "µs")
        metrics = program.metrics()
        show("   without the call", metrics.specialize_ns / metrics.misses / 1e3, "µs (mean)")
        memory = program.specialize([7 * 64, 768]).memory
        show("   arena / lower bound", memory.arena / memory.lower_bound, "×")


# ---- threads -----------------------------------------------------------------------------------


# A task of about a microsecond that touches no memory of others.
_BUSY = """
define void @busy(ptr %block, i64 %first, i64 %last, i64 %worker) {
entry:
  %own = alloca i64
  %tasks = sub i64 %last, %first
  %n = mul i64 %tasks, 8000
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  store volatile i64 %i, ptr %own
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""


def chain_of(steps: int, threads: int, tasks: int) -> Program:
    """Steps of busy tasks, each waiting for the one before."""
    made = Handmade()
    sizes = matrices(made, ["a"])
    tasks_word = made.word(tasks)
    kernel = compiled(_BUSY).address("busy")
    for number in range(steps):
        made.step(kernel, [], sizes.count, tasks_word, [number - 1] if number else [])
    return made.program(threads=threads)


def per_step_ns(threads: int, tasks: int) -> float:
    """What a step more costs. The quickest calls: others use this machine too."""
    a = np.ones((4, 4), np.float32)
    few, many = 20, 220
    times: list[float] = []
    for steps in (few, many):
        run = chain_of(steps, threads, tasks).run
        samples: list[int] = []
        for _ in range(2000):
            start = time.perf_counter_ns()
            run((a,))
            samples.append(time.perf_counter_ns() - start)
        times.append(statistics.quantiles(samples, n=20)[0])
    return (times[1] - times[0]) / (many - few)


def team() -> None:
    cpus = machine().cpus
    rounds = [_native._team_round_trip_ns(200) for _ in range(100)]
    show(f"call the team, meet all {cpus} members, let them go", min(rounds), "ns")
    task = per_step_ns(1, 1)
    show("a step of one busy task, one thread", task, "ns")
    for tasks in (cpus, 4 * cpus):
        ideal = task * tasks / cpus
        found = per_step_ns(cpus, tasks)
        show(f"a step of {tasks} tasks, {cpus} threads: beyond its even share", found - ideal, "ns")


def main() -> None:
    calls()
    level_2()
    team()


if __name__ == "__main__":
    main()
