"""Convolutions of all kinds: whole, of one tap, depthwise, first layers, transposed.

    python -m benchmarks.convolutions [--quick] [--only TEXT] [--without ENGINE ...]

All run on two threads. Figures are the quickest of many calls of three layers in a row (one where
sizes change), from and to torch's order of axes. A row passes if it takes no longer than the best
peer, or reaches 0.85 of the peak of products.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.harness.engines import EngineName
from benchmarks.harness.report import Row, Table, at_least, at_most, microseconds, number
from benchmarks.harness.session import Session
from benchmarks.harness.turns import OURS, Case, Measured, race
from benchmarks.workloads import Convolutions

THREADS = 2
ENGINES: tuple[EngineName, ...] = ("anyshape", "torch", "onnxruntime", "openvino")
IMAGES = ((112, 32), (56, 64), (28, 128), (14, 256), (7, 512))
"""Sizes and channels, as they follow each other in a model."""

SHARE_OF_PEAK = 0.85


def case(label: str, model: Convolutions, batch: int, height: int, width: int) -> Case:
    name = f"{label}, {batch} × {height} × {width} × {model.inside}"
    return race(name, model, {"batch": batch, "h": height, "w": width}, ENGINES, THREADS)


def same(channels: int, taps: int, *, depthwise: bool = False) -> Convolutions:
    groups = channels if depthwise else 1
    return Convolutions(channels, channels, taps, 1, taps // 2, groups, layers=3)


def of_images(label: str, taps: int, *, depthwise: bool = False) -> Iterator[Case]:
    for size, channels in IMAGES:
        for batch in (1, 8):
            yield case(label, same(channels, taps, depthwise=depthwise), batch, size, size)
    yield case(label, same(64, taps, depthwise=depthwise), 1, 57, 43)


def others() -> Iterator[Case]:
    yield case("7 × 7, stride 2", Convolutions(3, 64, 7, 2, 3), 1, 224, 224)
    yield case("3 × 3, stride 2", Convolutions(64, 128, 3, 2, 1), 1, 56, 56)
    yield case("4 groups of 3 × 3", Convolutions(128, 128, 3, 1, 1, 4, layers=3), 1, 28, 28)
    for taps in (2, 4):
        model = Convolutions(128, 64, taps, 2, taps // 2 - 1, transposed=True)
        yield case(f"transposed {taps} × {taps}", model, 1, 28, 28)


TABLES = {
    "3 × 3, µs": lambda: of_images("3 × 3", 3),
    "1 × 1, µs": lambda: of_images("1 × 1", 1),
    "depthwise 3 × 3, µs": lambda: of_images("depthwise 3 × 3", 3, depthwise=True),
    "depthwise 5 × 5, µs": lambda: of_images("depthwise 5 × 5", 5, depthwise=True),
    "other convolutions, µs": others,
}


def row(measured: Measured, peak: float) -> Row:
    """A row passes by one of two limits."""
    ours = measured.best(OURS)
    ratio = ours / measured.best_peer
    model = measured.case.contenders[0].model
    share = model.flops(measured.case.binding) / ours / peak
    cells = (*(microseconds(measured.best(name)) for name in ENGINES), number(share))
    verdict = at_most(ratio, 1.0) or at_least(share, SHARE_OF_PEAK)
    return Row(measured.case.label, cells, number(ratio), "≤ 1.0 or ≥ 0.85 of peak", verdict)


def main() -> None:
    with Session("convolutions", __doc__ or "") as session:
        peak = session.roofline(THREADS).flops
        for title, cases in TABLES.items():
            if session.wants(title):
                rows = tuple(row(one, peak) for one in session.measure(title, list(cases())))
                session.show(Table(title, (*ENGINES, "of peak"), rows, "ratio"))


if __name__ == "__main__":
    main()
