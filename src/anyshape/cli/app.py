"""`anyshape`: the commands. Each says in `--help` what it takes, with an example.

Exit codes: 0 when done, 1 when something of the user's is wrong (one message, no traceback), 2 for
arguments that no command has.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from anyshape.cli import doctor as health
from anyshape.cli import measure, opt
from anyshape.cli.mistakes import EXPECTED, told
from anyshape.cli.models import KINDS, TRUST, Model, arrays_from, model_of
from anyshape.cli.peers import PEERS, peer
from anyshape.cli.sizes import Given, between, given, separately
from anyshape.execute.record_file import TARGETS, checked_targets
from anyshape.observe.table import byte_text

app = typer.Typer(
    name="anyshape",
    help="Compile a model once, run it at any shape.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", help=KINDS)]
Bind = Annotated[
    list[str] | None,
    typer.Option("--bind", "-b", help="sizes by axis: batch=8,seq=128", metavar="SIZES"),
]
Shapes = Annotated[
    list[str] | None,
    typer.Option(
        "--shapes",
        "--axis",
        "--optShapes",
        "-shape",
        help="ranges by axis, batch=1..8,seq=4..160, or shapes by input: x:8x128, x[8,1..128]",
        metavar="SIZES",
    ),
]
MinShapes = Annotated[
    list[str] | None, typer.Option("--minShapes", help="x:1x4, with --maxShapes", metavar="SIZES")
]
MaxShapes = Annotated[
    list[str] | None, typer.Option("--maxShapes", help="x:8x512", metavar="SIZES")
]
Threads = Annotated[int, typer.Option(help="the most that a call may use; 0: all")]
AsJson = Annotated[bool, typer.Option("--json", help="for programs to read")]
Seed = Annotated[int, typer.Option(help="of random inputs", min=0)]
Trust = Annotated[
    bool, typer.Option(TRUST, help="read a .pt2 file, which may run any code of its maker's")
]
Files = Annotated[
    list[str] | None,
    typer.Option("--input", "-i", help="NAME=FILE.npy, or FILE.npz", metavar="FILE"),
]


def _ready(text: str, threads: int, trust: bool) -> Model:
    with _working(f"{text}: reading and compiling"):
        return model_of(text, threads, trust=trust)


def _given(
    bind: Sequence[str] | None,
    shapes: Sequence[str] | None,
    least: Sequence[str] | None,
    most: Sequence[str] | None,
) -> Given:
    likely = given([*(bind or ()), *(shapes or ())])
    return between(given(least or ()), likely, given(most or ()))


def _working(what: str) -> AbstractContextManager[object]:
    """Nobody likes to look at a still terminal; files and pipes see nothing of it."""
    console = Console(stderr=True)
    return console.status(what) if console.is_terminal else nullcontext()


def _show(as_json: bool, data: dict[str, Any], print_: Callable[[], object]) -> None:
    if as_json:
        print(json.dumps(data, indent=2))
    else:
        print_()


@app.command()
def run(
    model: ModelArgument,
    bind: Bind = None,
    shapes: Shapes = None,
    min_shapes: MinShapes = None,
    max_shapes: MaxShapes = None,
    files: Files = None,
    output: Annotated[str, typer.Option("--output", "-o", help="results as an .npz")] = "",
    trace: Annotated[str, typer.Option(help="timings of steps, for ui.perfetto.dev")] = "",
    threads: Threads = 0,
    trust: Trust = False,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Run it once, on random arrays or on those of files.

    Example: anyshape run model.onnx --bind batch=8,seq=128 -o results.npz
    """
    made = _ready(model, threads, trust)
    arrays_given = arrays_from(files or ())
    binding = made.binding(_given(bind, shapes, min_shapes, max_shapes), arrays_given)
    arrays = made.arrays(binding, arrays_given, seed)
    results = made.executable(*arrays)
    if trace:
        made.executable.trace(trace, *arrays)
    if output:
        with open(output, "wb") as file:  # a path would be given another ending
            np.savez(file, *results)
    rows = [
        {"result": number, "type": str(array.dtype), "shape": list(array.shape), **_values(array)}
        for number, array in enumerate(results)
    ]
    data = {"model": made.name, "binding": binding, "results": rows}
    _show(as_json, data, lambda: _table(f"{made.name} at {_sizes(binding)}", rows))


