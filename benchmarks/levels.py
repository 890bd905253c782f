"""What surrounds the kernels: a call, level 2, memory, threads, compiling.

    python -m benchmarks.levels [--quick] [--only TEXT] [--without ENGINE ...]

Calls are compared with onnxruntime's. Everything else is ours alone, each figure from processes
that have done nothing before.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np
from benchmarks.harness.engines import EngineName, executable
from benchmarks.harness.levels import level_1_seconds, level_2_seconds, passes
from benchmarks.harness.model import Binding, Model
from benchmarks.harness.process import in_fresh_process
from benchmarks.harness.regions import late_seconds, scan_seconds, while_seconds
from benchmarks.harness.report import Row, Table, at_least, at_most, microseconds, number
from benchmarks.harness.session import Session
from benchmarks.harness.turns import OURS, Case, Contender, race
from benchmarks.workloads import Add, Encoder, Mlp

# ruff: noqa: PLC0415 - anyshape is imported by the processes that use it

MLP = Mlp(512)
ENCODER = Encoder(layers=12, width=768, heads=12)
SMALL_ENCODER = Encoder(layers=6, width=384, heads=12)


def bindings(model: Model, count: int, most_rows: int) -> list[dict[str, int]]:
    """Distinct bindings of a model, always the same ones."""
    rng = np.random.default_rng(2)
    found: dict[tuple[int, ...], dict[str, int]] = {}
    while len(found) < count:
        batch = int(rng.integers(1, 9))
        seq = int(rng.integers(1, most_rows // batch + 1))
        binding = {"batch": batch * seq} if isinstance(model, Mlp) else {"batch": batch, "seq": seq}
        found[tuple(binding.values())] = binding
    return list(found.values())


# --- a call ---------------------------------------------------------------------------------------

CALLERS: tuple[EngineName, ...] = ("anyshape", "numpy", "torch", "onnxruntime")
CALL_LIMIT, CALL_RATIO = 5e-6, 0.5


def calls(session: Session, title: str) -> None:
    """The median of calls that compute almost nothing."""
    engines = session.taking_part(CALLERS)
    case = race("add 4×4", Add(), {"rows": 4, "columns": 4}, engines, 2)
    (one,) = session.measure(title, [case])
    ours, theirs = one.median(OURS), one.median("onnxruntime")
    cells = tuple(microseconds(one.median(name)) for name in engines)
    limit, met = f"≤ {CALL_LIMIT * 1e6:.0f} µs", at_most(ours, CALL_LIMIT)
    ratio, below = number(ours / theirs), at_most(ours / theirs, CALL_RATIO)
    rows = (
        Row("add 4×4, anyshape", cells, microseconds(ours), limit, met),
        Row("÷ onnxruntime", ("",) * len(cells), ratio, f"≤ {CALL_RATIO}", below),
    )
    session.show(Table(title, engines, rows, "figure"))


# --- level 2 --------------------------------------------------------------------------------------


def new_bindings(session: Session, title: str) -> None:
    """Level 2 of bindings that were never seen."""
    rows: list[Row] = []
    for label, model, limit in (("MLP, 3 layers", MLP, 20), ("encoder, 12 layers", ENCODER, 100)):
        spent = in_fresh_process(level_2_seconds, model, bindings(model, 300, 4096))
        cells = (microseconds(min(spent)), microseconds(max(spent)))
        met = at_most(median(spent), limit * 1e-6)
        rows.append(Row(label, cells, microseconds(median(spent)), f"≤ {limit}", met))
    session.show(Table(title, ("least", "most"), tuple(rows), "median"))


def first_passes(session: Session, title: str) -> None:
    """The price of new shapes, seen from outside."""
    rows: list[Row] = []
    for label, model in (("MLP, 3 layers", MLP), ("encoder, 6 layers", SMALL_ENCODER)):
        first, second = map(sum, in_fresh_process(passes, model, bindings(model, 50, 512)))
        cells = (number(1e3 * first, 1), number(1e3 * second, 1))
        met = at_most(first / second, 1.03)
        rows.append(Row(label, cells, number(first / second, 3), "≤ 1.03", met))
    session.show(Table(title, ("first, ms", "second, ms"), tuple(rows), "ratio"))


# --- late axes and regions ------------------------------------------------------------------------

REGIONS = {
    "a late axis and its segment": (late_seconds, 1.5),
    "an iteration of while": (while_seconds, 0.4),
    "a row of scan": (scan_seconds, 0.4),
}


def regions(session: Session, title: str) -> None:
    """What the way from one program to the next adds, kernels of four elements included."""
    rows: list[Row] = []
    for label, (measure, limit) in REGIONS.items():
        spent = min(in_fresh_process(measure) for _ in range(3))
        rows.append(Row(label, (), number(1e6 * spent), f"≤ {limit}", at_most(spent, limit * 1e-6)))
    session.show(Table(title, (), tuple(rows), "figure"))


# --- memory and threads ---------------------------------------------------------------------------


def arenas(model: Model, chosen: Sequence[Binding]) -> list[tuple[int, int]]:
    """Bytes of the arena and its lower bound at each binding."""
    compiled = executable(model)
    reports = [compiled.specialize(**binding).memory() for binding in chosen]
    return [(report.arena, report.lower_bound) for report in reports]


def memory(session: Session, title: str) -> None:
    """How close the memory plan comes to what no plan can beat."""
    rows: list[Row] = []
    for label, model in (("MLP, 3 layers", MLP), ("encoder, 12 layers", ENCODER)):
        found = in_fresh_process(arenas, model, bindings(model, 50, 4096))
        arena, bound = max(found, key=lambda pair: pair[0] / max(pair[1], 1))
        cells = (f"{arena / 2**20:.2f}", f"{bound / 2**20:.2f}")
        ratio = arena / max(bound, 1)
        rows.append(Row(label, cells, f"{ratio:.3f}", "≤ 1.10", at_most(ratio, 1.10)))
    session.show(Table(title, ("arena, MiB", "bound, MiB"), tuple(rows), "worst ratio"))


def threads(session: Session, title: str) -> None:
    """What a second thread is worth."""
    both = tuple(Contender(f"{n} thread", "anyshape", ENCODER, n) for n in (1, 2))
    case = Case("encoder, 12 layers, batch 4, seq 128", {"batch": 4, "seq": 128}, both)
    (one,) = session.measure(title, [case])
    ratio = one.best("1 thread") / one.best("2 thread")
    cells = tuple(number(1e3 * one.best(c.label), 1) for c in both)
    row = Row(case.label, cells, number(ratio), "≥ 1.7", at_least(ratio, 1.7))
    session.show(Table(title, ("one, ms", "two, ms"), (row,), "speed-up"))


# --- compiling ------------------------------------------------------------------------------------


def kernel_seconds(model: Model, folder: str) -> tuple[list[float], list[float]]:
    """For each distinct kernel of a model: through LLVM, and from a cache on disk."""
    from anyshape.codegen.cache import ObjectCache
    from anyshape.codegen.llvm.compiler import Compiler
    from anyshape.execute.target import target_for
    from anyshape.runtime import load_code

    kernels = executable(model).executor.linked.kernels
    spent: tuple[list[float], list[float]] = ([], [])
    target = target_for().llvm
    for times in spent:
        for kernel in dict.fromkeys(kernels):
            start = time.perf_counter()
            (code,) = Compiler(target, cache=ObjectCache(Path(folder))).compile([kernel])
            load_code(code)
            times.append(time.perf_counter() - start)
    return spent


def compiling(session: Session, title: str) -> None:
    """Kernels one by one, then the whole of level 1."""
    with tempfile.TemporaryDirectory() as folder:
        cold, warm = in_fresh_process(kernel_seconds, ENCODER, f"{folder}/kernels")
        whole = [in_fresh_process(level_1_seconds, ENCODER, f"{folder}/all") for _ in range(2)]
    rows = [
        Row(label, (str(len(spent)), f"{1e3 * max(spent):.1f}"), f"{1e3 * median(spent):.1f}",
            f"≤ {limit}", at_most(median(spent), limit * 1e-3))
        for label, spent, limit in (("a kernel, cold", cold, 150), ("a kernel, cached", warm, 3))
    ]  # fmt: skip
    names = ("level 1 of the encoder, cold", "level 1 of the encoder, cached")
    rows += [Row(n, ("", ""), f"{1e3 * s:.0f}") for n, s in zip(names, whole, strict=True)]
    session.show(Table(title, ("kernels", "most"), tuple(rows), "median"))


TABLES = {
    "a call, µs": calls,
    "level 2 of a new binding, µs": new_bindings,
    "50 new shapes, first pass ÷ second": first_passes,
    "late axes and regions, µs": regions,
    "memory plan": memory,
    "two threads": threads,
    "compiling the encoder's kernels, ms": compiling,
}


def main() -> None:
    with Session("levels", __doc__ or "") as session:
        session.run(TABLES)


if __name__ == "__main__":
    main()
