"""The recorded outcomes of all cases, and the table of `docs/onnx.md` that is made of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path

from tests.conformance.cases import cases
from tests.conformance.outcome import Outcome

RECORD = Path(__file__).parent / "outcomes.txt"
DOCUMENT = Path(__file__).parents[2] / "docs" / "onnx.md"
BEGIN, END = "<!-- generated: make conformance -->", "<!-- end -->"


def recorded() -> dict[str, Outcome]:
    lines = RECORD.read_text().splitlines() if RECORD.exists() else []
    pairs = (line.split(" ", 1) for line in lines)
    return {name: Outcome.of(rest) for name, rest in pairs}


def record(outcomes: Mapping[str, Outcome]) -> None:
    lines = [f"{name} {outcomes[name].line}" for name in sorted(outcomes)]
    RECORD.write_text("\n".join(lines) + "\n")
    text = DOCUMENT.read_text()
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    DOCUMENT.write_text(f"{before}{BEGIN}\n{table(outcomes)}\n{END}{after}")


def table(outcomes: Mapping[str, Outcome]) -> str:
    """Totals, then a row for each op, and one for each group of models."""
    by_op: dict[str, list[Outcome]] = defaultdict(list)
    for name, outcome in sorted(outcomes.items()):
        by_op[cases()[name].op].append(outcome)
    rows = [_row(op, found) for op, found in sorted(by_op.items())]
    head = "| first op of the test | tests | pass | strict | symbolic | second size | why not |"
    return "\n".join((totals(outcomes), "", head, "|---|--:|--:|--:|--:|--:|---|", *rows))


def totals(outcomes: Mapping[str, Outcome]) -> str:
    """A sentence for the tests of nodes, and one for the others."""
    nodes = [each for name, each in outcomes.items() if cases()[name].group == "node"]
    others = [each for name, each in outcomes.items() if cases()[name].group != "node"]
    return f"{_counted('tests of nodes', nodes)}\n\n{_counted('tests of models', others)}"


def _counted(what: str, found: list[Outcome]) -> str:
    plain, strict, symbolic, second = (
        Counter(getattr(each, name) for each in found) for name in COLUMNS
    )
    wrong = sum("wrong" in each.statuses for each in found)
    alone = sum(each.symbolic == "passes" and each.second == "-" for each in found)
    return (
        f"{len(found)} {what}: {plain['passes']} pass, {strict['passes']} of them with `strict`; "
        f"{plain['refused']} are refused by name, {wrong} are wrong. With every size symbolic "
        f"{len(found) - symbolic['-']} of those that pass were tried, and {symbolic['passes']} "
        f"pass: {second['passes']} of them at a second size too, where {second['refused']} are "
        f"refused and {alone} have no second size or no other engine to compare with."
    )


COLUMNS = ("plain", "strict", "symbolic", "second")


def _row(op: str, found: list[Outcome]) -> str:
    counts = [sum(getattr(each, name) == "passes" for each in found) for name in COLUMNS]
    reasons = Counter(each.why for each in found if each.why)
    why = "; ".join(f"{text.replace('|', '/')} ({n})" for text, n in reasons.most_common(3))
    return f"| {op} | {len(found)} | {' | '.join(map(str, counts))} | {why} |"
