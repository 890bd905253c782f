"""Whole models, as people have them: MiniLM, GPT-2 small, a layer of experts, ONNX files.

    python -m benchmarks.models [--quick] [--only TEXT] [--without ENGINE ...]

Two threads. Each engine captures the same module of torch, or reads the same file. Times are sums
of quickest calls, in milliseconds. A goal is a multiple of the best peer's time; where the machine
itself is the limit, 1.2 of the roofline will do.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np
from benchmarks.harness.engines import EngineName
from benchmarks.harness.file_engines import session_passes, session_seconds
from benchmarks.harness.levels import level_1_seconds, level_2_seconds, passes
from benchmarks.harness.model import Binding, FileModel, Model
from benchmarks.harness.process import in_fresh_process
from benchmarks.harness.report import Row, Table, at_most, microseconds, number
from benchmarks.harness.session import Session
from benchmarks.harness.turns import OURS, Case, Contender, Effort, Measured, race
from benchmarks.workloads import Gpt2, Gpt2Steps, MiniLm, Moe
from benchmarks.workloads.onnx_files import PACKAGED

ENGINES: tuple[EngineName, ...] = (
    "anyshape", "torch", "torch.compile", "onnxruntime", "openvino",
)  # fmt: skip
THREADS = 2
NEAR_ROOFLINE = 1.2
MANY_BINDINGS = 12
MANY_SHAPES = Effort(seconds=0.1, settled=2, most=6)
LONG_CALLS = Effort(seconds=0.0, settled=1, most=3)


def milliseconds(seconds: float) -> str:
    return number(1e3 * seconds, 2 if seconds < 0.01 else 1)


# --- sums over cases, against peers and machine ---------------------------------------------------


@dataclass(frozen=True)
class Entry:
    """A row of a table: a model at some bindings, whose times are added up."""

    label: str
    model: Model
    bindings: tuple[Binding, ...]
    limit: float
    effort: Effort | None = None

    def thinned(self) -> Entry:
        """Every fourth binding, where there are many."""
        if len(self.bindings) < MANY_BINDINGS:
            return self
        kept = self.bindings[::4]
        return replace(self, label=f"{self.label}, {len(kept)} of them", bindings=kept)

    def cases(self, engines: Sequence[EngineName]) -> list[Case]:
        labels = [f"{self.label} {_sizes(binding)}" for binding in self.bindings]
        pairs = zip(labels, self.bindings, strict=True)
        return [race(label, self.model, binding, engines, THREADS) for label, binding in pairs]


def _sizes(binding: Binding) -> str:
    return "×".join(map(str, binding.values()))


def sums(
    session: Session,
    title: str,
    entries: Sequence[Entry],
    among: Sequence[EngineName] = ENGINES,
) -> None:
    """A table with one row for each entry; with `--quick`, of a part of its bindings."""
    engines = session.taking_part(among)
    entries = [e.thinned() for e in entries] if session.quick else entries
    measured = [session.measure(title, e.cases(engines), e.effort) for e in entries]
    session.roofline(THREADS)
    rows = [sum_row(session, e, m, engines) for e, m in zip(entries, measured, strict=True)]
    session.show(Table(title, (*engines, "roofline"), tuple(rows), "÷ best peer"))


def sum_row(
    session: Session, entry: Entry, measured: Sequence[Measured], engines: Sequence[EngineName]
) -> Row:
    totals = {name: sum(one.best(name) for one in measured) for name in engines}
    ours = totals.get(OURS, np.nan)
    peer = min(
        (t for name, t in totals.items() if name != OURS and not np.isnan(t)), default=np.nan
    )
    roofline = session.roofline(THREADS)
    floor = sum(roofline.seconds(entry.model, binding) for binding in entry.bindings)
    by_peer, by_machine = entry.limit * peer, NEAR_ROOFLINE * floor
    excused = by_machine > by_peer
    return Row(
        entry.label,
        (*map(milliseconds, totals.values()), milliseconds(floor)),
        number(ours / peer),
        f"{NEAR_ROOFLINE} × roofline" if excused else f"{entry.limit} × peer",
        at_most(ours, by_machine if excused else by_peer),
    )


# --- MiniLM ---------------------------------------------------------------------------------------


def sentence_shapes() -> tuple[Binding, ...]:
    """Sixty batches of sentences: mostly single ones, of 4 to 160 tokens."""
    rng = np.random.default_rng(3)
    batches, lengths = rng.choice((1, 1, 1, 2, 4, 8), 60), rng.integers(4, 161, 60)
    return tuple(
        {"batch": int(batch), "seq": int(seq)} for batch, seq in zip(batches, lengths, strict=True)
    )


def minilm(session: Session, title: str) -> None:
    """All shapes, known to everybody."""
    sums(session, title, [Entry("MiniLM-L6", MiniLm(), sentence_shapes(), 0.75, MANY_SHAPES)])


def new_shapes(session: Session, title: str) -> None:
    """The price of shapes that were never seen, and how much of it is level 2."""
    shapes = sentence_shapes()
    first, second = map(sum, in_fresh_process(passes, MiniLm(), shapes))
    level_2 = sum(in_fresh_process(level_2_seconds, MiniLm(), shapes))
    ratio, share = first / second, level_2 / second
    rows = (
        Row("first pass ÷ second", (milliseconds(first), milliseconds(second)),
            number(ratio, 3), "≤ 1.03", at_most(ratio, 1.03)),
        Row("level 2 ÷ second pass", (milliseconds(level_2), milliseconds(second)),
            number(share, 4), "≤ 0.01", at_most(share, 0.01)),
    )  # fmt: skip
    session.show(Table(title, ("ms", "of ms"), rows, "ratio"))


def compiling(session: Session, title: str) -> None:
    """Level 1, with no kernel in the cache and with all of them."""
    with tempfile.TemporaryDirectory() as folder:
        cold, warm = (in_fresh_process(level_1_seconds, MiniLm(), folder) for _ in range(2))
    rows = tuple(
        Row(label, (), number(spent), f"≤ {limit}", at_most(spent, limit))
        for label, spent, limit in (("cold", cold, 6), ("kernels cached", warm, 1))
    )
    session.show(Table(title, (), rows, "seconds"))


# --- GPT-2 ----------------------------------------------------------------------------------------

PROMPTS = (17, 64, 200, 512)
STEPS, PARTS = 200, 4


def gpt2(session: Session, title: str) -> None:
    """Prompts, then tokens one by one, in parts of which each has its quickest run."""
    entries = [
        Entry(f"prompt of {seq}", Gpt2(), ({"batch": 1, "seq": seq, "past": 0},), 0.85)
        for seq in PROMPTS
    ]
    part = STEPS // PARTS
    starts = tuple({"batch": 1, "seq": 1, "past": 17 + n * part} for n in range(PARTS))
    steps = Gpt2Steps(steps=part)
    entries.append(Entry(f"{STEPS} tokens, one by one", steps, starts, 0.85, LONG_CALLS))
    sums(session, title, entries)


# --- experts --------------------------------------------------------------------------------------

FEW, MANY = 8, 64
IDLE_LIMIT, EAGER_LIMIT = 1.1, 0.7


def experts(session: Session, title: str) -> None:
    """Experts without tokens are free; those with tokens are quicker than torch's."""
    contenders = (
        Contender(f"{FEW} experts", "anyshape", Moe(FEW), THREADS),
        Contender(f"{MANY} experts", "anyshape", Moe(MANY), THREADS),
        Contender("torch, one by one", "torch", Moe(FEW, form="eager"), THREADS),
        Contender("torch, grouped", "torch", Moe(FEW, form="grouped_mm"), THREADS),
    )
    labels = {1: "1 token", 128: "128 tokens"}
    cases = [Case(label, {"tokens": n}, contenders) for n, label in labels.items()]
    rows = [row for one in session.measure(title, cases) for row in expert_rows(one)]
    session.show(Table(title, tuple(c.label for c in contenders), tuple(rows), "ratio"))


