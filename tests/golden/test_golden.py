"""Golden tests: text in, passes, text out.

A file `*.ash` begins with the passes to run (`# RUN: canonicalize, fold`; `# RUN: print` for none),
then has the input, a line of dashes, and the expected text. Before the passes, `donate past` means
that the caller gives an input up, and `lying x` that it has one with channels last. Behind the
passes, `kernels avx2` means the loops of all kernels and variants, as they are for that instruction
set, and `kernels avx512 vnni` as they are with instructions for bytes. A file that begins with
several such lines has an expected text for each. Write the expected texts anew with

    ANYSHAPE_UPDATE_GOLDEN=1 pytest tests/golden

and read the difference before keeping it.
"""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

import numpy as np
import pytest
from tests.unit.plan.planning import scheduled

from anyshape.cli.opt import by_name, passes_of
from anyshape.codegen.llvm.isa import INSTRUCTION_SETS, with_byte_products
from anyshape.execute.donation import donated_inputs, inputs_lying
from anyshape.ir.graph import Graph
from anyshape.ir.literal import WeightStore
from anyshape.ir.text.parser import parse
from anyshape.ir.verify import verify
from anyshape.loop import Kernel
from anyshape.loop.parser import parse_kernel
from anyshape.loop.verify import verify_kernel
from anyshape.passes import PASSES, run_passes
from anyshape.passes.infra import Passed
from anyshape.plan.schedule import StepPlan
from anyshape.sym import Fact

HERE = Path(__file__).parent
FILES = sorted(HERE.rglob("*.ash"))
SEPARATOR = "-" * 80 + "\n"
RUN, DONATE, LYING = "# RUN: ", "donate ", "lying "
UPDATE = bool(os.environ.get("ANYSHAPE_UPDATE_GOLDEN"))


def weights() -> WeightStore:
    """What `@w0` and `@w1` are in all files."""
    store = WeightStore()
    store.add(np.arange(64, dtype=np.float32).reshape(8, 8))
    store.add(np.ones((8, 16), np.float32))
    return store


def run_lines_and_input(head: str) -> tuple[list[str], str]:
    """What to run, and on what: its lines are counted from the first behind the former."""
    lines = head.splitlines(keepends=True)
    runs = list(takewhile(lambda line: line.startswith(RUN), lines))
    assert runs, "the first line says what to run"
    return runs, "".join(lines[len(runs) :])


def result_of(run_line: str, text: str) -> str:
    """What the commands of one line make of the input."""
    *names, last = [name.strip() for name in run_line.removeprefix(RUN).split(",")]
    command, _, isa = last.partition(" ")
    names += [] if command in ("print", "kernels") else [last]
    graph = passed(read(text), names, verify=True).graph
    return kernel_texts(graph, isa) if command == "kernels" else graph_text(graph)


def passed(graph: Graph, names: list[str], *, verify: bool = False) -> Passed:
    """The passes with these names, behind what is said of inputs."""
    given_up = [name.removeprefix(DONATE) for name in names if name.startswith(DONATE)]
    lying = [name.removeprefix(LYING) for name in names if name.startswith(LYING)]
    steps = passes_of(", ".join(names[len(given_up) + len(lying) :]) or "print")
    inputs = donated_inputs(graph, given_up)
    return run_passes(graph, steps, inputs, verify=verify, lying=inputs_lying(graph, lying))


def read(text: str) -> Graph:
    """Parsed, checked, and printed back to the identical graph."""
    store = weights()
    graph = verify(parse(text, store))
    assert parse(graph.as_text(), store) == graph
    return graph


def graph_text(graph: Graph) -> str:
    text = graph.as_text()
    assert parse(text, graph.weights) == graph, "the result prints and parses to itself"
    return text


def kernel_texts(graph: Graph, isa: str) -> str:
    """Each kernel below a comment that names its step, and its variant if there are several."""
    name, _, more = isa.partition(" ")
    plain = INSTRUCTION_SETS[name]
    tiling = (with_byte_products(plain) if more else plain).tiling
    return "\n".join(
        f"# {_title(step, way.variant.name)}\n{kernel_text(way.variant.kernel)}"
        for step in scheduled(graph, tiling).steps
        for way in step.variants
    )


def _title(step: StepPlan, variant: str) -> str:
    return step.name if len(step.variants) == 1 else f"{step.name}: {variant}"


def kernel_text(kernel: Kernel) -> str:
    verify_kernel(kernel)
    text = kernel.as_text()
    facts = tuple(Fact(fact.predicate) for fact in kernel.facts.facts)
    plain = replace(kernel, facts=replace(kernel.facts, facts=facts))
    assert parse_kernel(text) == plain, "the kernel prints and parses to itself"
    return text


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_golden(path: Path):
    head, *expected = path.read_text().split(SEPARATOR)
    runs, text = run_lines_and_input(head)
    found = [result_of(line, text) for line in runs]
    if UPDATE:
        path.write_text(SEPARATOR.join((head, *found)))
    else:
        assert found == expected, f"{path.name} differs; see ANYSHAPE_UPDATE_GOLDEN"


@pytest.mark.parametrize("name", by_name())
def test_every_pass_changes_a_file(name: str):
    assert any(name in passes_with_effect(path) for path in FILES if path.parent == HERE)


def passes_with_effect(path: Path) -> set[str]:
    head, *_ = path.read_text().split(SEPARATOR)
    (line, *_), text = run_lines_and_input(head)
    names = line.removeprefix(RUN).strip().split(", ")
    reports = passed(read(text), names).reports
    return {report.name for report in reports if report.changed}


TEXTS_ONLY = {"conv", "conv_bytes", "conv_depthwise", "conv_winograd", "convolution_weights"}
"""Files whose weights have other shapes than those in the store, so that nothing computes them."""


@pytest.mark.parametrize(
    "path",
    [p for p in FILES if p.stem not in TEXTS_ONLY],
    ids=lambda p: f"{p.parent.name}-{p.stem}",
)
def test_a_second_run_of_a_pass_changes_nothing(path: Path):
    """Whatever it meets on the way to kernels; segments alone are made of what is none."""
    head, *_ = path.read_text().split(SEPARATOR)
    graph = read(run_lines_and_input(head)[1])
    for step in PASSES[:-1]:
        graph = run_passes(graph, [step]).graph
        assert run_passes(graph, [step]).graph == graph, step.name


@pytest.mark.parametrize("folder", ["", "kernels"])
def test_there_are_files(folder: str):
    assert len([path for path in FILES if path.parent == HERE / folder]) > 20


def test_instruction_sets_of_a_file_differ():
    """Where loops are the same for all, one is enough."""
    for path in FILES:
        _, *expected = path.read_text().split(SEPARATOR)
        assert len(set(expected)) == len(expected), path.name
