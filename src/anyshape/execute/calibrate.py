"""What flops, operations and bytes cost on this machine: measured once, kept on disk.

A few small graphs are compiled and timed on one thread, the quickest of several calls counts. That
takes a fraction of a second when the first program of a machine is compiled, and never again as
long as the cache folder lives. Without such a folder, or where the options say so, the defaults of
`MachineCosts` stand. Constants only steer choices: nothing that is computed depends on them.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import cast

import numpy as np

from anyshape.base.fork_lock import WorkLock
from anyshape.base.options import Options
from anyshape.base.private_folder import open_private_folder, own_folder, read_file, write_file
from anyshape.codegen.target import Target
from anyshape.ir.graph import Graph
from anyshape.ir.text.parser import parse
from anyshape.plan.costs import MachineCosts
from anyshape.runtime import cpu_identity, hardware

FORMAT_VERSION = 1
FEMTOSECONDS = 1e15
SECONDS_PER_PROBE = 0.015

Run = Callable[..., object]
CompileGraph = Callable[[Graph], Run]

_LOG = logging.getLogger(__name__)


def machine_costs(
    options: Options, target: Target, threads: int, compile_graph: CompileGraph
) -> MachineCosts:
    """This machine's constants for so many threads. `compile_graph` must not ask for them."""
    known = DEFAULTS
    if options.calibrate and options.cache_dir is not None and target.is_measured:
        known = _kept_or_measured(options.cache_dir, target.isa, compile_graph)
    return replace(known, threads=threads, cache_bytes=_cache_bytes())


DEFAULTS = MachineCosts()


def _cache_bytes() -> int:
    return hardware().l2_bytes or DEFAULTS.cache_bytes


# --- on disk --------------------------------------------------------------------------------------


_KNOWN: dict[tuple[Path, str], MachineCosts] = {}
"""By folder and instruction set: what this process has read or measured."""

_MEASURING = WorkLock()  # threads that measure at the same time would measure each other


def known_costs(isa: str) -> MachineCosts | None:
    """What this process knows of this machine's, without measuring anything."""
    return next((costs for (_, each), costs in _KNOWN.items() if each == isa), None)


def _kept_or_measured(folder: Path, isa: str, compile_graph: CompileGraph) -> MachineCosts:
    with _MEASURING:
        if (folder, isa) not in _KNOWN:
            _KNOWN[folder, isa] = _read_or_measured(folder, isa, compile_graph)
        return _KNOWN[folder, isa]


def _read_or_measured(folder: Path, isa: str, compile_graph: CompileGraph) -> MachineCosts:
    ours = own_folder(folder, "costs")
    measured_on = f"{cpu_identity()} {isa}"
    name = f"{hashlib.sha256(measured_on.encode()).hexdigest()[:16]}.json"
    kept = _read(ours, name)
    if kept is not None:
        return kept
    measured = measure(compile_graph)
    try:
        with open_private_folder(ours, create=True) as opened:
            write_file(opened, name, _encoded(measured))
    except OSError as error:
        _LOG.warning("measured costs cannot be kept: %s", error)
    return measured


def _read(folder: Path, name: str) -> MachineCosts | None:
    """The costs that were kept; None if there are none, or a damaged file."""
    try:
        with open_private_folder(folder) as opened:
            return _decoded(read_file(opened, name))
    except OSError:  # there is none yet, or it cannot be read: writing will say why
        return None
    except (ValueError, TypeError, RecursionError) as error:
        _LOG.warning("the costs kept in %s are damaged (%s); measuring anew", name, error)
        return None


def _encoded(costs: MachineCosts) -> bytes:
    return json.dumps({"version": FORMAT_VERSION, **asdict(costs)}).encode()


def _decoded(content: bytes) -> MachineCosts:
    """Raises ValueError, TypeError or, for endless brackets, RecursionError if that is not what we
    wrote."""
    decoded = json.loads(content)
    if not isinstance(decoded, dict):
        raise TypeError("not a table of costs")
    table = cast(dict[str, object], decoded)
    costs = {name: value for name, value in table.items() if type(value) is int}
    if costs.pop("version", None) != FORMAT_VERSION:
        raise ValueError("written by another version")
    if costs.keys() != {field.name for field in fields(MachineCosts)}:
        raise ValueError("other costs than those we know, or no whole numbers")
    if not all(0 < cost <= MOST for cost in costs.values()):
        raise ValueError("a cost that no machine has")
    return MachineCosts(**costs)


MOST = 1 << 40
"""Of any constant: sums of costs times sizes stay far from overflowing."""


# --- measuring ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Probe:
    """A graph in which one thing costs nearly all of the time, and how often it does it."""

    text: str
    shapes: tuple[tuple[int, ...], ...]
    count: int


def _graph(params: str, result: str, *ops: str) -> str:
    lines = "\n".join(f"  %{number} = {op}" for number, op in enumerate(ops))
    axes = "axes { n: 0..   m: 0.. }"
    return f"{axes}\ngraph probe({params}) -> {result} {{\n{lines}\n  return %{len(ops) - 1}\n}}\n"


def _product(rows: int, size: int) -> Probe:
    type_ = "f32[n, m]"
    text = _graph(
        f"x: {type_}, w: f32[m, m]", type_, f"dot(x, w) {{contract=([1], [0])}} : {type_}"
    )
    return Probe(text, ((rows, size), (size, size)), 2 * rows * size * size)


def _chain(elements: int, length: int) -> Probe:
    """Operations that depend on each other: neither memory nor folding makes them quicker."""
    operands = ["x", *(f"%{number}" for number in range(length))]
    ops = [
        f"{'mul' if number % 2 else 'add'}({operands[number]}, x) : f32[n]"
        for number in range(length)
    ]
    return Probe(_graph("x: f32[n]", "f32[n]", *ops), ((elements,),), elements * length)


def _copy(elements: int) -> Probe:
    text = _graph("x: f32[n]", "f32[n]", "relu(x) : f32[n]")
    return Probe(text, ((elements,),), 8 * elements)


def measure(compile_graph: CompileGraph) -> MachineCosts:
    """The constants of this machine, in a fraction of a second."""
    l2, l3 = _cache_bytes(), hardware().l3_bytes or 1 << 25
    flop, operation, cached, memory = (
        max(1, round(_seconds(probe, compile_graph) * FEMTOSECONDS / probe.count))
        for probe in (
            _product(96, 512),
            _chain(4096, 64),
            _copy(l2 // 16),
            _copy(min(l3, 1 << 26) // 4),
        )
    )
    return MachineCosts(flop, operation, cached, max(cached, memory))


def _seconds(probe: Probe, compile_graph: CompileGraph) -> float:
    """The quickest of the calls that fit into the time of a probe; at least three."""
    run = compile_graph(parse(probe.text))
    arrays = [np.ones(shape, np.float32) for shape in probe.shapes]
    found: list[float] = []
    end = time.perf_counter() + SECONDS_PER_PROBE
    while len(found) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run(*arrays)
        found.append(time.perf_counter() - start)
    return min(found)