def expert_rows(measured: Measured) -> tuple[Row, Row]:
    few, many, *torch = (measured.best(c.label) for c in measured.case.contenders)
    cells = tuple(microseconds(seconds) for seconds in (few, many, *torch))
    idle, eager = many / few, few / min(torch)
    label = measured.case.label
    return (
        Row(f"{label}: {MANY} ÷ {FEW} experts", cells, number(idle),
            f"≤ {IDLE_LIMIT}", at_most(idle, IDLE_LIMIT)),
        Row(f"{label}: ÷ torch", ("",) * len(cells), number(eager),
            f"≤ {EAGER_LIMIT}", at_most(eager, EAGER_LIMIT)),
    )  # fmt: skip


# --- ONNX files -----------------------------------------------------------------------------------

FILE_ENGINES: tuple[EngineName, ...] = ("anyshape", "onnxruntime", "openvino")
WARM_LIMIT, COLD_LIMIT = 1.5, 8


def _file_shapes() -> Mapping[str, tuple[Binding, ...]]:
    """Pages, lines of text, and batches of them."""
    rng = np.random.default_rng(5)
    widths = [int(width) for width in rng.integers(16, 640, 12)]
    pages = [tuple(int(each) for each in 32 * rng.integers(5, 24, 2)) for _ in range(4)]
    return {
        "detection": tuple({"batch": 1, "height": h, "width": w} for h, w in pages),
        "recognition": tuple({"batch": 1 + n % 3, "width": w} for n, w in enumerate(widths)),
        "direction": tuple({"batch": batch} for batch in (1, 2, 6)),
        "magika": tuple({"batch": batch} for batch in (1, 3, 8)),
    }


