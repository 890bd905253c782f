"""Single kernels: products, their epilogues, elementwise, rows, attention, layers of vision.

    python -m benchmarks.kernels [--quick] [--only TEXT] [--without ENGINE ...]

Products run on one thread, everything else on two. Figures are the quickest of many calls, each of
them the whole call of an engine, arrays in and out.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.harness.engines import EngineName
from benchmarks.harness.model import WrittenModel
from benchmarks.harness.report import Row, Table, at_least, at_most, microseconds, number
from benchmarks.harness.session import Session
from benchmarks.harness.turns import OURS, Case, Contender, Measured, race
from benchmarks.workloads import (
    Attention,
    Dense,
    DenseBytes,
    FiveOps,
    Images,
    PlacesConv,
    PlacesConvBytes,
    Rows,
    SegmentSums,
)

# --- products -------------------------------------------------------------------------------------

WEIGHTS = ((512, 512), (768, 768), (768, 3072))
SPEEDUPS = {1: 0.9, 8: 1.5, 16: 1.2, 32: 1.1, 128: 0.97, 256: 0.97, 512: 0.97, 1024: 0.97}
BLAS: tuple[EngineName, ...] = ("anyshape", "numpy", "torch", "onnxruntime")


def products(session: Session, title: str) -> None:
    """GFLOP/s with constant weights, against the best of three libraries."""
    shapes = [(Dense(*weights), rows) for weights in WEIGHTS for rows in SPEEDUPS]
    cases = [race(product_label(m, rows), m, {"rows": rows}, BLAS, 1) for m, rows in shapes]
    engines = session.taking_part(BLAS)
    rows = [product_row(one, engines) for one in session.measure(title, cases)]
    peak = session.roofline(1).flops / 1e9
    session.show(Table(f"{title} (peak {peak:.0f})", engines, tuple(rows), "speed-up"))


def product_label(model: Dense, rows: int) -> str:
    return f"{rows} × {model.depth} × {model.columns}"


def product_row(measured: Measured, engines: Sequence[str]) -> Row:
    speedup = measured.best_peer / measured.best(OURS)
    limit = SPEEDUPS[measured.case.binding["rows"]]
    cells = tuple(gflops(measured, name) for name in engines)
    verdict = at_least(speedup, limit)
    return Row(measured.case.label, cells, number(speedup), f"≥ {limit}", verdict)


def gflops(measured: Measured, label: str) -> str:
    model = next(c.model for c in measured.case.contenders if c.label == label)
    seconds = measured.best(label)
    rate = model.flops(measured.case.binding) / seconds / 1e9
    return number(rate, 1)


# --- products of bytes ----------------------------------------------------------------------------

BYTES = {True: 3.0, False: 1.6}
"""How much faster than f32 they should be, with VNNI and without."""

BYTE_IMAGES = ((1, 56, 56, 64), (1, 28, 28, 128), (1, 14, 14, 256), (1, 57, 43, 64))


def byte_products(session: Session, title: str) -> None:
    """u8 by constant i8, scaled to f32, against the f32 product: GFLOP/s, one thread."""
    shapes = [(weights, rows) for weights in WEIGHTS for rows in (1, 8, 32, 128)]
    cases = [
        against(product_label(Dense(*w), n), {"rows": n}, DenseBytes(*w), Dense(*w))
        for w, n in shapes
    ]
    limits = [1.0 if case.binding["rows"] < 32 else gain_of_bytes() for case in cases]
    session.show(gains(session.measure(title, cases), limits, title))


def byte_convolutions(session: Session, title: str) -> None:
    """u8 by constant i8, scaled to f32, against f32: GFLOP/s, one thread."""
    cases = [
        against(f"{h} × {w} × {c}", {"batch": n, "h": h, "w": w}, PlacesConvBytes(c), PlacesConv(c))
        for n, h, w, c in BYTE_IMAGES
    ]
    limits = [gain_of_bytes()] * len(cases)
    session.show(gains(session.measure(title, cases), limits, title))


def gain_of_bytes() -> float:
    from anyshape.execute.target import target_for  # noqa: PLC0415  not in every earlier anyshape

    return BYTES[target_for().tiling.group == 4]


def gains(measured: Sequence[Measured], limits: Sequence[float], title: str) -> Table:
    """How much faster bytes are than f32."""
    rows: list[Row] = []
    for one, limit in zip(measured, limits, strict=True):
        label = one.case.label
        gain = one.best("plain") / one.best(label)
        cells = gflops(one, "plain"), gflops(one, label)
        rows.append(Row(label, cells, number(gain), f"≥ {limit}", at_least(gain, limit)))
    return Table(title, ("f32", "u8 × i8"), tuple(rows), "speed-up")


# --- epilogues and sizes beside the tile ----------------------------------------------------------

EPILOGUE_LIMIT = 1.10
OFF_TILE_LIMIT = 0.85
OFF_TILE_SIZES = ((129, 129), (130, 200), (197, 333), (500, 1000), (511, 769), (1000, 130))
TILE = 64  # columns of the widest register tile: sizes are rounded up to it


def against(label: str, binding: dict[str, int], ours: WrittenModel, other: WrittenModel) -> Case:
    """Two models of our own, on one thread."""
    names = ((f"{label}", ours), ("plain", other))
    return Case(label, binding, tuple(Contender(n, "anyshape", m, 1) for n, m in names))


def epilogues(session: Session, title: str) -> None:
    """A product with bias and gelu against the product alone."""
    shapes = [(weights, rows) for weights in WEIGHTS for rows in (32, 128, 512)]
    cases = [
        against(product_label(Dense(*w), n), {"rows": n}, Dense(*w, gelu=True), Dense(*w))
        for w, n in shapes
    ]
    rows: list[Row] = []
    for one in session.measure(title, cases):
        label = one.case.label
        cost = one.best(label) / one.best("plain")
        cells = (microseconds(one.best("plain")), microseconds(one.best(label)))
        verdict = at_most(cost, EPILOGUE_LIMIT)
        rows.append(Row(label, cells, number(cost), f"≤ {EPILOGUE_LIMIT:.2f}", verdict))
    session.show(Table(title, ("product", "with bias + gelu"), tuple(rows), "ratio"))


def off_tile(session: Session, title: str) -> None:
    """Useful GFLOP/s where depth and columns are no multiples of the tile."""
    cases = [
        against(f"128 × {k} × {n}", {"rows": 128}, Dense(k, n), Dense(up(k), up(n)))
        for k, n in OFF_TILE_SIZES
    ]
    rows: list[Row] = []
    for one in session.measure(title, cases):
        label = one.case.label
        useful, plain = (
            c.model.flops(one.case.binding) / one.best(c.label) for c in one.case.contenders
        )
        cells = (gflops(one, label), gflops(one, "plain"))
        verdict = at_least(useful / plain, OFF_TILE_LIMIT)
        rows.append(Row(label, cells, number(useful / plain), f"≥ {OFF_TILE_LIMIT}", verdict))
    session.show(Table(title, ("useful GFLOP/s", "rounded up"), tuple(rows), "ratio"))


def up(size: int) -> int:
    return -(-size // TILE) * TILE


# --- one pass over memory -------------------------------------------------------------------------

FLOATS_16M = {"rows": 16384, "columns": 1024}
COPY_LIMIT, EAGER_LIMIT = 1.25, 0.35


def five_ops(session: Session, title: str) -> None:
    """Five ops in one pass, against a copy of the same bytes and against torch's five passes."""
    (one,) = session.measure(
        title, [race("16 M floats", FiveOps(), FLOATS_16M, ("anyshape", "copy", "torch"), 2)]
    )
    rows: list[Row] = []
    for peer, limit in (("copy", COPY_LIMIT), ("torch", EAGER_LIMIT)):
        ratio = one.best(OURS) / one.best(peer)
        cells = (microseconds(one.best(OURS)), microseconds(one.best(peer)))
        verdict = at_most(ratio, limit)
        rows.append(Row(f"against {peer}", cells, number(ratio), f"≤ {limit}", verdict))
    session.show(Table(title, ("anyshape", "other"), tuple(rows), "ratio"))


