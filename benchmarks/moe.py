"""Layers of routed experts: Mixtral's form and DeepSeek's, against torch.

    python -m benchmarks.moe [--quick] [--only TEXT] [--without ENGINE ...]

Two threads, times in microseconds. torch computes experts one by one or in a grouped product,
whichever is quicker; no exporter writes these modules for onnxruntime. Experts without tokens, and
tokens that all want the same experts, should cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.harness.report import Row, Table, at_most, microseconds, number
from benchmarks.harness.session import Session
from benchmarks.harness.turns import Case, Contender, Measured
from benchmarks.workloads import DeepSeek, Moe

THREADS = 2
TOKENS = (1, 16, 128, 1024)
TORCH_LIMIT, IDLE_LIMIT, ONE_SIDED_LIMIT = 0.5, 1.05, 1.3


def against_torch(session: Session, title: str, model: Callable[..., Any]) -> None:
    contenders = (
        Contender("anyshape", "anyshape", model(), THREADS),
        Contender("torch, one by one", "torch", model(form="eager"), THREADS),
        Contender("torch, grouped", "torch", model(form="grouped_mm"), THREADS),
    )
    _ratios(session, title, contenders, TORCH_LIMIT)


def mixtral(session: Session, title: str) -> None:
    against_torch(session, title, lambda **more: Moe(8, **more))


def deepseek(session: Session, title: str) -> None:
    against_torch(session, title, DeepSeek)


def idle(session: Session, title: str) -> None:
    """The first against the others: 8 experts have all tokens."""
    contenders = [Contender(f"{n} experts", "anyshape", Moe(n), THREADS) for n in (256, 64, 8)]
    _ratios(session, title, tuple(contenders[::2]), IDLE_LIMIT)
    _ratios(session, title, tuple(contenders[1:]), IDLE_LIMIT)


def one_sided(session: Session, title: str) -> None:
    """All tokens to the same eight experts, against experts that share them."""
    contenders = (
        Contender("one-sided", "anyshape", DeepSeek(one_sided=True), THREADS),
        Contender("balanced", "anyshape", DeepSeek(), THREADS),
    )
    _ratios(session, title, contenders, ONE_SIDED_LIMIT)


def _ratios(session: Session, title: str, contenders: tuple[Contender, ...], limit: float) -> None:
    """The first contender's time divided by the best of the others."""
    labels = {n: f"{n} tokens" if n > 1 else "1 token" for n in TOKENS}
    cases = [Case(label, {"tokens": n}, contenders) for n, label in labels.items()]
    rows = [_row(measured, limit) for measured in session.measure(title, cases)]
    session.show(Table(title, tuple(c.label for c in contenders), tuple(rows), "ratio"))


def _row(measured: Measured, limit: float) -> Row:
    ours, *others = (measured.best(c.label) for c in measured.case.contenders)
    cells = tuple(microseconds(seconds) for seconds in (ours, *others))
    ratio = ours / min(others)
    return Row(measured.case.label, cells, number(ratio), f"≤ {limit}", at_most(ratio, limit))


TABLES: Mapping[str, Callable[[Session, str], None]] = {
    "experts of a Mixtral layer, µs": mixtral,
    "experts of a DeepSeek layer, 8 of 256, µs": deepseek,
    "experts without tokens, µs": idle,
    "experts that all tokens want, µs": one_sided,
}


def main() -> None:
    with Session("moe", __doc__ or "") as session:
        session.run(TABLES)


if __name__ == "__main__":
    main()