_FILE_LIMITS = {"detection": 0.9, "recognition": 0.9, "direction": 0.9, "magika": 0.6}


def onnx_files(session: Session, title: str) -> None:
    """Real models as they are deployed, all shapes known to everybody."""
    shapes = _file_shapes()
    entries = [
        Entry(name, PACKAGED[name], shapes[name], limit, MANY_SHAPES)
        for name, limit in _FILE_LIMITS.items()
        if PACKAGED[name].path is not None
    ]
    sums(session, title, entries, FILE_ENGINES)


def onnx_sessions(session: Session, title: str) -> None:
    """Seconds until there is a session, with no kernel in the cache and with all of them."""
    rows: list[Row] = []
    for name, model in PACKAGED.items():
        if model.path is None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            cold, warm = (in_fresh_process(session_seconds, model, folder) for _ in range(2))
        rows.append(Row(f"{name}, cold", (), number(cold), f"≤ {COLD_LIMIT}",
                        at_most(cold, COLD_LIMIT)))  # fmt: skip
        rows.append(Row(f"{name}, kernels cached", (), number(warm), f"≤ {WARM_LIMIT}",
                        at_most(warm, WARM_LIMIT)))  # fmt: skip
    session.show(Table(title, (), tuple(rows), "figure"))


NEW_SHAPES, PASSES = 25, 3
PEERS: Mapping[str, float] = {"onnxruntime": 0.9, "openvino": 0.6}
"""What a first pass may take of theirs."""


def _new_shapes() -> Mapping[str, tuple[Binding, ...]]:
    """As many for each model, no two of them alike."""
    rng = np.random.default_rng(7)
    sides = rng.choice(19 * 19, NEW_SHAPES, replace=False)
    pages = [(32 * (5 + side // 19), 32 * (5 + side % 19)) for side in sides.tolist()]
    widths = rng.choice(np.arange(16, 640), NEW_SHAPES, replace=False).tolist()
    batches: list[int] = (1 + rng.permutation(NEW_SHAPES)).tolist()
    return {
        "detection": tuple({"batch": 1, "height": h, "width": w} for h, w in pages),
        "recognition": tuple({"batch": 1 + n % 3, "width": w} for n, w in enumerate(widths)),
        "direction": tuple({"batch": batch} for batch in batches),
        "magika": tuple({"batch": batch} for batch in batches),
    }


def _first_and_second(
    name: EngineName, model: FileModel, shapes: Sequence[Binding]
) -> tuple[float, float]:
    """Seconds of both passes: for each call, the median of sessions in processes of their own."""
    runs = [in_fresh_process(session_passes, name, model, shapes, THREADS) for _ in range(PASSES)]
    first, second = (zip(*(run[n] for run in runs), strict=True) for n in (0, 1))
    return sum(map(median, first)), sum(map(median, second))


def onnx_new_shapes(session: Session, title: str) -> None:
    """A pass over shapes that were never seen, the first call of a process included."""
    engines = session.taking_part(FILE_ENGINES)
    rows: list[Row] = []
    for name, shapes in _new_shapes().items():
        model = PACKAGED[name]
        if model.path is not None:
            passes = {engine: _first_and_second(engine, model, shapes) for engine in engines}
            rows += _new_shape_rows(name, passes)
    session.show(Table(title, ("first ms", "of ms"), tuple(rows), "ratio"))


def _new_shape_rows(name: str, found: Mapping[str, tuple[float, float]]) -> Iterator[Row]:
    first, second = found[OURS]
    yield _ratio_row(f"{name}, first pass ÷ second", first, second, 1.02)
    for peer, limit in PEERS.items():
        if peer in found:
            yield _ratio_row(f"{name}, first pass ÷ {peer}'s", first, found[peer][0], limit)


def _ratio_row(label: str, seconds: float, of: float, limit: float) -> Row:
    ratio = seconds / of
    cells = milliseconds(seconds), milliseconds(of)
    return Row(label, cells, number(ratio, 3), f"≤ {limit}", at_most(ratio, limit))


TABLES: Mapping[str, Callable[[Session, str], None]] = {
    "MiniLM over 60 shapes, ms": minilm,
    "MiniLM, shapes never seen": new_shapes,
    "MiniLM, level 1 after the import": compiling,
    "GPT-2 small, ms": gpt2,
    "experts of a Mixtral layer, 8 of them active, µs": experts,
    "ONNX files over random shapes, ms": onnx_files,
    "ONNX files, sessions": onnx_sessions,
    "ONNX files, shapes never seen": onnx_new_shapes,
}


def main() -> None:
    with Session("models", __doc__ or "") as session:
        session.run(TABLES)


if __name__ == "__main__":
    main()