# --- rows and attention ---------------------------------------------------------------------------


def row_ops(session: Session, title: str) -> None:
    """Ops that need a whole row at a time."""
    cases = [
        race(op, Rows(op, 768), {"rows": 4096}, ("anyshape", "torch"), 2)
        for op in ("softmax", "layer_norm", "gelu")
    ]
    against_torch(session, title, cases, 0.9)


def attention(session: Session, title: str) -> None:
    """Attention over growing sequences."""
    cases = [
        race(f"seq {seq}", Attention(12, 64), {"batch": 1, "seq": seq}, ("anyshape", "torch"), 2)
        for seq in (128, 512, 2048)
    ]
    against_torch(session, title, cases, 1.0)


# --- images and segments --------------------------------------------------------------------------

MODULE_ENGINES: tuple[EngineName, ...] = ("anyshape", "torch", "onnxruntime", "openvino")
IMAGES = ({"batch": 1, "height": 57, "width": 43}, {"batch": 8, "height": 112, "width": 112})
SEGMENT_ROWS = (1000, 100_000)


def image_ops(session: Session, title: str) -> None:
    """Layers of vision models on 64 channels."""
    cases = [
        race(f"{op}, {_sizes(image)}", Images(op, 64), image, MODULE_ENGINES, 2)
        for op in ("max pool", "average pool", "bilinear, twice", "group norm", "batch norm")
        for image in IMAGES
    ]
    against_the_best(session, title, cases, 0.9)


