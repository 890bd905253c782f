"""Map and row kernels: times of the whole call, beside torch's for the same work.

    python -m benchmarks.map_kernels [NAME …] [--torch PYTHON] [--assembly]

Two threads each. Ours run in this process; torch runs in one of its own, which takes turns with it.
The five ops move the same bytes as `negated` does. `--assembly` prints the code instead.
"""

# ruff: noqa: F821  annotations name axes

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from benchmarks.harness.answers import LIMIT_SECONDS, answer_of
from numpy.typing import NDArray

import anyshape as ash
from anyshape.codegen.llvm.emit import emit_kernel
from anyshape.execute.target import target_for
from anyshape.families.lower import lower_region
from anyshape.loop import Kernel

TORCH = """
import json, sys, time, torch
import torch.nn.functional as F
torch.set_num_threads(2)
def best(run, seconds=1.0):
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter(); run(); times.append(time.perf_counter() - start)
    return min(times)
x, w, x3 = torch.randn(4096, 768), torch.ones(768), torch.randn(32, 128, 768)
flat, b, s = torch.randn(16384, 1024), torch.randn(1024), torch.randn(16384, 1)
runs = {
    "softmax": lambda: torch.softmax(x, 1),
    "log_softmax": lambda: torch.log_softmax(x, 1),
    "layer_norm": lambda: F.layer_norm(x, (768,), w, w),
    "rms_norm": lambda: F.rms_norm(x, (768,), w),
    "gelu": lambda: F.gelu(x),
    "five_ops": lambda: torch.relu((flat + b) * s - flat * 0.5),
    "negated": lambda: -flat,
    "column_sums": lambda: x.sum(0),
    "row_sums": lambda: x.sum(1),
    "total": lambda: flat.sum(),
    "pooled": lambda: x3.mean(1),
    "transposed": lambda: x.t().contiguous(),
    "heads": lambda: x3.view(32, 128, 12, 64).transpose(1, 2).contiguous(),
    "running_sums": lambda: x.cumsum(1),
    "running_sums_down": lambda: x.cumsum(0),
}
for line in sys.stdin:
    print(json.dumps(best(runs[line.strip()])), flush=True)
"""

Row = ash.f32["n", "m"]


@ash.jit
def softmax(x: Row):
    return ash.softmax(x)


@ash.jit
def log_softmax(x: Row):
    return ash.log_softmax(x)


@ash.jit
def layer_norm(x: Row, w: ash.f32["m"]):
    return ash.layer_norm(x, w, w, axis=-1)


@ash.jit
def rms_norm(x: Row, w: ash.f32["m"]):
    return ash.rms_norm(x, w, axis=-1)


@ash.jit
def gelu(x: Row):
    return ash.gelu(x)


@ash.jit
def five_ops(x: Row, b: ash.f32["m"], s: ash.f32["n", 1]):
    return ash.relu((x + b) * s - x * 0.5)


@ash.jit
def negated(x: Row):
    return -x


@ash.jit
def column_sums(x: Row):
    return ash.sum(x, axis=0)


@ash.jit
def row_sums(x: Row):
    return ash.sum(x, axis=1)


@ash.jit
def total(x: Row):
    return ash.sum(x)


@ash.jit
def pooled(x: ash.f32["b", "s", "d"]):
    return ash.mean(x, axis=1)


@ash.jit
def transposed(x: Row):
    return ash.transpose(x, (1, 0))


@ash.jit
def heads(x: ash.f32["b", "s", "h", "d"]):
    return ash.transpose(x, (0, 2, 1, 3))


@ash.jit
def running_sums(x: Row):
    return ash.cumsum(x, axis=1)


@ash.jit
def running_sums_down(x: Row):
    return ash.cumsum(x, axis=0)


Workload = tuple[ash.Jitted[..., Any], list[NDArray[Any]]]


def workloads() -> dict[str, Workload]:
    rng = np.random.default_rng(0)

    def floats(*shape: int) -> NDArray[Any]:
        return rng.normal(size=shape).astype(np.float32)

    x, flat, w = floats(4096, 768), floats(16384, 1024), floats(768)
    rows = (softmax, log_softmax, gelu, column_sums, row_sums, transposed)
    made: dict[str, Workload] = {function.__name__: (function, [x]) for function in rows}
    made |= {function.__name__: (function, [x, w]) for function in (layer_norm, rms_norm)}
    made |= {f.__name__: (f, [x]) for f in (running_sums, running_sums_down)}
    made |= {f.__name__: (f, [flat]) for f in (negated, total)}
    return made | {
        "five_ops": (five_ops, [flat, floats(1024), floats(16384, 1)]),
        "pooled": (pooled, [x.reshape(32, 128, 768)]),
        "heads": (heads, [x.reshape(32, 128, 12, 64)]),
    }


def best(run: Callable[[], object], seconds: float = 1.0) -> float:
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def assembly(kernel: Kernel) -> str:
    """What LLVM makes of it on this machine."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = target_for(ash.Options()).llvm
    machine = llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3,
        reloc="pic",
        codemodel="small",
    )
    module = llvm.parse_assembly(emit_kernel(kernel, target))
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return machine.emit_assembly(module)


def compare(names: list[str], torch_python: str) -> None:
    peer = subprocess.Popen(
        [torch_python, "-c", TORCH], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert peer.stdin
    for name in names:
        function, arrays = workloads()[name]
        compiled = ash.compile(function)
        ours = best(lambda run=compiled, given=arrays: run(*given))
        peer.stdin.write(name + "\n")
        peer.stdin.flush()
        theirs = float(json.loads(answer_of(peer)))
        print(
            f"{name:18} {ours * 1e3:8.3f} ms   torch {theirs * 1e3:8.3f} ms   {ours / theirs:5.2f}"
        )
    peer.stdin.close()
    peer.wait(LIMIT_SECONDS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(workloads()), metavar="name")
    parser.add_argument("--torch", default=sys.executable, help="a Python that has torch")
    parser.add_argument("--assembly", action="store_true", help="print the code of kernels")
    options = parser.parse_args()
    if not options.assembly:
        compare(options.names, options.torch)
        return
    for name in options.names:
        graph = workloads()[name][0].graph
        print(assembly(lower_region(graph.body, graph.facts).kernel))


if __name__ == "__main__":
    main()