def _values(array: Any) -> dict[str, float | None]:
    numbers = np.asarray(array, np.float64) if array.size else np.zeros(0)
    names = ("mean", "min", "max")
    values = (numbers.mean(), numbers.min(), numbers.max()) if array.size else (None,) * 3
    return {n: None if v is None else float(v) for n, v in zip(names, values, strict=True)}


def _sizes(binding: dict[str, int]) -> str:
    return ", ".join(f"{name}={size}" for name, size in binding.items()) or "its one shape"


def _table(title: str, rows: Sequence[dict[str, Any]]) -> None:
    table = Table(title=title)
    for name, value in rows[0].items() if rows else ():
        justify = "left" if isinstance(value, str) else "right"
        table.add_column(name, justify=justify, no_wrap=True)
    for row in rows:
        table.add_row(*map(_cell, row.values()))
    Console().print(table)


def _cell(value: object) -> str:
    """Numbers with three digits that say something."""
    if not isinstance(value, float):
        return str(value)
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f}" if abs(value) >= 0.1 else f"{value:.3g}"


@app.command()
def bench(
    model: ModelArgument,
    bind: Bind = None,
    shapes: Shapes = None,
    min_shapes: MinShapes = None,
    max_shapes: MaxShapes = None,
    n: Annotated[int, typer.Option("--n", "-n", help="bindings, and calls at them", min=1)] = 60,
    against: Annotated[str, typer.Option(help=f"other engines: {', '.join(PEERS)}")] = "",
    threads: Threads = 0,
    trust: Trust = False,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Time it: the first call, first calls at a binding, and the others.

    Example: anyshape bench model.onnx --shapes "batch=1..8,seq=4..160" --n 60 --against onnxruntime
    """
    made = _ready(model, threads, trust)
    sizes = _given(bind, shapes, min_shapes, max_shapes)
    bindings = measure.bindings_of(made, sizes, n, seed)
    inputs = [made.arrays(binding, {}, seed) for binding in bindings]
    executable = made.executable
    with _working("anyshape runs"):
        rows = [measure.measured("anyshape", lambda arrays: executable(*arrays), inputs, n)]
    left_out: dict[str, str] = {}
    names = [each for each, _ in made.inputs]
    for name in filter(None, against.split(",")):
        try:
            with _working(f"{name} runs"):
                rows.append(measure.measured(name, peer(name, model, names, threads), inputs, n))
        except Exception as error:  # whatever a peer raises belongs in the report
            left_out[name] = f"{type(error).__name__}: {error}".splitlines()[0]
    data = {
        "model": made.name,
        "ready_seconds": made.seconds,
        "bindings": len(bindings),
        "peak_bytes": measure.peak_bytes(),
        "engines": [row.as_dict() for row in rows],
        "left_out": left_out,
    }
    _show(as_json, data, lambda: _bench_table(made, rows, len(bindings), left_out))


def _bench_table(
    made: Model, rows: Sequence[measure.Measured], bindings: int, left_out: dict[str, str]
) -> None:
    ready = f"ready after {made.seconds:.2f} s"
    title = f"{made.name}: µs per call, {rows[0].calls} calls at {bindings} bindings; {ready}"
    _table(title, [_bench_row(row, rows[0]) for row in rows])
    Console().print(f"peak of memory {byte_text(measure.peak_bytes())}")
    for name, why in left_out.items():
        Console().print(f"{name} is left out: {why}", markup=False)


def _bench_row(row: measure.Measured, ours: measure.Measured) -> dict[str, Any]:
    return {
        "engine": row.engine,
        "first": row.first,
        "new size": row.new,
        "p50": row.p50,
        "p90": row.p90,
        "p99": row.p99,
        "calls/s": row.calls_per_second,
        "÷ ours": row.p50 / ours.p50,
    }


@app.command()
def explain(
    model: ModelArgument,
    bind: Bind = None,
    html: Annotated[str, typer.Option(help="a page for a browser; takes several --bind")] = "",
    threads: Threads = 0,
    trust: Trust = False,
) -> None:
    """What was done to it, what was refused, and why; with sizes, also its steps and memory.

    Example: anyshape explain model.onnx --bind batch=8,seq=128 --html report.html
    """
    made = _ready(model, threads, trust)
    if not html:
        sizes = made.binding(given(bind or ())) if bind else {}
        print(made.executable.explain(**sizes))
        return
    bindings = [made.binding(each) for each in separately(bind or ())]
    with _working(f"{made.name}: measuring and listing kernels"):
        made.executable.explain_html(html, bindings)
    print(f"{html}: {byte_text(Path(html).stat().st_size)}")


@app.command()
def inspect(model: ModelArgument, trust: Trust = False, as_json: AsJson = False) -> None:
    """Its inputs, results and axes.

    Example: anyshape inspect model.onnx
    """
    made = _ready(model, 0, trust)
    notes = made.executable.notes
    data = {
        "model": made.name,
        "kind": made.kind,
        "inputs": {name: str(type_) for name, type_ in notes.inputs},
        "results": [str(type_) for type_ in notes.results],
        "axes": [str(axis) for axis in made.executable.axes],
        "host_ops": dict(notes.host_ops),
        "targets": list(made.targets),
    }
    _show(as_json, data, lambda: _inspected(data))


def _inspected(data: dict[str, Any]) -> None:
    print(f"{data['model']}: {data['kind']}")
    for name, type_ in data["inputs"].items():
        print(f"  input   {name}: {type_}")
    for number, type_ in enumerate(data["results"]):
        print(f"  result  {number}: {type_}")
    for axis in data["axes"]:
        print(f"  axis    {axis}")
    for op, count in data["host_ops"].items():
        print(f"  on the host: {op} ({count})")
    for number, target in enumerate(data["targets"]):
        print(f"  code    for {target}{'' if number else ', which runs here'}")


@app.command("compile")
def compile_(
    model: ModelArgument,
    output: Annotated[str, typer.Option("--output", "-o", help="the file to write")] = "",
    target: Annotated[
        list[str] | None,
        typer.Option(help=f"machines to compile for, else this one: {', '.join(TARGETS)}"),
    ] = None,
    threads: Threads = 0,
    trust: Trust = False,
) -> None:
    """Compile it, and save what runs: anyshape.load(...) needs nothing else.

    Example: anyshape compile model.onnx -o model.ash --target x86-64-v3 --target x86-64-v4
    """
    names = [name for each in target or () for name in each.split(",")]
    checked_targets(names)
    made = _ready(model, threads, trust)
    path = Path(output or Path(model.partition(":")[2] or model).with_suffix(".ash").name)
    made.saves.save(path, targets=names)
    print(f"{path}: {byte_text(path.stat().st_size)}")


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """The machine as anyshape sees it, versions, caches, and a self-test.

    Example: anyshape doctor
    """
    found = health.examined()
    _show(as_json, found, lambda: [print(f"{name:18} {value}") for name, value in found.items()])
    if found["self-test"] != "ok":
        raise typer.Exit(1)


@dataclass
class _Opt:
    """The arguments of `opt`, which is older than this app."""

    file: str
    passes: str | None
    each: bool
    decisions: bool
    list: bool


@app.command("opt")
def opt_(
    file: Annotated[str, typer.Argument(help="a graph as text; - reads stdin")] = "-",
    passes: Annotated[str | None, typer.Option("-p", "--passes", help="names, with commas")] = None,
    each: Annotated[bool, typer.Option("--each", help="print after each with effect")] = False,
    decisions: Annotated[bool, typer.Option("--decisions", help="print what was decided")] = False,
    list_: Annotated[bool, typer.Option("--list", help="print the passes, and end")] = False,
) -> None:
    """Run passes on the text of a graph.

    Example: anyshape opt graph.txt -p canonicalize,fuse
    """
    arguments = _Opt(file, passes, each, decisions, list_)
    opt.run(argparse.Namespace(**vars(arguments)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; errors go to stderr, and the exit code says that there was one."""
    given_ = sys.argv[1:] if arguments is None else list(arguments)
    try:
        app(given_)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0
    except EXPECTED as error:
        print(told(error), file=sys.stderr)
        return 1
    return 0