def segment_sums(session: Session, title: str) -> None:
    """Rows of 64 added up by segment, of which there are 1024."""
    cases = [
        race(f"{rows} rows", SegmentSums(1024, 64), {"rows": rows}, MODULE_ENGINES[:3], 2)
        for rows in SEGMENT_ROWS
    ]
    against_the_best(session, title, cases, 1.0)


def _sizes(binding: dict[str, int]) -> str:
    return " × ".join(map(str, binding.values()))


def against_the_best(session: Session, title: str, cases: Sequence[Case], limit: float) -> None:
    engines = session.taking_part(MODULE_ENGINES)
    rows: list[Row] = []
    for one in session.measure(title, cases):
        ratio = one.best(OURS) / one.best_peer
        taking_part = {contender.label for contender in one.case.contenders}
        cells = (microseconds(one.best(e)) if e in taking_part else "" for e in engines)
        verdict = at_most(ratio, limit)
        rows.append(Row(one.case.label, tuple(cells), number(ratio), f"≤ {limit}", verdict))
    session.show(Table(title, engines, tuple(rows), "ratio"))


def against_torch(session: Session, title: str, cases: Sequence[Case], limit: float) -> None:
    rows: list[Row] = []
    for one in session.measure(title, cases):
        ours, theirs = one.best(OURS), one.best("torch")
        cells = (microseconds(ours), microseconds(theirs))
        verdict = at_most(ours / theirs, limit)
        rows.append(Row(one.case.label, cells, number(ours / theirs), f"≤ {limit}", verdict))
    session.show(Table(title, ("anyshape", "torch"), tuple(rows), "ratio"))


TABLES = {
    "products, one thread, GFLOP/s": products,
    "products of bytes, one thread, GFLOP/s": byte_products,
    "convolutions of bytes, one thread, GFLOP/s": byte_convolutions,
    "epilogue of a product, one thread, µs": epilogues,
    "sizes beside the tile, one thread": off_tile,
    "five elementwise ops with two broadcasts, µs": five_ops,
    "rows of [4096, 768], µs": row_ops,
    "attention, 12 heads of 64, µs": attention,
    "images of 64 channels, µs": image_ops,
    "sums of segments, µs": segment_sums,
}


def main() -> None:
    with Session("kernels", __doc__ or "") as session:
        session.run(TABLES)


if __name__ == "__main__":
    main()
